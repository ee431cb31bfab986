// SPDX-License-Identifier: MIT
#include "runtime/repack/repack.hpp"

namespace wavejit::repack {
namespace {

std::int64_t fork_weights(std::int64_t row_bytes) {
  const std::int64_t r = row_bytes % 512;
  if (r == 0) return row_bytes + 256;
  if (r % 128 == 0) return row_bytes;
  const std::int64_t padded = (row_bytes + 127) / 128 * 128;
  return padded % 512 == 0 ? padded + 128 : padded;
}

std::int64_t pad_multiples(std::int64_t row_bytes, std::int64_t of) {
  return row_bytes % of == 0 ? row_bytes + 128 : row_bytes;
}

}  // namespace

std::int64_t recommended_stride(PaddingRule rule, PaddedTensor tensor, std::int64_t row_bytes) {
  if (rule == PaddingRule::none) return row_bytes;
  const bool fork = rule == PaddingRule::fork;
  switch (tensor) {
    case PaddedTensor::weights:
      return fork ? fork_weights(row_bytes) : pad_multiples(row_bytes, 1024);
    case PaddedTensor::scales:
      return fork ? pad_multiples(row_bytes, 512) : row_bytes;
    case PaddedTensor::activations:
      return pad_multiples(row_bytes, 2048);
  }
  return row_bytes;
}

}  // namespace wavejit::repack
