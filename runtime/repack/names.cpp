// SPDX-License-Identifier: MIT
#include <array>

#include "runtime/repack/repack.hpp"

namespace wavejit::repack {

std::string_view name(Format format) {
  constexpr std::array<std::string_view, 6> names{"awq",       "gptq", "gptq_v2", "compressed-tensors",
                                                  "row-major", "mslk"};
  const auto index = static_cast<std::size_t>(format);
  return index < names.size() ? names[index] : "unknown";
}

std::string_view name(Dtype type) {
  constexpr std::array<std::string_view, 7> names{"u8", "i8", "i32", "i64", "f16", "bf16", "f32"};
  const auto index = static_cast<std::size_t>(type);
  return index < names.size() ? names[index] : "unknown";
}

std::int64_t bytes(Dtype type) {
  constexpr std::array<std::int64_t, 7> sizes{1, 1, 4, 8, 2, 2, 4};
  return sizes[static_cast<std::size_t>(type)];
}

}  // namespace wavejit::repack
