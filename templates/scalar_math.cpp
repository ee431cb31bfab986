// SPDX-License-Identifier: MIT
#include "templates/scalar_math.hpp"

#include <bit>
#include <cassert>

namespace wavejit::templates {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

Magic magic(std::uint32_t d) {
  assert(d >= 2 && d < (1U << 31));
  const auto l = static_cast<unsigned>(std::bit_width(d - 1));
  const std::uint64_t factor = ((std::uint64_t{1} << (31 + l)) + d - 1) / d;
  return {static_cast<std::uint32_t>(factor), l - 1};
}

Operand divide(ir::Builder& b, const std::string& name, const Operand& a, std::int64_t d) {
  if (d == 1) return a;
  const auto divisor = static_cast<std::uint32_t>(d);
  const Operand q = b.sgpr(name);
  if (std::has_single_bit(divisor)) {
    b.emit(s_lshr_b32, {q}, {a, imm(std::countr_zero(divisor))});
    return q;
  }
  const Magic m = magic(divisor);
  b.note("/ " + std::to_string(d)).emit(s_mul_hi_u32, {q}, {a, imm(m.factor)});
  if (m.shift > 0) b.emit(s_lshr_b32, {q}, {q, imm(m.shift)});
  return q;
}

Operand divide_lanes(ir::Builder& b, const std::string& name, const Operand& a, std::int64_t d) {
  if (d == 1) return a;
  const auto divisor = static_cast<std::uint32_t>(d);
  const Operand q = b.vgpr(name);
  if (std::has_single_bit(divisor)) {
    b.emit(v_lshrrev_b32, {q}, {imm(std::countr_zero(divisor)), a});
    return q;
  }
  const Magic m = magic(divisor);
  const Operand factor = b.sgpr("factor");  // VOP3 on gfx9 takes no literal
  b.emit(s_mov_b32, {factor}, {imm(m.factor)});
  b.note("/ " + std::to_string(d)).emit(v_mul_hi_u32, {q}, {a, factor});
  if (m.shift > 0) b.emit(v_lshrrev_b32, {q}, {imm(m.shift), q});
  return q;
}

Quotient divide_with_rest(ir::Builder& b, const std::string& name, const Operand& a, std::int64_t d) {
  const Operand rest = b.sgpr(name + "_rest");
  if (d == 1) {
    b.emit(s_mov_b32, {rest}, {imm(0)});
    return {a, rest};
  }
  const Operand q = divide(b, name, a, d);
  if (std::has_single_bit(static_cast<std::uint64_t>(d))) {
    b.emit(s_and_b32, {rest}, {a, imm(d - 1)});
    return {q, rest};
  }
  const Operand whole = b.sgpr(name + "_whole");
  b.emit(s_mul_i32, {whole}, {q, imm(d)});
  b.emit(s_sub_u32, {rest}, {a, whole});
  return {q, rest};
}

Quotient divide_by_register(ir::Builder& b, const std::string& name, const Operand& a, const Operand& d) {
  // A factor just below 2^32, so that rounding never makes the reciprocal too large.
  constexpr std::int64_t below_2_to_32 = 0x4F7FFFFE;
  const Operand real = b.vgpr(name + "_real"), reciprocal = b.sgpr(name + "_reciprocal");
  b.emit(v_cvt_f32_u32, {real}, {d});
  b.emit(v_rcp_iflag_f32, {real}, {real});
  b.emit(v_mul_f32, {real}, {imm(below_2_to_32), real});
  b.emit(v_cvt_u32_f32, {real}, {real});
  b.emit(v_readfirstlane_b32, {reciprocal}, {real});
  const Operand error = b.sgpr(name + "_error");
  b.emit(s_sub_u32, {error}, {imm(0), d});
  b.emit(s_mul_i32, {error}, {error, reciprocal});
  b.note("Newton step").emit(s_mul_hi_u32, {error}, {reciprocal, error});
  b.emit(s_add_u32, {reciprocal}, {reciprocal, error});

  const Operand q = b.sgpr(name), rest = b.sgpr(name + "_rest"), whole = b.sgpr(name + "_whole");
  b.emit(s_mul_hi_u32, {q}, {a, reciprocal});
  b.emit(s_mul_i32, {whole}, {q, d});
  b.emit(s_sub_u32, {rest}, {a, whole});
  for (unsigned correction = 0; correction < 2; ++correction) {
    const Operand next = b.sgpr(name + "_next"), less = b.sgpr(name + "_less");
    b.emit(s_add_u32, {next}, {q, imm(1)});
    b.emit(s_sub_u32, {less}, {rest, d});
    b.emit(s_cmp_ge_u32, {}, {rest, d});
    b.emit(s_cselect_b32, {q}, {next, q});
    b.emit(s_cselect_b32, {rest}, {less, rest});
  }
  return {q, rest};
}

}  // namespace wavejit::templates
