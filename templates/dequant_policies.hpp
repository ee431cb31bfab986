// SPDX-License-Identifier: MIT
// Private to dequantisation: the policies' makers and what they share.
#pragma once

#include "templates/dequant.hpp"

namespace wavejit::templates {

/// Zero point of a symmetric problem.
constexpr std::uint32_t zero_symmetric = 8;

std::unique_ptr<Dequantiser> make_magic_bf16(bool packed_zeros, WeightRounding rounding);
std::unique_ptr<Dequantiser> make_magic_f16(bool packed_zeros);

/// `word` shifted right by `bits`, itself for 0.
isa::Operand shifted(ir::Builder& b, const isa::Operand& word, unsigned bits);

/// The column's zero point, 0..15, from its word of eight.
isa::Operand zero_point(ir::Builder& b, const ColumnSource& source);

}  // namespace wavejit::templates
