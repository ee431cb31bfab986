// SPDX-License-Identifier: MIT
// The two 16-bit float formats of activations, scales and outputs, and their conversions. Written
// from IEEE 754-2019 (binary16) and from bfloat16's definition as the high half of binary32; used by
// the oracle only, so that a mistake in the simulator or a template cannot hide in shared code.
#pragma once

#include <cstdint>

namespace wavejit::oracle {

enum class Format : std::uint8_t { bf16, f16 };

/// Nearest value of `format`, ties to even; overflow gives infinity, NaN stays NaN (quiet).
std::uint16_t encode(double value, Format format);

/// Toward zero, as a truncating instruction does; overflow gives the largest finite value.
std::uint16_t encode_truncated(double value, Format format);

/// Exact.
double decode(std::uint16_t bits, Format format);

/// Smallest magnitude that rounds to infinity (65520 for f16).
double overflow_threshold(Format format);

}  // namespace wavejit::oracle
