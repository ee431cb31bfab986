// SPDX-License-Identifier: MIT
// GPTQ act-order: g_idx -> the order of columns that makes groups contiguous.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/repack/repack.hpp"

namespace wavejit::repack {

/// Empty where columns already lie group after group. Errors: see plan().
Result<std::vector<std::int32_t>> column_order(const Plan& plan);

}  // namespace wavejit::repack
