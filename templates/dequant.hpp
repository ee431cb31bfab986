// SPDX-License-Identifier: MIT
// Technique 1: how eight int4 weights of one ExLlama-order word become eight 16-bit values.
// One policy per activation type and way; each knows both kinds of zero point. The loop does not
// know which one it has: it hands over what it loaded for a column and group, gets terms back, and
// may use them for as many words of that column and group as it likes.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "generator/ir/builder.hpp"
#include "templates/problem.hpp"

namespace wavejit::templates {

/// What memory holds of one column and group, one VGPR each.
struct ColumnSource {
  isa::Operand scale;     ///< 16 bits, zero-extended; none: the terms get no scale
  isa::Operand zeros;     ///< zero points of the eight columns that share a word; none when symmetric
  isa::Operand zero_bit;  ///< 4 * (column % 8), where this column's nibble lies in `zeros`
};

/// What the weights of one column and group have in common, made once. Meaning: the policy's own.
struct ColumnTerms {
  isa::Operand scale;
  std::array<isa::Operand, 2> zero;  ///< SGPRs when symmetric, else VGPRs
};

class Dequantiser {
 public:
  virtual ~Dequantiser() = default;

  /// Constants that live in SGPRs for the whole kernel.
  virtual void setup(ir::Builder& b) = 0;

  virtual ColumnTerms terms(ir::Builder& b, const ColumnSource& source) = 0;

  /// quad (4 VGPRs) = the word's eight weights in K order, two per register.
  /// w(j) = (nibble(j) - zero) * scale; nibble(j) is at bit (j/2)*4 + (j%2)*16.
  virtual void weights(ir::Builder& b, const isa::Operand& word, const ColumnTerms& column,
                       const isa::Operand& quad) = 0;

  /// One sentence for the kernel's header: sequence and rounding.
  [[nodiscard]] virtual std::string_view describe() const = 0;
};

std::unique_ptr<Dequantiser> make_dequantiser(const Problem& problem, const Techniques& techniques);

}  // namespace wavejit::templates
