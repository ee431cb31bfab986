// SPDX-License-Identifier: MIT
// How eight int4 weights of one word become eight 16-bit values on CDNA, in K order, two per register.
//
// Signed nibbles q (low nibble of a byte = even k): flipping bit 3 of each makes n = q + 8 >= 0, masks leave
// one nibble per byte, v_cvt_f32_ubyte0..3 converts, v_pk_fma_f32 computes two of n * s + t with
// t = z - 8 s, and pairs are rounded to bf16. q * s is exact in f32 for 16-bit scales (domain.md §3.1); t is
// rounded once to f32 where there are zeros, 2^-24 of a weight's range.
// Rounding: gfx950 has v_cvt_pk_bf16_f32 (nearest even). gfx942 adds half a unit of the last place to both
// values with one 64-bit addition and keeps the upper halves, which differs from nearest even at ties only
// (away from zero; no carry leaves a finite f32); WeightRounding::nearest takes 1.5 more VALU per weight.
// VALU per weight without terms(): gfx950 2.375, gfx942 3.0 (4.5 nearest).
// W4A16 (ExLlama order, integer zero points): nibbles are unsigned already, t = -zero * s, and the bytes of
// the two masked words hold k = 0,4,1,5 and 2,6,3,7. f16: v_cvt_f16_f32 twice and v_pack_b32_f16.
#pragma once

#include <string>

#include "generator/ir/builder.hpp"
#include "templates/problem.hpp"
#include "templates/round.hpp"

namespace wavejit::templates::cdna {

class Dequantiser {
 public:
  explicit Dequantiser(const Problem& problem);

  /// Constants that live in registers for the whole kernel.
  void setup(ir::Builder& b);

  /// What memory holds of one column and group, one VGPR each.
  struct Source {
    isa::Operand scale;
    isa::Operand zero;      ///< additive: the float; packed: the word of eight columns; none without
    isa::Operand zero_bit;  ///< packed: 4 * (column % 8)
  };
  /// Pair (s, t) of one column and group.
  [[nodiscard]] isa::Operand terms(ir::Builder& b, const Source& source) const;

  /// quad (4 VGPRs) = the word's eight weights.
  void weights(ir::Builder& b, const isa::Operand& word, const isa::Operand& terms,
               const isa::Operand& quad) const;

  [[nodiscard]] std::string describe(const target::Target& target) const;

 private:
  struct Nibbles {
    isa::Operand low, high;  ///< of each byte, 0..15
  };
  [[nodiscard]] Nibbles split(ir::Builder& b, const isa::Operand& word) const;
  void round(ir::Builder& b, const isa::Operand& pair, const isa::Operand& dst) const;
  [[nodiscard]] bool fused(const ir::Builder& b) const { return b.kernel().target->has_cvt_pk_bf16_f32; }

  [[nodiscard]] isa::Operand as_f32(ir::Builder& b, const char* name, const isa::Operand& raw) const;

  const Problem& p_;
  DataType scale_type_;
  bool signed_;
  PairRounder half_rounder_;  ///< f16
  isa::Operand minus_eight_, mask_, flip_, half_, pack_, round_up_;
};

}  // namespace wavejit::templates::cdna
