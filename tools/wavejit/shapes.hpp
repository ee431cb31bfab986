// SPDX-License-Identifier: MIT
// Named problem sizes: the decoder GEMMs of a 4-B vision-language model with AWQ int4 weights in
// groups of 32 (shared/domain.md §0.1; o_proj is published both ways round, so both have a name).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace wavejit::tools {

struct NamedShape {
  std::string_view name;
  std::int64_t n, k, group;
};

std::span<const NamedShape> named_shapes();

/// Layers of other models (shared/domain.md §0.2) and other groups: what selection's numbers were not fitted
/// to and no reviewed choice covers.
std::span<const NamedShape> held_out_shapes();

/// nullptr for an unknown name.
const NamedShape* find_shape(std::string_view name);

/// Rows of the published prefill measurements.
inline constexpr std::int64_t published_m = 1322;

}  // namespace wavejit::tools
