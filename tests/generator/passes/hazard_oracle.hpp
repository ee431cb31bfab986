// SPDX-License-Identifier: MIT
// Looks for software-visible hazards on concrete paths by searching backwards through the plain list
// of executed instructions; shares nothing with resolve_hazards. Rules: hardware.md §2.3 and §5.1.
#pragma once

#include <optional>
#include <string>

#include "generator/ir/kernel.hpp"

namespace wavejit::test {

/// The first hazard on any path that takes no edge more than `edge_limit` times.
std::optional<std::string> hazard_on_some_path(const ir::Kernel& kernel, unsigned edge_limit);

}  // namespace wavejit::test
