// SPDX-License-Identifier: MIT
#include "generator/isa/immediates.hpp"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <string_view>

#include "generator/isa/operand_text.hpp"

namespace wavejit::isa {
namespace {

void append_hex(std::string& out, std::int64_t value) {
  fmt::format_to(std::back_inserter(out), "0x{:x}", static_cast<std::uint64_t>(value));
}

void append_waitcnt(std::string& out, std::int64_t value, const target::Target& target) {
  const WaitCounts counts = decode_waitcnt(static_cast<std::uint16_t>(value), target);
  if (counts == WaitCounts{} || encode_waitcnt(counts, target) != value) return append_hex(out, value);
  std::string_view separator;
  const auto put = [&](std::string_view name, std::uint8_t count) {
    if (count == WaitCounts::unlimited) return;
    fmt::format_to(std::back_inserter(out), "{}{}({})", separator, name, count);
    separator = " ";
  };
  put("vmcnt", counts.vmcnt);
  put("expcnt", counts.expcnt);
  put("lgkmcnt", counts.lgkmcnt);
}

/// hardware.md §5.4: instid0 [3:0], instskip [6:4], instid1 [10:7].
void append_delay(std::string& out, std::int64_t value) {
  static constexpr std::array<std::string_view, 12> ids{
      "NO_DEP",        "VALU_DEP_1",    "VALU_DEP_2",        "VALU_DEP_3",   "VALU_DEP_4",   "TRANS32_DEP_1",
      "TRANS32_DEP_2", "TRANS32_DEP_3", "FMA_ACCUM_CYCLE_1", "SALU_CYCLE_1", "SALU_CYCLE_2", "SALU_CYCLE_3"};
  static constexpr std::array<std::string_view, 6> skips{"SAME",   "NEXT",   "SKIP_1",
                                                         "SKIP_2", "SKIP_3", "SKIP_4"};
  const auto bits = static_cast<std::uint64_t>(value);
  const unsigned first = bits & 0xF;
  const unsigned skip = (bits >> 4) & 7;
  const unsigned second = (bits >> 7) & 0xF;
  if (bits >= 1U << 11 || first >= ids.size() || skip >= skips.size() || second >= ids.size() || bits == 0) {
    return append_hex(out, value);
  }
  std::string_view separator;
  const auto put = [&](std::string_view name, std::string_view text) {
    fmt::format_to(std::back_inserter(out), "{}{}({})", separator, name, text);
    separator = " | ";
  };
  if (first != 0) put("instid0", ids[first]);
  if (skip != 0) put("instskip", skips[skip]);
  if (second != 0) put("instid1", ids[second]);
}

/// hardware.md §4.1; an idle field has all its bits set.
void append_depctr(std::string& out, std::int64_t value) {
  struct Field {
    std::string_view name;
    unsigned pos, bits;
  };
  static constexpr std::array fields{Field{"depctr_hold_cnt", 7, 1}, Field{"depctr_sa_sdst", 0, 1},
                                     Field{"depctr_va_vdst", 12, 4}, Field{"depctr_va_sdst", 9, 3},
                                     Field{"depctr_va_ssrc", 8, 1},  Field{"depctr_va_vcc", 1, 1},
                                     Field{"depctr_vm_vsrc", 2, 3}};
  constexpr std::uint64_t unnamed = 0x0060;  // bits 5 and 6 are clear in what the assembler writes
  const auto bits = static_cast<std::uint64_t>(value);
  if ((bits & unnamed) != 0 || bits > 0xFFFF || bits == 0xFF9F) return append_hex(out, value);
  std::string_view separator;
  for (const Field& f : fields) {
    const unsigned max = (1U << f.bits) - 1;
    const unsigned count = static_cast<unsigned>(bits >> f.pos) & max;
    if (count == max) continue;
    fmt::format_to(std::back_inserter(out), "{}{}({})", separator, f.name, count);
    separator = " ";
  }
}

void append_message(std::string& out, std::int64_t value, const target::Target& target) {
  constexpr std::int64_t dealloc_vgprs = 3;
  if (value == dealloc_vgprs && target.generation != target::Generation::gfx9) {
    out += "sendmsg(MSG_DEALLOC_VGPRS)";
  } else {
    append_hex(out, value);
  }
}

/// id [5:0], offset [10:6], size - 1 [15:11].
void append_hwreg(std::string& out, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  constexpr unsigned mode = 1;
  if ((bits & 0x3F) != mode || bits > 0xFFFF) return append_hex(out, value);
  const auto offset = static_cast<unsigned>(bits >> 6 & 0x1F);
  const auto size = static_cast<unsigned>(bits >> 11) + 1;
  fmt::format_to(std::back_inserter(out), "hwreg(HW_REG_MODE, {}, {})", offset, size);
}

}  // namespace

void append_immediate(std::string& out, Opcode op, std::int64_t value, const target::Target& target) {
  switch (op) {
    case Opcode::s_waitcnt:
      return append_waitcnt(out, value, target);
    case Opcode::s_delay_alu:
      return append_delay(out, value);
    case Opcode::s_waitcnt_depctr:
      return append_depctr(out, value);
    case Opcode::s_sendmsg:
      return append_message(out, value, target);
    case Opcode::s_setreg_b32:
    case Opcode::s_setreg_imm32_b32:
    case Opcode::s_getreg_b32:
      return append_hwreg(out, value);
    default:
      return append_integer(out, value);
  }
}

ImmediateForm immediate_form(Opcode op) {
  const OpcodeInfo& inf = info(op);
  switch (op) {
    case Opcode::s_setreg_b32:
    case Opcode::s_setreg_imm32_b32:
    case Opcode::s_getreg_b32:
      return ImmediateForm::hwreg;
    case Opcode::s_set_gpr_idx_on:
      return ImmediateForm::gpr_index;
    case Opcode::s_waitcnt_vscnt:
      return ImmediateForm::sopk_unsigned;
    case Opcode::s_round_mode:
    case Opcode::s_denorm_mode:
      return ImmediateForm::encoded;
    case Opcode::s_barrier_wait:  // barrier numbers may be negative
      return ImmediateForm::encoded_signed;
    case Opcode::s_fmaak_f32:
      return ImmediateForm::none;
    default:
      break;
  }
  if (inf.signature == "=L1") return ImmediateForm::branch;
  if (inf.pipe != Pipe::salu) return inf.signature == "=i1" ? ImmediateForm::encoded : ImmediateForm::none;
  if (!inf.signature.ends_with("i1")) return ImmediateForm::none;
  const bool is_unsigned = inf.name.starts_with("s_cmpk") && inf.name.ends_with("u32");
  return is_unsigned ? ImmediateForm::sopk_unsigned : ImmediateForm::sopk_signed;
}

}  // namespace wavejit::isa
