// SPDX-License-Identifier: MIT
// Technique 1: how eight int4 weights of one ExLlama-order word become eight 16-bit values.
// One policy per activation type and zero-point kind; the loop does not know which one it has.
#pragma once

#include <memory>
#include <string_view>

#include "generator/ir/builder.hpp"
#include "templates/problem.hpp"

namespace wavejit::templates {

class Dequantiser {
 public:
  virtual ~Dequantiser() = default;

  /// Constants that live in SGPRs for the whole kernel.
  virtual void setup(ir::Builder& b) = 0;

  /// Makes of a scale as loaded (16 bits, zero-extended) what `weights` wants, once per word column.
  virtual isa::Operand prepare_scale(ir::Builder& b, const isa::Operand& raw) = 0;

  /// quad (4 VGPRs) = the word's eight weights in K order, two per register.
  /// w(j) = (nibble(j) - 8) * scale; nibble(j) is at bit (j/2)*4 + (j%2)*16.
  virtual void weights(ir::Builder& b, const isa::Operand& word, const isa::Operand& scale,
                       const isa::Operand& quad) = 0;

  /// One sentence for the kernel's header: sequence and rounding.
  [[nodiscard]] virtual std::string_view describe() const = 0;
};

std::unique_ptr<Dequantiser> make_dequantiser(const Problem& problem, const Techniques& techniques);

/// Round-to-nearest-even of f32 `value` into the upper 16 bits of the result, 2 VALU; NaN inputs must
/// have zero low bits (weights) or be replaced by the caller (outputs). `round_up` holds 0x7FFF.
isa::Operand round_to_bf16(ir::Builder& b, const isa::Operand& value, const isa::Operand& round_up);

/// v_perm_b32 selector that packs the upper halves of (high, low).
inline constexpr std::int64_t pack_high_halves = 0x07060302;

}  // namespace wavejit::templates
