// SPDX-License-Identifier: MIT
// What the parts of repacking ask of a format and of a tensor that plan() has accepted.
#pragma once

#include <cstdint>

#include "runtime/repack/repack.hpp"

namespace wavejit::repack {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Weights are rows of N whose nibbles run along K; the other formats are rows of K or of K/8.
constexpr bool runs_along_k(Format format) {
  return format == Format::compressed_tensors || format == Format::row_major || format == Format::mslk;
}

/// Scales (and, where they are not int32 words along N, zero points) are [K/G, N] rather than [N, K/G].
constexpr bool group_major(Format format) {
  return format == Format::awq || format == Format::gptq_v1 || format == Format::gptq_v2 ||
         format == Format::mslk;
}

/// Bytes between rows; plan() has filled strides in.
inline std::int64_t row_stride(const Tensor& tensor) { return tensor.strides.front(); }

/// First to last byte.
inline std::int64_t extent(const Tensor& tensor) {
  std::int64_t total = bytes(tensor.dtype);
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) total += (tensor.shape[i] - 1) * tensor.strides[i];
  return total;
}

/// Address of element [row, column] of a matrix.
inline const std::byte* at(const Tensor& tensor, std::int64_t row, std::int64_t column) {
  return tensor.data.data() + row * tensor.strides[0] + column * bytes(tensor.dtype);
}

}  // namespace wavejit::repack
