// SPDX-License-Identifier: MIT
// Rows of values -> the bytes that a kernel reads, in the layouts of the vLLM RDNA hybrid kernel
// (shared/domain.md §1.4 and §1.5) and of the CDNA int4 kernels (§1.9): one row of a tensor at a time,
// without the padding between rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/oracle/problem.hpp"

namespace wavejit::oracle {

/// K 16-bit floats of activation row `m`.
std::vector<std::uint16_t> activation_row(const Shape& shape, const Values& values, std::int64_t m);

/// K/8 words of weight row `n`; nibbles of a word, low to high, hold K offsets 0,2,4,6,1,3,5,7.
std::vector<std::uint32_t> weight_row_exllama(const Shape& shape, const Values& values, std::int64_t n);

/// K/group 16-bit floats of scale row `n`.
std::vector<std::uint16_t> scale_row(const Shape& shape, const Values& values, std::int64_t n);

/// K/2 bytes of weight row `n`: byte i holds K offset 2i in its low nibble and 2i + 1 in its high one.
std::vector<std::uint8_t> weight_row_pairs(const Shape& shape, const Values& values, std::int64_t n);

/// What a scale or an added zero is after rounding to its format.
double as_scale(const Shape& shape, double value);

/// Group-major rows of scales (source = values.scales) or added zeros (values.zeros): element [g] holds, one
/// after another in their format, group g's numbers of rows [begin, end) of the weights.
std::vector<std::vector<std::byte>> group_major(const Shape& shape, const FloatRow& source,
                                                std::int64_t begin, std::int64_t end);

/// Column n's bias.
std::uint16_t bias_element(const Shape& shape, const Values& values, std::int64_t n);

/// K/group words of zero points for rows 8*block .. 8*block+7; row n sits in nibble n % 8. Rows at
/// or beyond N leave their nibbles 0.
std::vector<std::uint32_t> zero_point_row(const Shape& shape, const Values& values, std::int64_t block);

}  // namespace wavejit::oracle
