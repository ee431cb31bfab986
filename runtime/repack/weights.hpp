// SPDX-License-Identifier: MIT
// The weight part of repacking, cut into units that may run in any order and on any thread: each output word
// belongs to one unit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/repack/repack.hpp"

namespace wavejit::repack {

std::int64_t weight_units(const Plan& plan);
void write_weights(const Plan& plan, std::byte* out, std::int64_t unit);

}  // namespace wavejit::repack
