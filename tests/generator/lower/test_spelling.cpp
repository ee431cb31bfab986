// SPDX-License-Identifier: MIT
// The spelling tables against LLVM's assembler: for each generation, a name that we claim must be
// known to a GPU of it, and a name that we say is absent must be known to none.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/generator/lower/text_kernel.hpp"

namespace wavejit {
namespace {

using isa::Opcode;
using target::Generation;

std::vector<Opcode> all_opcodes() {
  std::vector<Opcode> result;
  for (unsigned i = 1; i < static_cast<unsigned>(Opcode::count_); ++i)
    result.push_back(static_cast<Opcode>(i));
  return result;
}

void check(Generation generation, const std::vector<target::Target>& members) {
  for (const Opcode op : all_opcodes()) {
    // From gfx11 on the assembler reads these as the instructions that take a sign for each source.
    const bool read_as_another = op == Opcode::v_dot4_i32_i8 || op == Opcode::v_dot8_i32_i4;
    if (read_as_another && generation >= Generation::gfx11) continue;
    const std::string_view own = isa::spelling(op, generation);
    const std::string_view name = own.empty() ? isa::info(op).name : own;
    INFO(name);
    const auto knows = [&](const target::Target& member) { return test::assembler_knows(name, member); };
    CHECK(std::ranges::any_of(members, knows) == !own.empty());
  }
}

TEST_CASE("gfx9 spellings are LLVM's", "[isa][lower]") {
  check(Generation::gfx9, {test::any_table("gfx942"), test::any_table("gfx950")});
}

TEST_CASE("gfx10 spellings are LLVM's", "[isa][lower]") {
  check(Generation::gfx10, {*target::find_simulated("gfx1030")});
}

TEST_CASE("gfx11 spellings are LLVM's", "[isa][lower]") {
  check(Generation::gfx11, {test::table("gfx1100"), test::table("gfx1151")});
}

TEST_CASE("gfx12 spellings are LLVM's", "[isa][lower]") {
  check(Generation::gfx12, {test::any_table("gfx1200"), test::any_table("gfx1201")});
}

}  // namespace
}  // namespace wavejit
