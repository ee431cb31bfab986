// SPDX-License-Identifier: MIT
// A machine instruction: opcode, operands, modifiers. The same struct is built by the templates,
// rewritten by the passes, printed as text, decoded from a code object, modelled and simulated.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "generator/isa/opcode.hpp"
#include "generator/isa/operand.hpp"
#include "generator/support/error.hpp"

namespace wavejit::isa {

/// DPP control of a VALU instruction, as encoded (hardware DPP_CTRL), or DPP8 lane selectors.
struct Dpp {
  enum class Kind : std::uint8_t { none, dpp16, dpp8 };
  Kind kind = Kind::none;
  std::uint16_t ctrl = 0;   ///< DPP16: DPP_CTRL, 9 bits
  std::uint32_t lanes = 0;  ///< DPP8: 8 x 3 bits
  std::uint8_t row_mask = 0xF, bank_mask = 0xF;
  bool bound_ctrl = false;  ///< out-of-range lanes read 0
  bool fi = false;          ///< fetch inactive lanes
  friend bool operator==(const Dpp&, const Dpp&) = default;
};

/// Sub-dword addressing of a gfx9 VALU instruction. Byte 0..3, word 0..1 or the whole dword of each
/// source and of the destination, whose other bytes become 0, copies of the sign, or stay.
struct Sdwa {
  enum class Select : std::uint8_t { byte0, byte1, byte2, byte3, word0, word1, dword };
  enum class Unused : std::uint8_t { pad, sext, preserve };
  bool on = false;
  Select dst = Select::dword;
  Unused unused = Unused::pad;
  std::array<Select, 2> src{Select::dword, Select::dword};
  std::array<bool, 2> sext{};  ///< source is sign-extended from its part
  friend bool operator==(const Sdwa&, const Sdwa&) = default;
};

struct Modifiers {
  std::int32_t offset = 0;                ///< bytes; vector memory and LDS
  std::uint8_t offset0 = 0, offset1 = 0;  ///< two-address LDS forms, in elements
  std::uint8_t op_sel = 0;                ///< bit i = source i takes its high half; last bit = destination
  std::uint8_t op_sel_hi = 7;             ///< VOP3P only
  std::uint8_t neg_lo = 0, neg_hi = 0;
  bool clamp = false;
  std::uint8_t omod = 0;  ///< 0 none, 1 *2, 2 *4, 3 /2
  bool offen = false, idxen = false;
  bool lds = false;                            ///< gfx9 vector load to LDS
  bool glc = false, slc = false, dlc = false;  ///< gfx11 cache bits; gfx9: sc0, nt, sc1
  std::uint8_t th = 0, scope = 0;              ///< gfx12 cache policy
  std::uint8_t cbsz = 0, abid = 0, blgp = 0;   ///< MFMA
  std::uint8_t bitop3 = 0;                     ///< gfx950 v_bitop3: truth table, bit (a << 2 | b << 1 | c)
  Dpp dpp;
  Sdwa sdwa;
  friend bool operator==(const Modifiers&, const Modifiers&) = default;
};

/// Which half of a VOPD pair an instruction is. A pair is two consecutive instructions x, y that
/// issue together: both read before either writes.
enum class Dual : std::uint8_t { none, x, y };

inline constexpr unsigned max_dst = 2;
inline constexpr unsigned max_src = 6;

struct Instruction {
  Opcode op = Opcode::invalid;
  Dual dual = Dual::none;
  std::uint8_t dst_count = 0, src_count = 0;
  std::array<Operand, max_dst> dst{};
  std::array<Operand, max_src> src{};
  Modifiers mods{};

  [[nodiscard]] const OpcodeInfo& info() const { return isa::info(op); }
  [[nodiscard]] Pipe pipe() const { return info().pipe; }
  [[nodiscard]] bool has(flag::Bits f) const { return info().has(f); }
  friend bool operator==(const Instruction&, const Instruction&) = default;
};

/// Registers that an instruction touches without naming them in its operands.
struct Implicit {
  bool reads_scc = false, writes_scc = false;
  bool reads_vcc = false, writes_vcc = false;
  bool reads_exec = false, writes_exec = false;
  bool reads_m0 = false;
};
Implicit implicit(const Instruction& inst);

/// A vector load that writes LDS itself: lane l at M0 plus the immediate plus l times its size.
inline bool loads_to_lds(const Instruction& inst) {
  return inst.pipe() == Pipe::vmem && (inst.mods.lds || inst.has(flag::to_lds));
}

/// Calls f(const Operand&) for every register operand that is written (named ones only).
template <class F>
void for_each_def(const Instruction& inst, F&& f) {
  for (unsigned i = 0; i < inst.dst_count; ++i)
    if (inst.dst[i].is_reg() && !(inst.dst[i].is_physical(RegClass::sgpr, sreg::null))) f(inst.dst[i]);
}

/// True when the old value of dst[0] is an input: tied opcodes, half writes, DPP with masks; not when
/// the destination is marked `undef`.
bool reads_destination(const Instruction& inst);

/// Calls f(const Operand&) for every register operand that is read (named ones, plus a
/// destination whose old value is an input).
template <class F>
void for_each_use(const Instruction& inst, F&& f) {
  for (unsigned i = 0; i < inst.src_count; ++i)
    if (inst.src[i].is_reg() && !(inst.src[i].is_physical(RegClass::sgpr, sreg::null))) f(inst.src[i]);
  if (inst.dst_count > 0 && inst.dst[0].is_reg() && reads_destination(inst)) f(inst.dst[0]);
}

/// Names for virtual registers and labels while printing IR; physical operands need none.
class OperandNames {
 public:
  virtual ~OperandNames() = default;
  [[nodiscard]] virtual std::string virtual_register(const Operand& op) const = 0;
  [[nodiscard]] virtual std::string label(std::uint32_t index) const = 0;
};

/// Assembly text that LLVM accepts for `target` (physical operands), or readable IR text
/// (virtual ones, named by `names`). A VOPD x half prints alone; print_dual joins the pair.
std::string to_text(const Instruction& inst, const target::Target& target,
                    const OperandNames* names = nullptr);
std::string print_dual(const Instruction& x, const Instruction& y, const target::Target& target);

/// s_waitcnt fields. `unlimited` means "do not wait on this counter".
struct WaitCounts {
  static constexpr std::uint8_t unlimited = 0xFF;
  std::uint8_t vmcnt = unlimited;
  std::uint8_t expcnt = unlimited;
  std::uint8_t lgkmcnt = unlimited;
  friend bool operator==(const WaitCounts&, const WaitCounts&) = default;
};
/// simm16 of s_waitcnt for gfx9 and gfx11 (hardware.md §4.1), and back.
std::uint16_t encode_waitcnt(const WaitCounts& counts, const target::Target& target);
WaitCounts decode_waitcnt(std::uint16_t simm16, const target::Target& target);

/// One line of LLVM's disassembly and its encoding -> one instruction, or two for a VOPD pair.
/// Errors: unknown_instruction with the mnemonic.
struct Parsed {
  std::array<Instruction, 2> inst;
  unsigned count = 1;
};
Result<Parsed> parse_disassembly(std::string_view text, std::span<const std::uint8_t> encoding,
                                 const target::Target& target);

}  // namespace wavejit::isa
