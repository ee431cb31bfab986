// SPDX-License-Identifier: MIT
// An operand of a machine instruction: a register tuple (virtual or physical), a constant, a label.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace wavejit::isa {

enum class RegClass : std::uint8_t { sgpr, vgpr, agpr };

/// Scalar registers with fixed meaning keep one number on every target; the printer and the
/// decoder translate. 0..105 are plain SGPRs.
namespace sreg {
inline constexpr std::uint32_t vcc_lo = 106, vcc_hi = 107;
inline constexpr std::uint32_t ttmp0 = 108;  // ..123
inline constexpr std::uint32_t null = 124;
inline constexpr std::uint32_t m0 = 125;
inline constexpr std::uint32_t exec_lo = 126, exec_hi = 127;
inline constexpr std::uint32_t flat_scratch_lo = 128, flat_scratch_hi = 129;
inline constexpr std::uint32_t xnack_mask_lo = 130, xnack_mask_hi = 131;
inline constexpr std::uint32_t count = 132;
}  // namespace sreg

/// Sources that are neither registers nor constants.
enum class Special : std::uint8_t {
  scc,
  vccz,
  execz,
  shared_base,
  shared_limit,
  private_base,
  private_limit,
  lds_direct
};

/// A 16-bit half of a VGPR, where the instruction names one ("v1.h").
enum class Half : std::uint8_t { whole, low, high };

struct Operand {
  enum class Kind : std::uint8_t {
    none,
    reg,    ///< `index` = first physical register, or virtual tuple id with `sub` = first dword in it
    imm,    ///< `value`: integer constant, inline or literal, as written
    fimm,   ///< `value`: raw f32 bits of an inline float constant (0.5, 1.0, 2.0, 4.0, 1/(2pi) and negatives)
    label,  ///< `index` = block or instruction index
    special,  ///< `index` = Special
  };

  Kind kind = Kind::none;
  RegClass cls = RegClass::sgpr;
  bool is_virtual = false;
  bool undef = false;  ///< destination of a half write whose other half holds nothing yet: not a read
  bool neg = false;    ///< VOP3 source modifier
  bool abs = false;
  Half half = Half::whole;
  std::uint8_t width = 1;  ///< dwords
  std::uint8_t sub = 0;
  std::uint32_t index = 0;
  std::int64_t value = 0;

  friend bool operator==(const Operand&, const Operand&) = default;

  [[nodiscard]] bool is_reg() const { return kind == Kind::reg; }
  [[nodiscard]] bool is_reg(RegClass c) const { return kind == Kind::reg && cls == c; }
  [[nodiscard]] bool is_vgpr() const { return is_reg(RegClass::vgpr); }
  [[nodiscard]] bool is_sgpr() const { return is_reg(RegClass::sgpr); }
  [[nodiscard]] bool is_const() const { return kind == Kind::imm || kind == Kind::fimm; }
  [[nodiscard]] bool is_physical(RegClass c, std::uint32_t reg) const {
    return is_reg(c) && !is_virtual && index <= reg && reg < index + width;
  }

  /// `count` dwords of this tuple from dword `first`.
  [[nodiscard]] Operand slice(unsigned first, unsigned count = 1) const {
    Operand o = *this;
    o.width = static_cast<std::uint8_t>(count);
    if (is_virtual) {
      o.sub = static_cast<std::uint8_t>(sub + first);
    } else {
      o.index = index + first;
    }
    return o;
  }
  [[nodiscard]] Operand operator-() const {
    Operand o = *this;
    o.neg = !o.neg;
    return o;
  }
};

inline Operand imm(std::int64_t value) {
  Operand o;
  o.kind = Operand::Kind::imm;
  o.value = value;
  return o;
}
inline Operand fimm(std::uint32_t f32_bits) {
  Operand o;
  o.kind = Operand::Kind::fimm;
  o.value = f32_bits;
  return o;
}
inline Operand phys(RegClass cls, std::uint32_t index, unsigned width = 1) {
  Operand o;
  o.kind = Operand::Kind::reg;
  o.cls = cls;
  o.index = index;
  o.width = static_cast<std::uint8_t>(width);
  return o;
}
inline Operand vgpr(std::uint32_t index, unsigned width = 1) { return phys(RegClass::vgpr, index, width); }
inline Operand sgpr(std::uint32_t index, unsigned width = 1) { return phys(RegClass::sgpr, index, width); }
inline Operand label(std::uint32_t index) {
  Operand o;
  o.kind = Operand::Kind::label;
  o.index = index;
  return o;
}
inline Operand special(Special s) {
  Operand o;
  o.kind = Operand::Kind::special;
  o.index = static_cast<std::uint32_t>(s);
  return o;
}
/// VCC, EXEC for a wave of `wave_size` lanes (one dword in wave32, two in wave64).
inline Operand vcc(unsigned wave_size) { return sgpr(sreg::vcc_lo, wave_size / 32); }
inline Operand exec(unsigned wave_size) { return sgpr(sreg::exec_lo, wave_size / 32); }
inline Operand null_reg() { return sgpr(sreg::null); }
inline Operand m0() { return sgpr(sreg::m0); }

/// Whether a 32-bit integer constant is encoded inline (-16..64), costing no literal dword.
inline bool is_inline_integer(std::int64_t value) { return value >= -16 && value <= 64; }

}  // namespace wavejit::isa
