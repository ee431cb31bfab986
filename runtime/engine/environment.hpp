// SPDX-License-Identifier: MIT
// Internal: environment variables stand in for options left at their defaults. The table of docs/runtime.md
// is this one.
#pragma once

#include <span>
#include <string_view>

#include "runtime/engine/engine.hpp"

namespace wavejit::engine {

struct Variable {
  std::string_view name, meaning;
};
/// Every variable that wavejit reads.
std::span<const Variable> variables();

/// A value that makes no sense is said in the log and left out.
void apply_environment(EngineOptions& options);

}  // namespace wavejit::engine
