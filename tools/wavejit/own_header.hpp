// SPDX-License-Identifier: MIT
// What a `.s` of ours says of itself in its first comment lines: templates::canonical() of its Problem and of
// its Config. Where a Config runs several kernels, stages.hpp tells which of them it is.
#pragma once

#include <optional>
#include <string_view>

#include "generator/support/error.hpp"
#include "templates/problem.hpp"

namespace wavejit::tools {

struct OwnHeader {
  templates::Problem problem;
  templates::Config config;
};

/// Both normalised. Nothing when the text does not begin like a `.s` of ours. Errors: invalid_argument for a
/// header with a word that is not understood, those of normalise().
Result<std::optional<OwnHeader>> read_own_header(std::string_view text, const target::Target& target);

}  // namespace wavejit::tools
