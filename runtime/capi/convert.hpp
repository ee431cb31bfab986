// SPDX-License-Identifier: MIT
// Internal: C structs -> C++ values. Enumerations that are out of range are errors, not casts.
#pragma once

#include "runtime/capi/support.hpp"
#include "runtime/engine/engine.hpp"

namespace wavejit::capi {

/// Errors: invalid_argument (struct_size, an enumeration).
Result<templates::Problem> to_problem(const wavejit_problem* problem);
Result<EngineOptions> to_options(const wavejit_engine_options* options);
/// Allocates nothing on success.
Result<Arguments> to_arguments(const wavejit_arguments* arguments);

}  // namespace wavejit::capi
