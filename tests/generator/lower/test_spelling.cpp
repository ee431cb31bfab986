// SPDX-License-Identifier: MIT
// The spelling tables against LLVM's assembler: for each generation, a name that we claim must be
// known to a GPU of it, and a name that we say is absent must be known to none.
#include <catch2/catch.hpp>
#include <set>
#include <sstream>

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

/// Which of `names` the assembler knows for `target`. Each is given an operand that no instruction
/// takes: the complaint then is about the operand when the name is known, else about the name.
std::set<std::string> known(const std::vector<std::string>& names, const target::Target& target) {
  std::set<std::string> result;
  for (const std::string& name : names) {
    const auto object = lower::assemble(name + " $nonsense\n", target);
    REQUIRE_FALSE(object);
    const std::string& message = object.error().message;
    const bool unknown = message.find("invalid instruction") != std::string::npos ||
                         message.find("not supported on this GPU") != std::string::npos;
    if (!unknown) result.insert(name);
  }
  return result;
}

void check(Generation generation, const std::vector<target::Target>& members) {
  std::vector<std::string> names;
  for (const Opcode op : all_opcodes()) {
    const std::string_view own = isa::spelling(op, generation);
    names.emplace_back(own.empty() ? isa::info(op).name : own);
  }
  std::set<std::string> in_any;
  for (const target::Target& member : members) in_any.merge(known(names, member));
  const std::vector<Opcode> ops = all_opcodes();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    // Outside gfx9 the assembler reads these as the instructions that take a sign for each source.
    const bool read_as_another = ops[i] == Opcode::v_dot4_i32_i8 || ops[i] == Opcode::v_dot8_i32_i4;
    if (read_as_another && generation != Generation::gfx9) continue;
    INFO(names[i]);
    CHECK(in_any.contains(names[i]) == !isa::spelling(ops[i], generation).empty());
  }
}

TEST_CASE("gfx9 spellings are LLVM's", "[isa][lower]") {
  check(Generation::gfx9,
        {test::bare_table("gfx942", Generation::gfx9, 64), test::bare_table("gfx950", Generation::gfx9, 64)});
}

TEST_CASE("gfx11 spellings are LLVM's", "[isa][lower]") {
  check(Generation::gfx11, {test::table("gfx1100"), test::table("gfx1151")});
}

TEST_CASE("gfx12 spellings are LLVM's", "[isa][lower]") {
  check(Generation::gfx12, {test::bare_table("gfx1201", Generation::gfx12, 32)});
}

}  // namespace
}  // namespace wavejit
