// SPDX-License-Identifier: MIT
#include "generator/lower/disassemble.hpp"

#include <fmt/format.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCFixup.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <array>

#include "generator/lower/encodable.hpp"

namespace wavejit::lower {
namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

/// LLVM 22's decoder crashes where it wants to say that a literal is longer than any instruction of the GPU
/// may be (on gfx942 every source 0xFF of eight bytes' code). It is told of longer ones, which are then
/// refused by size.
struct AnyLength final : llvm::MCAsmInfo {
  static constexpr unsigned longest = 32;
  unsigned getMaxInstLength(const llvm::MCSubtargetInfo*) const override { return longest; }
};

/// The first two dwords, as documents write them.
std::string hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (std::size_t at = 0; at + 4 <= std::min<std::size_t>(bytes.size(), 8); at += 4)
    text += fmt::format("{}{:02x}{:02x}{:02x}{:02x}", at == 0 ? "" : " ", bytes[at + 3], bytes[at + 2],
                        bytes[at + 1], bytes[at]);
  return text;
}

/// A selection of SDWA (the second dword of a VALU instruction of four bytes whose source is 0xF9) that the
/// ISA documents reserve. LLVM's printer takes it for impossible and runs on into other code.
bool has_reserved_selection(std::span<const std::uint8_t> bytes) {
  if (bytes.size() != 8 || bytes[0] != 0xF9 || (bytes[1] & 1) != 0 || bytes[3] >= 0x80) return false;
  constexpr unsigned reserved_bytes = 7, reserved_rest = 3, compares = 0x3E;
  const bool writes_vgpr = bytes[3] >> 1 != compares;
  return (bytes[6] & 7) == reserved_bytes || (bytes[7] & 7) == reserved_bytes ||
         (writes_vgpr && ((bytes[5] & 7) == reserved_bytes || (bytes[5] >> 3 & 3) == reserved_rest));
}

class Disassembler {
 public:
  Disassembler(const Machine& m, const target::Target& target)
      : machine_(m),
        target_(target),
        context_(m.triple, &any_length_, m.registers.get(), m.subtarget.get()),
        decoder_(m.llvm_target->createMCDisassembler(*m.subtarget, context_)),
        printer_(m.llvm_target->createMCInstPrinter(m.triple, m.asm_info->getAssemblerDialect(), *m.asm_info,
                                                    *m.instructions, *m.registers)),
        encoder_(m.llvm_target->createMCCodeEmitter(*m.instructions, context_)) {}

  /// The instruction at the start of `bytes`; sizes and text filled in.
  Result<DecodedInstruction> decode(std::span<const std::uint8_t> bytes, std::uint64_t address) {
    llvm::MCInst inst;
    std::uint64_t size = 0;
    // What the decoder reads is always long enough, with zeros behind the code's end; an instruction that
    // reaches into them is refused by its size, too.
    std::array<std::uint8_t, AnyLength::longest> padded{};
    llvm::ArrayRef<std::uint8_t> readable(bytes.data(), bytes.size());
    if (bytes.size() < padded.size()) {
      std::ranges::copy(bytes, padded.begin());
      readable = padded;
    }
    const auto status = decoder_->getInstruction(inst, size, readable, address, llvm::nulls());
    const std::size_t longest =
        std::min<std::size_t>(bytes.size(), machine_.asm_info->getMaxInstLength(machine_.subtarget.get()));
    // A soft failure is a field that should have another value and does not count: LLVM 15 left VDST of
    // gfx10's v_cmpx clear, where later ones put EXEC.
    if (status == llvm::MCDisassembler::Fail || size == 0 || size > longest || !encodable(inst, machine_) ||
        has_reserved_selection(bytes.first(size))) {
      return fail(ErrorCode::unknown_instruction,
                  fmt::format("the bytes at 0x{:x} ({}) are no instruction of {}", address, hex(bytes),
                              target_.name));
    }
    std::string text;
    llvm::raw_string_ostream stream(text);
    printer_->printInst(&inst, address, "", *machine_.subtarget, stream);
    DecodedInstruction result;
    result.address = address;
    result.size = static_cast<std::uint32_t>(size);
    result.text = std::string(trim(text));
    result.reserved_bits = has_reserved_bits(inst, bytes.first(size));
    return result;
  }

 private:
  /// Whether bits are set that the encoder, given the same instruction, leaves clear.
  bool has_reserved_bits(const llvm::MCInst& inst, std::span<const std::uint8_t> bytes) {
    encoded_.clear();
    fixups_.clear();
    encoder_->encodeInstruction(inst, encoded_, fixups_, *machine_.subtarget);
    if (encoded_.size() != bytes.size()) return false;  // a literal that has an inline form
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if ((bytes[i] & ~static_cast<std::uint8_t>(encoded_[i])) != 0) return true;
    return false;
  }

  const Machine& machine_;
  const target::Target& target_;
  AnyLength any_length_;
  llvm::MCContext context_;
  std::unique_ptr<llvm::MCDisassembler> decoder_;
  std::unique_ptr<llvm::MCInstPrinter> printer_;
  std::unique_ptr<llvm::MCCodeEmitter> encoder_;
  llvm::SmallVector<char, 32> encoded_;
  llvm::SmallVector<llvm::MCFixup, 4> fixups_;
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
