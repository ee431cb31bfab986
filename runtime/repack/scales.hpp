// SPDX-License-Identifier: MIT
// The scale part of repacking: to [N, K/G], in the destination's type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/repack/repack.hpp"

namespace wavejit::repack {

/// Looks at each scale if the type changes; refuses those that would overflow.
Result<ScaleConversion> check_scales(const Plan& plan);

std::int64_t scale_units(const Plan& plan);
void write_scales(const Plan& plan, std::byte* out, std::int64_t unit);

/// bf16, f16 or f32 bits at `from` as a float: exact.
float load_float(const std::byte* from, Dtype type);

}  // namespace wavejit::repack
