// SPDX-License-Identifier: MIT
// The zero-point part of repacking: to int32 [ceil(N/8), K/G], row n in nibble n % 8 of word n / 8.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/repack/repack.hpp"

namespace wavejit::repack {

/// Looks at each zero point: it must fit a nibble, and be 8 where source or destination says symmetric.
Result<void> check_zero_points(const Plan& plan);

std::int64_t zero_point_units(const Plan& plan);
void write_zero_points(const Plan& plan, std::byte* out, std::int64_t unit);

}  // namespace wavejit::repack
