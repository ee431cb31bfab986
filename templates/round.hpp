// SPDX-License-Identifier: MIT
// f32 pairs to packed 16-bit values, rounded to nearest even: what dequantisation without a fused
// instruction and the epilogue share. gfx11 has no packed conversion of that rounding for either type, gfx950
// one for bf16.
#pragma once

#include "generator/ir/builder.hpp"
#include "templates/problem.hpp"

namespace wavejit::templates {

/// bf16: v_cvt_pk_bf16_f32 where the target has it, else u += 0x7FFF + bit 16 of u, upper half kept (2 VALU a
/// value, 1 to pack); a NaN needs 2 more a value. f16: v_cvt_f16_f32 by the MODE register's rounding, which
/// is nearest even (1 a value, 1 to pack).
class PairRounder {
 public:
  /// `values_may_be_nan`: false for weights, whose scales are finite.
  PairRounder(DataType type, bool values_may_be_nan) : type_(type), keep_nan_(values_may_be_nan) {}

  /// Constants that live in SGPRs as long as `round` is called.
  void setup(ir::Builder& b);

  /// dst (VGPR) = {high, low}, each rounded once.
  void round(ir::Builder& b, const isa::Operand& low, const isa::Operand& high,
             const isa::Operand& dst) const;

 private:
  [[nodiscard]] isa::Operand to_bf16(ir::Builder& b, const isa::Operand& value) const;

  DataType type_;
  bool keep_nan_;
  isa::Operand round_up_, nan_, pack_;
};

/// f32 of the 16-bit value in the lower or upper half of a VGPR.
isa::Operand half_to_f32(ir::Builder& b, DataType type, const isa::Operand& packed, bool upper);

/// An SGPR that holds `bits`.
isa::Operand scalar_constant(ir::Builder& b, std::string name, std::uint32_t bits, std::string comment = {});

}  // namespace wavejit::templates
