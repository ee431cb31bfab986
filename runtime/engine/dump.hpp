// SPDX-License-Identifier: MIT
// Internal: writes compiled kernels for people to read: <kernel>.<key digest>.s, .hsaco and .key. The `.s`,
// edited and renamed to <key digest>.s or <kernel>.s, may go into the override folder.
#pragma once

#include <string>
#include <string_view>

#include "templates/kernel.hpp"

namespace wavejit::engine {

/// Each file appears whole or not at all. Errors: io.
Result<void> dump_kernel(const std::string& folder, std::string_view digest, std::string_view key_text,
                         const templates::GeneratedKernel& kernel);

}  // namespace wavejit::engine
