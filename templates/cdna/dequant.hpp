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
#pragma once

#include <string_view>

#include "generator/ir/builder.hpp"
#include "templates/problem.hpp"

namespace wavejit::templates::cdna {

class Dequantiser {
 public:
  explicit Dequantiser(const Problem& problem) : p_(problem) {}

  /// Constants that live in registers for the whole kernel.
  void setup(ir::Builder& b);

  /// Pair (s, t) of one column and group from the raw scale and, where the problem has them, raw zero.
  [[nodiscard]] isa::Operand terms(ir::Builder& b, const isa::Operand& scale, const isa::Operand& zero) const;

  /// quad (4 VGPRs) = the word's eight weights.
  void weights(ir::Builder& b, const isa::Operand& word, const isa::Operand& terms,
               const isa::Operand& quad) const;

  [[nodiscard]] std::string_view describe(const target::Target& target) const;

 private:
  struct Nibbles {
    isa::Operand even, odd;  ///< bytes 0..3: k = 0,2,4,6 and 1,3,5,7, each 0..15
  };
  [[nodiscard]] Nibbles split(ir::Builder& b, const isa::Operand& word) const;
  void round(ir::Builder& b, const isa::Operand& pair, const isa::Operand& dst) const;
  [[nodiscard]] bool fused(const ir::Builder& b) const { return b.kernel().target->has_cvt_pk_bf16_f32; }

  const Problem& p_;
  isa::Operand minus_eight_, mask_, flip_, half_, pack_, round_up_;
};

}  // namespace wavejit::templates::cdna
