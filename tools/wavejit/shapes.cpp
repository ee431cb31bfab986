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

constexpr std::array<NamedShape, 8> held_out{{{.name = "qwen8_gate_up", .n = 24576, .k = 4096, .group = 128},
                                              {.name = "qwen8_down", .n = 4096, .k = 12288, .group = 128},
                                              {.name = "qwen7_qkv", .n = 4608, .k = 3584, .group = 128},
                                              {.name = "qwen7_down", .n = 3584, .k = 18944, .group = 64},
                                              {.name = "qwen1_down", .n = 2048, .k = 6144, .group = 128},
                                              {.name = "gemma31_o", .n = 5376, .k = 8192, .group = 32},
                                              {.name = "gemma31_qkv", .n = 16384, .k = 5376, .group = 32},
                                              {.name = "probe", .n = 512, .k = 8192, .group = 64}}};

}  // namespace

std::span<const NamedShape> held_out_shapes() { return held_out; }

std::span<const NamedShape> named_shapes() { return shapes; }

const NamedShape* find_shape(std::string_view name) {
  const auto* it = std::ranges::find(shapes, name, &NamedShape::name);
  return it == shapes.end() ? nullptr : it;
}

}  // namespace wavejit::tools
