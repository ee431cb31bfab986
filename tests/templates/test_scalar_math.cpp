// SPDX-License-Identifier: MIT
// Divisions of generated code against the host's, exact for every pair tried: all small ones, the edges of
// both operands, random ones.
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "templates/scalar_math.hpp"
#include "tests/templates/scalar_kernel.hpp"

using namespace wavejit;
using isa::imm;
using isa::Operand;

TEST_CASE("division by a register is exact", "[cdna]") {
  const std::string target = GENERATE(std::string("gfx942"), std::string("gfx950"));
  const test::ScalarKernel kernel(target, [](ir::Builder& b, const test::ScalarKernel::Inputs& in) {
    const Operand offset = b.sgpr("offset"), pair = b.sgpr("pair", 2);
    b.emit(isa::Opcode::s_lshl_b32, {offset}, {in.workgroup, imm(3)});
    b.emit(isa::Opcode::s_load_b64, {pair}, {in.input, offset});
    const templates::Quotient q = templates::divide_by_register(b, "q", pair.slice(0), pair.slice(1));
    return test::ScalarKernel::Results{{q.quotient, q.remainder}};
  });
  std::vector<std::uint32_t> pairs;
  for (std::uint32_t a = 0; a < 40; ++a)
    for (std::uint32_t d = 1; d < 12; ++d) pairs.insert(pairs.end(), {a, d});
  const std::vector<std::uint32_t> edges{1,          2,          3,          7,          255,
                                         0xFFFF,     0x10000,    0xFFFFFF,   0x1000001,  0x7FFFFFFF,
                                         0x80000000, 0x80000001, 0xFFFFFF7F, 0xFFFFFFFE, 0xFFFFFFFF};
  for (const std::uint32_t a : edges)
    for (const std::uint32_t d : edges) pairs.insert(pairs.end(), {a, d});
  std::mt19937 bits(7);
  for (int i = 0; i < 2000; ++i) {
    const std::uint32_t d = std::max<std::uint32_t>(static_cast<std::uint32_t>(bits() >> bits() % 32), 1U);
    // Multiples of the divisor, one more and one less, are where a quotient goes wrong.
    const std::uint32_t a =
        static_cast<std::uint32_t>(bits()) / d * d + static_cast<std::uint32_t>(i % 3) - 1;
    pairs.insert(pairs.end(), {a, d});
  }
  const auto results =
      kernel.run(static_cast<std::uint32_t>(pairs.size() / 2), 1, std::as_bytes(std::span(pairs)));
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::uint32_t a = pairs[2 * i], d = pairs[2 * i + 1];
    REQUIRE(results[i]);
    if ((*results[i])[0] != a / d || (*results[i])[1] != a % d) {
      CAPTURE(a, d);
      CHECK((*results[i])[0] == a / d);
      CHECK((*results[i])[1] == a % d);
    }
  }
}

TEST_CASE("division by a constant is exact below 2^31, in SGPRs and in lanes", "[cdna]") {
  for (const std::int64_t d : {1LL, 2LL, 3LL, 7LL, 48LL, 96LL, 255LL, 641LL, 65537LL, 0x7FFFFFFFLL}) {
    const test::ScalarKernel kernel("gfx942", [d](ir::Builder& b, const test::ScalarKernel::Inputs& in) {
      const Operand offset = b.sgpr("offset"), a = b.sgpr("a"), back = b.sgpr("back"),
                    lanes = b.vgpr("lanes");
      b.emit(isa::Opcode::s_lshl_b32, {offset}, {in.workgroup, imm(2)});
      b.emit(isa::Opcode::s_load_b32, {a}, {in.input, offset});
      const templates::Quotient q = templates::divide_with_rest(b, "q", a, d);
      b.emit(isa::Opcode::v_mov_b32, {lanes}, {a});
      b.emit(isa::Opcode::v_readfirstlane_b32, {back}, {templates::divide_lanes(b, "lanes", lanes, d)});
      return test::ScalarKernel::Results{{q.quotient, q.remainder, back}};
    });
    std::vector<std::uint32_t> numerators;
    const auto u = static_cast<std::uint32_t>(d);
    for (const std::uint64_t multiple : {1ULL, 2ULL, 3ULL, 1000ULL, 0x7FFFFFFFULL / u})
      for (const int off : {-1, 0, 1}) {
        const std::uint64_t a = multiple * u + static_cast<std::uint64_t>(off);
        if (a <= 0x7FFFFFFF) numerators.push_back(static_cast<std::uint32_t>(a));
      }
    numerators.insert(numerators.end(), {0, 1, 0x7FFFFFFE, 0x7FFFFFFF});
    const auto results =
        kernel.run(static_cast<std::uint32_t>(numerators.size()), 1, std::as_bytes(std::span(numerators)));
    for (std::size_t i = 0; i < results.size(); ++i) {
      CAPTURE(numerators[i], d);
      REQUIRE(results[i]);
      CHECK(*results[i] ==
            std::vector<std::uint32_t>{numerators[i] / u, numerators[i] % u, numerators[i] / u});
    }
  }
}
