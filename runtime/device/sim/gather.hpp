// SPDX-License-Identifier: MIT
// Internal: moves whole dwords between memory, where each lane's lie together, and the register file, where
// each dword's lanes do. Lanes go four at a time through a transposition, in 16-byte vectors, which every
// 64-bit host has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wavejit::sim {

namespace detail {

using Quad = std::uint32_t __attribute__((vector_size(16)));

/// Rows to columns.
inline void transpose(Quad (&q)[4]) {
  const Quad a = __builtin_shufflevector(q[0], q[1], 0, 4, 1, 5);
  const Quad b = __builtin_shufflevector(q[2], q[3], 0, 4, 1, 5);
  const Quad c = __builtin_shufflevector(q[0], q[1], 2, 6, 3, 7);
  const Quad d = __builtin_shufflevector(q[2], q[3], 2, 6, 3, 7);
  q[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
  q[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  q[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
  q[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

template <unsigned Dwords, class F>
void gather_as(std::uint32_t* rows, std::size_t stride, unsigned count, F&& at) {
  for (unsigned l = 0; l < count; ++l) {
    std::uint32_t value[Dwords];
    std::memcpy(value, at(l), sizeof value);
    for (unsigned d = 0; d < Dwords; ++d) rows[d * stride + l] = value[d];
  }
}

}  // namespace detail

/// Lane l of row d, `stride` dwords after row d - 1, becomes dword d of what at(l) points to, for lanes below
/// `count`, a multiple of 4. `dwords`: 1..4.
template <class F>
void gather_rows(std::uint32_t* rows, std::size_t stride, unsigned count, unsigned dwords, F&& at) {
  if (dwords == 1) return detail::gather_as<1>(rows, stride, count, at);
  if (dwords == 2) return detail::gather_as<2>(rows, stride, count, at);
  if (dwords == 3) return detail::gather_as<3>(rows, stride, count, at);
  for (unsigned l = 0; l < count; l += 4) {
    detail::Quad q[4];
    for (unsigned i = 0; i < 4; ++i) std::memcpy(&q[i], at(l + i), sizeof q[i]);
    detail::transpose(q);
    for (unsigned d = 0; d < 4; ++d) std::memcpy(rows + d * stride + l, &q[d], sizeof q[d]);
  }
}

/// The way back, in the order of lanes.
template <class F>
void scatter_rows(const std::uint32_t* rows, std::size_t stride, unsigned count, unsigned dwords, F&& at) {
  if (dwords == 4) {
    for (unsigned l = 0; l < count; l += 4) {
      detail::Quad q[4];
      for (unsigned d = 0; d < 4; ++d) std::memcpy(&q[d], rows + d * stride + l, sizeof q[d]);
      detail::transpose(q);
      for (unsigned i = 0; i < 4; ++i) std::memcpy(at(l + i), &q[i], sizeof q[i]);
    }
    return;
  }
  for (unsigned l = 0; l < count; ++l) {
    std::uint8_t* p = at(l);
    for (unsigned d = 0; d < dwords; ++d) std::memcpy(p + std::size_t{4} * d, rows + d * stride + l, 4);
  }
}

}  // namespace wavejit::sim
