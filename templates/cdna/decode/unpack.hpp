// SPDX-License-Identifier: MIT
// Private to the CDNA decode kernels: int4 weights to matrix operands without rounding them, scales applied
// to sums.
//
// A nibble under a constant exponent is a 16-bit float by itself: bf16 128 + n, f16 16 + n for n = 0 .. 15,
// exact. With q = n - 8 (two's complement nibbles: n = q + 8 after bit 3 is flipped) that is base + q, base =
// 136 or 24. Over one group of weights, whose scale is s and zero term t (domain.md §1.9, §3.1):
//   sum a (q s + t) = s (sum a (base + q) - base sum a) + t sum a
// The matrix unit computes both sums: -base sum a by a constant operand, and the first one on top of it, in
// f32. What is left for the VALU is 7 (gfx942 with signed nibbles: 8) instructions for eight weights, and
// one v_pk_fma_f32 for two sums of a group.
//
// A word's nibbles i and i + 4 come out as a pair. In ExLlama order those are k = 2 i and 2 i + 1; in
// row-major order k = i and i + 4, and the activations are paired likewise as they go to LDS (pair_rows).
//
// An infinity or NaN among the activations makes -base sum a infinite, and their difference NaN, whatever the
// weights; exact.cpp has what is done about it.
#pragma once

#include "generator/ir/builder.hpp"
#include "templates/problem.hpp"

namespace wavejit::templates::cdna::decode {

class Unpacker {
 public:
  explicit Unpacker(const Problem& problem);

  /// Constants that live in registers as long as the others are called. `operand_dwords`: of a matrix
  /// operand.
  void setup(ir::Builder& b, unsigned operand_dwords);

  /// quad (4 VGPRs) = the word's eight weights plus base, in pairs.
  void weights(ir::Builder& b, const isa::Operand& word, const isa::Operand& quad) const;
  /// quad = eight consecutive activations in the order of the weights' pairs.
  [[nodiscard]] isa::Operand pair_rows(ir::Builder& b, const isa::Operand& natural) const;

  /// f32 of a loaded scale.
  void scale(ir::Builder& b, const isa::Operand& raw, const isa::Operand& dst) const;
  /// dst = t / -base, which multiplies -base sum a. `raw`: additive: the float; packed: the word of eight
  /// columns, whose bit `zero_bit` on is the nibble.
  void zero_term(ir::Builder& b, const isa::Operand& raw, const isa::Operand& zero_bit,
                 const isa::Operand& scale, const isa::Operand& dst) const;

  /// Matrix operand whose elements are all -base.
  [[nodiscard]] const isa::Operand& minus_base() const { return minus_base_; }

 private:
  [[nodiscard]] bool half() const { return p_.activation == DataType::f16; }
  [[nodiscard]] isa::Operand as_f32(ir::Builder& b, const isa::Operand& raw) const;

  const Problem& p_;
  DataType scale_type_;
  bool signed_;
  isa::Operand mask_, exponent_, flip_, minus_base_, low_halves_, high_halves_, eight_, factor_;
};

}  // namespace wavejit::templates::cdna::decode
