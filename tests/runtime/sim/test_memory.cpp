// SPDX-License-Identifier: MIT
#include <array>
#include <catch2/catch.hpp>

#include "runtime/device/sim/memory.hpp"

namespace wavejit::test {
namespace {

using sim::Memory;

std::array<std::byte, 4> bytes(std::uint32_t v) {
  std::array<std::byte, 4> b;
  for (unsigned i = 0; i < 4; ++i) b[i] = static_cast<std::byte>(v >> (8 * i));
  return b;
}

TEST_CASE("Allocations are apart and exactly as aligned as asked", "[sim][memory]") {
  Memory m;
  std::uint64_t last_end = 0;
  for (const std::uint64_t alignment : {1ULL, 2ULL, 16ULL, 256ULL, 4096ULL}) {
    const auto a = m.allocate(100, alignment, "x");
    REQUIRE(a);
    CHECK(*a % alignment == 0);
    CHECK(*a % (2 * alignment) == alignment);
    CHECK(*a - last_end >= std::uint64_t{1} << 32);  // no 32-bit offset reaches the neighbour
    CHECK(*a < std::uint64_t{1} << 47);
    last_end = *a + 100;
  }
}

TEST_CASE("Bad requests are refused", "[sim][memory]") {
  Memory m;
  CHECK_FALSE(m.allocate(0, 16, "x"));
  CHECK_FALSE(m.allocate(16, 3, "x"));
  CHECK_FALSE(m.allocate(16, 0, "x"));
  CHECK_FALSE(m.allocate(std::uint64_t{1} << 50, 16, "x"));
  CHECK_FALSE(m.release(12345));
  CHECK_FALSE(m.set_read_only(12345, true));
}

TEST_CASE("Host access is byte-exact", "[sim][memory]") {
  Memory m;
  const auto a = m.allocate(10, 16, "ten");
  REQUIRE(m.write(*a + 6, bytes(0x11223344)));
  const auto past = m.write(*a + 7, bytes(1));
  REQUIRE_FALSE(past);
  CHECK(past.error().message.find("'ten'") != std::string::npos);
  std::array<std::byte, 4> back{};
  REQUIRE(m.read(*a + 6, back));
  CHECK(back == bytes(0x11223344));
  CHECK_FALSE(m.read(*a + 7, back));
  CHECK_FALSE(m.read(*a - 1, back));
  CHECK_FALSE(m.fill(*a, 11, std::byte{0}));
  CHECK(m.find(*a + 9) != nullptr);
  CHECK(m.find(*a + 10) == nullptr);
  CHECK(m.find(*a - 1) == nullptr);
}

TEST_CASE("Definedness is per byte", "[sim][memory]") {
  Memory m;
  const auto a = m.allocate(100, 16, "x");
  CHECK(m.undefined_bytes(*a, 100) == 100);
  REQUIRE(m.write(*a + 3, bytes(1)));
  CHECK(m.undefined_bytes(*a, 100) == 96);
  CHECK(m.undefined_bytes(*a + 3, 4) == 0);
  CHECK(m.find(*a)->defined_bits(1, 8) == 0b00111100);
  REQUIRE(m.fill(*a, 100, std::byte{7}));
  CHECK(m.undefined_bytes(*a, 100) == 0);
  REQUIRE(m.poison(*a + 50, 9));
  CHECK(m.undefined_bytes(*a, 100) == 9);
  CHECK(m.find(*a)->defined_bits(49, 12) == 0b110000000001);
  const auto zero = m.allocate(100, 16, "z", sim::Contents::zero);
  CHECK(m.undefined_bytes(*zero, 100) == 0);
}

TEST_CASE("Tensors over 4 GiB cost what is touched", "[sim][memory]") {
  Memory m;
  const std::uint64_t size = std::uint64_t{6} << 30;
  const auto a = m.allocate(size, 256, "big");
  REQUIRE(a);
  REQUIRE(m.write(*a + size - 4, bytes(0xABCD)));
  std::array<std::byte, 4> back{};
  REQUIRE(m.read(*a + size - 4, back));
  CHECK(back == bytes(0xABCD));
  CHECK_FALSE(m.write(*a + size - 3, bytes(1)));
  CHECK(m.undefined_bytes(*a + size - 8, 8) == 4);
}

TEST_CASE("A report says where an address lies", "[sim][memory]") {
  Memory m;
  CHECK(m.describe(5) == "there is no allocation");
  const auto a = m.allocate(10, 16, "first");
  const auto b = m.allocate(10, 16, "second");
  CHECK(m.describe(*a + 10).starts_with("1 bytes past the last byte of 'first'"));
  CHECK(m.describe(*b - 2).starts_with("2 bytes before 'second'"));
  CHECK(m.describe(*b + 3).starts_with("3 bytes into 'second'"));
  REQUIRE(m.release(*b));
  CHECK(m.describe(*b + 3).find("'first'") != std::string::npos);
}

}  // namespace
}  // namespace wavejit::test
