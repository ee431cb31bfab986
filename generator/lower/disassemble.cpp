// SPDX-License-Identifier: MIT
#include "generator/lower/disassemble.hpp"

#include <fmt/format.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

#include "generator/lower/machine.hpp"

namespace wavejit::lower {
namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

class Disassembler {
 public:
  Disassembler(const Machine& m, const target::Target& target)
      : machine_(m),
        target_(target),
        context_(m.triple, m.asm_info.get(), m.registers.get(), m.subtarget.get()),
        decoder_(m.llvm_target->createMCDisassembler(*m.subtarget, context_)),
        printer_(m.llvm_target->createMCInstPrinter(m.triple, m.asm_info->getAssemblerDialect(), *m.asm_info,
                                                    *m.instructions, *m.registers)) {}

  /// The instruction at the start of `bytes`; sizes and text filled in.
  Result<DecodedInstruction> decode(std::span<const std::uint8_t> bytes, std::uint64_t address) {
    llvm::MCInst inst;
    std::uint64_t size = 0;
    const auto status = decoder_->getInstruction(inst, size, llvm::ArrayRef(bytes.data(), bytes.size()),
                                                 address, llvm::nulls());
    if (status != llvm::MCDisassembler::Success || size == 0 || size > bytes.size()) {
      return fail(ErrorCode::unknown_instruction,
                  fmt::format("the bytes at 0x{:x} are no instruction of {}", address, target_.name));
    }
    std::string text;
    llvm::raw_string_ostream stream(text);
    printer_->printInst(&inst, address, "", *machine_.subtarget, stream);
    DecodedInstruction result;
    result.address = address;
    result.size = static_cast<std::uint32_t>(size);
    result.text = std::string(trim(text));
    return result;
  }

 private:
  const Machine& machine_;
  const target::Target& target_;
  llvm::MCContext context_;
  std::unique_ptr<llvm::MCDisassembler> decoder_;
  std::unique_ptr<llvm::MCInstPrinter> printer_;
};

/// Branch distances in dwords become indexes of instructions.
Result<void> resolve_branches(std::vector<DecodedInstruction>& instructions, std::string_view kernel) {
  for (DecodedInstruction& d : instructions) {
    if (d.inst.pipe() != isa::Pipe::branch || d.inst.src_count == 0) continue;
    const std::uint64_t to = d.address + d.size + static_cast<std::uint64_t>(d.inst.src[0].value) * 4;
    const auto it = std::ranges::lower_bound(instructions, to, {}, &DecodedInstruction::address);
    if (it == instructions.end() || it->address != to) {
      return fail(ErrorCode::invalid_code_object,
                  fmt::format("kernel {}: the branch at 0x{:x} goes to 0x{:x}, where no instruction starts",
                              kernel, d.address, to));
    }
    d.inst.src[0] = isa::label(static_cast<std::uint32_t>(it - instructions.begin()));
  }
  return {};
}

}  // namespace

Result<std::vector<DecodedInstruction>> disassemble(std::span<const std::uint8_t> code, std::uint64_t address,
                                                    const target::Target& target, std::string_view kernel) {
  const auto found = machine(target);
  if (!found) return std::unexpected(found.error());
  Disassembler disassembler(**found, target);
  std::vector<DecodedInstruction> result;
  result.reserve(code.size() / 6);
  for (std::uint64_t at = 0; at < code.size();) {
    auto decoded = disassembler.decode(code.subspan(at), address + at);
    const auto in_kernel = [&](Error error) {
      error.message = fmt::format("kernel {}: {} at 0x{:x}", kernel, error.message, address + at);
      return std::unexpected(std::move(error));
    };
    if (!decoded) return in_kernel(std::move(decoded.error()));
    auto parsed = isa::parse_disassembly(decoded->text, code.subspan(at, decoded->size), target);
    if (!parsed) return in_kernel(std::move(parsed.error()));
    at += decoded->size;
    decoded->inst = parsed->inst[0];
    result.push_back(std::move(*decoded));
    if (parsed->count == 2) {
      DecodedInstruction second{
          .inst = parsed->inst[1], .address = result.back().address, .size = 0, .text = {}};
      result.push_back(std::move(second));
    }
  }
  if (auto done = resolve_branches(result, kernel); !done) return std::unexpected(std::move(done.error()));
  return result;
}

}  // namespace wavejit::lower
