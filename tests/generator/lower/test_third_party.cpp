// SPDX-License-Identifier: MIT
// Machine code that we did not write: kernels that Triton compiled (../shared/peers/triton, which stays
// out of the repository). Every instruction must be understood, and printing them and assembling the text
// must give the same code.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "generator/lower/disassemble.hpp"
#include "generator/lower/elf.hpp"
#include "tests/generator/lower/text_kernel.hpp"
#include "tests/skip.hpp"

namespace wavejit {
namespace {

namespace fs = std::filesystem;

std::vector<std::uint8_t> read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Labels named by the index of the instruction that they stand before.
class IndexNames final : public isa::OperandNames {
 public:
  [[nodiscard]] std::string virtual_register(const isa::Operand&) const override { return "(virtual)"; }
  [[nodiscard]] std::string label(std::uint32_t index) const override { return ".L" + std::to_string(index); }
};

std::string print(const lower::DecodedKernel& kernel, const target::Target& target) {
  const IndexNames names;
  std::string text;
  for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
    const isa::Instruction& inst = kernel.instructions[i].inst;
    text += names.label(static_cast<std::uint32_t>(i)) + ":\n";
    if (inst.dual == isa::Dual::x) {
      text += isa::print_dual(inst, kernel.instructions[++i].inst, target) + "\n";
    } else {
      text += isa::to_text(inst, target, &names) + "\n";
    }
  }
  return text;
}

std::vector<lower::DecodedInstruction> reassembled(const std::string& text, std::uint64_t address,
                                                   const target::Target& target) {
  const auto object = test::assembled(text, target);
  const auto file = lower::elf::parse(object);
  REQUIRE(file);
  const lower::elf::Section* code = file->find(".text");
  REQUIRE(code != nullptr);
  const auto decoded = lower::disassemble(code->contents, address, target, "reassembled");
  INFO((decoded ? std::string() : decoded.error().message));
  REQUIRE(decoded);
  return *decoded;
}

TEST_CASE("other compilers' kernels are understood to the last instruction", "[lower]") {
  unsigned files = 0;
  for (const auto& entry : fs::directory_iterator(test::shared("peers/triton"))) {
    if (entry.path().extension() != ".hsaco") continue;
    ++files;
    INFO(entry.path().filename().string());
    const auto object = lower::decode(read(entry.path()));
    INFO((object ? std::string() : object.error().message));
    REQUIRE(object);
    REQUIRE(object->kernels.size() == 1);
    const lower::DecodedKernel& kernel = object->kernels[0];
    CHECK(kernel.instructions.size() > 100);
    CHECK(kernel.instructions.back().inst.op == isa::Opcode::s_endpgm);
    CHECK(kernel.args.size() >= 3);

    const auto again =
        reassembled(print(kernel, *object->target), kernel.instructions[0].address, *object->target);
    REQUIRE(again.size() == kernel.instructions.size());
    for (std::size_t i = 0; i < again.size(); ++i) {
      INFO(kernel.instructions[i].text);
      REQUIRE(again[i].inst == kernel.instructions[i].inst);
      REQUIRE(again[i].address == kernel.instructions[i].address);
    }
  }
  CHECK(files >= 6);
}

}  // namespace
}  // namespace wavejit
