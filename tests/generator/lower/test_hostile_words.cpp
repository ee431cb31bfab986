// SPDX-License-Identifier: MIT
// Instruction words that LLVM 22's decoder takes and that end the process in its decoder, its encoder or its
// printer, found by trying random words against it alone.
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "generator/lower/disassemble.hpp"
#include "tests/generator/lower/text_kernel.hpp"

namespace wavejit {
namespace {

Result<std::vector<lower::DecodedInstruction>> decoded(const std::vector<std::uint32_t>& words,
                                                       const target::Target& target) {
  std::vector<std::uint8_t> bytes;
  for (const std::uint32_t w : words)
    for (unsigned i = 0; i < 4; ++i) bytes.push_back(static_cast<std::uint8_t>(w >> (8 * i)));
  return lower::disassemble(bytes, 0x100, target, "k");
}

TEST_CASE("words that LLVM cannot encode, print or measure are refused by name", "[lower]") {
  struct Words {
    const char* target;
    std::vector<std::uint32_t> words;
    const char* named;
  };
  for (const Words& w : {
           Words{"gfx942", {0xd3e00002, 0x040a0cc4}, "d3e00002 040a0cc4"},  // MFMA, SrcA is the constant -4
           {"gfx950", {0xd3e00002, 0x040a0cc4}, "d3e00002 040a0cc4"},
           {"gfx942", {0xe0280000, 0xff000000}, "e0280000 ff000000"},  // a buffer store, SOFFSET = literal
           {"gfx942",
            {0xd1c64774, 0xda65ffe2, 0xe8dca4da},
            "d1c64774 da65ffe2"},                                       // VOP3, whose SRC1 is a literal
           {"gfx942", {0xd3d641c1, 0x0002fec1}, "d3d641c1 0002fec1"},   // MFMA, SrcA and SrcB constants
           {"gfx950", {0x66813cf9, 0xcce7d41d}, "66813cf9 cce7d41d"},   // SDWA, source 1 selected by 7 ...
           {"gfx950", {0x172208f9, 0x06061f05}, "172208f9 06061f05"},   // ... and destination by 7
           {"gfx1151", {0xd41200c1, 0x00020501}, "d41200c1 00020501"},  // a comparison into the constant -1
       }) {
    INFO(w.target << ' ' << w.named);
    const auto result = decoded(w.words, test::table(w.target));
    REQUIRE_FALSE(result);
    CHECK(result.error().code == ErrorCode::unknown_instruction);
    CHECK(result.error().message.find(w.named) != std::string::npos);
  }
}

TEST_CASE("the neighbours of refused words are read", "[lower]") {
  // With registers or legal selections in the places of the above.
  CHECK(decoded({0xd3e00002, 0x040a0d04}, test::table("gfx942")));
  CHECK(decoded({0xe0700000, 0x80000000}, test::table("gfx942")));
  CHECK(decoded({0xd4120001, 0x00020501}, test::table("gfx1151")));
}

TEST_CASE("no random words of any target end the process", "[lower][fuzz]") {
  for (const target::Target& target : target::all()) {
    std::mt19937_64 random(22);
    unsigned read = 0;
    for (int i = 0; i < 2000; ++i) {
      std::vector<std::uint32_t> words(3);
      for (std::uint32_t& w : words) w = static_cast<std::uint32_t>(random());
      if (i % 2 == 0) words[0] |= 0xC0000000;  // the long encodings
      read += decoded(words, target).has_value() ? 1U : 0U;
    }
    INFO(target.name);
    CHECK(read < 2000);
  }
}

}  // namespace
}  // namespace wavejit
