// SPDX-License-Identifier: MIT
// LLVM as a second opinion on both sides: what llc compiles has no errors, and hardly a wait or s_nop that
// llc put there can be taken away unseen. The kernels are tests/data/check/kernels.ll.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "tests/generator/lower/stock_tools.hpp"
#include "tests/runtime/check/check_kernel.hpp"

using namespace wavejit;

namespace {

lower::CodeObject compiled(std::string_view target) {
  std::ifstream stream(WAVEJIT_TEST_DATA "/check/kernels.ll", std::ios::binary);
  const std::vector<std::uint8_t> text{std::istreambuf_iterator<char>(stream), {}};
  REQUIRE_FALSE(text.empty());
  const auto object =
      test::run_tool("llc-22", fmt::format("-mcpu={} -O3 -filetype=obj {{kernels.ll}} -o {{out}}", target),
                     {{"kernels.ll", text}});
  const auto linked = lower::link(object);
  INFO((linked ? std::string() : linked.error().message));
  REQUIRE(linked);
  auto decoded = lower::decode(*linked);
  INFO((decoded ? std::string() : decoded.error().message));
  REQUIRE(decoded);
  return *decoded;
}

/// The kernel without instruction `i`; branches still go where they went.
lower::DecodedKernel without(lower::DecodedKernel k, std::size_t i) {
  k.instructions.erase(k.instructions.begin() + static_cast<std::ptrdiff_t>(i));
  for (lower::DecodedInstruction& d : k.instructions) {
    isa::Operand& to = d.inst.src[0];
    if (to.kind == isa::Operand::Kind::label && to.index > i) --to.index;
  }
  return k;
}

/// Waits, and the s_nops that stand between dependent instructions: on gfx9 only, since elsewhere llc
/// writes them for alignment.
bool is_guard(const isa::Instruction& inst, const target::Target& target) {
  if (inst.pipe() == isa::Pipe::wait) return true;
  return inst.op == isa::Opcode::s_nop && target.generation == target::Generation::gfx9;
}

}  // namespace

TEST_CASE("what llc compiles has no errors, and its waits are needed", "[check][llvm]") {
  for (const std::string name : {"gfx1100", "gfx1151", "gfx1200", "gfx942", "gfx950"}) {
    const lower::CodeObject object = compiled(name);
    REQUIRE(object.kernels.size() == 11);
    unsigned mutants = 0;
    unsigned unseen = 0;
    for (const lower::DecodedKernel& kernel : object.kernels) {
      const check::Report report = check::check(kernel, *object.target);
      INFO(name << "\n" << to_string(report));
      CHECK(report.ok());
      for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
        if (!is_guard(kernel.instructions[i].inst, *object.target)) continue;
        ++mutants;
        const check::Report mutant = check::check(without(kernel, i), *object.target);
        if (mutant.findings.size() == report.findings.size()) ++unseen;
      }
    }
    INFO(name << ": " << unseen << " of " << mutants << " unseen");
    CHECK(mutants >= 60);
    // llc waits for global memory before barriers, which is not judged here, and at times twice.
    CHECK(unseen * 50 <= mutants);
  }
}
