// SPDX-License-Identifier: MIT
#include "tools/wavejit/shapes.hpp"

#include <algorithm>
#include <array>

namespace wavejit::tools {
namespace {

constexpr std::array<NamedShape, 5> shapes{{{.name = "gate_up", .n = 19456, .k = 2560, .group = 32},
                                            {.name = "qkv", .n = 6144, .k = 2560, .group = 32},
                                            {.name = "o_proj", .n = 4096, .k = 2560, .group = 32},
                                            {.name = "o_proj_t", .n = 2560, .k = 4096, .group = 32},
                                            {.name = "down", .n = 2560, .k = 9728, .group = 32}}};

}  // namespace

std::span<const NamedShape> named_shapes() { return shapes; }

const NamedShape* find_shape(std::string_view name) {
  const auto* it = std::ranges::find(shapes, name, &NamedShape::name);
  return it == shapes.end() ? nullptr : it;
}

}  // namespace wavejit::tools
