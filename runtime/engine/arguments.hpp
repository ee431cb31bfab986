// SPDX-License-Identifier: MIT
// What a caller hands to a launch: tensors in device memory, described fully enough to be checked before
// anything is enqueued. Plain values; nothing here allocates.
#pragma once

#include <array>
#include <cstdint>

#include "generator/support/error.hpp"
#include "runtime/device/device.hpp"
#include "templates/problem.hpp"

namespace wavejit::templates {
struct Launch;
}

namespace wavejit {

/// A tensor in device memory. Leading dimensions are flattened into rows when their strides allow it:
/// activations [2, 3, K] are six rows.
struct Tensor {
  device::Address address = 0;
  std::uint64_t bytes = 0;  ///< that belong to the caller from `address` on
  templates::DataType type = templates::DataType::bf16;
  unsigned rank = 0;  ///< 0 = no tensor
  std::array<std::int64_t, 4> shape{};
  /// In elements of `type`; all zero = dense, row-major.
  std::array<std::int64_t, 4> strides{};

  [[nodiscard]] bool present() const { return rank != 0 || address != 0; }
};

/// `activations` gives M: the product of all its dimensions but the last; of a batched problem that is batch
/// * M, [B, M, K] or [B * M, K] alike. `group_rows`, int64 [groups], is read by the kernels of a grouped
/// problem only; its M is that of the buffers. Weights of int4 products are int32 [sets * N, K/8] or [sets,
/// N, K/8]. GGUF weights are u8 [N, bytes of a row]. A symmetric w4a16 problem ignores zero_points, as
/// checkpoints carry redundant ones; any other tensor that the problem has no use for is an error, since
/// somebody expects it to be used.
struct Arguments {
  Tensor activations, weights, scales, zero_points, bias, output;
  device::Address workspace = 0;
  std::uint64_t workspace_bytes = 0;
  Tensor group_rows;
};

namespace engine {

enum class Role : std::uint8_t {
  activations,
  weights,
  scales,
  zero_points,
  bias,
  output,
  workspace,
  group_rows,
  m,
  constant,  ///< a number that the problem fixes
  count_
};
inline constexpr std::size_t roles = static_cast<std::size_t>(Role::count_);
inline constexpr std::size_t max_slots = 20;
const char* name(Role role);

/// One kernel argument, with what a launch must satisfy. Made from templates::Launch, the table that the
/// kernel's metadata comes from.
struct Slot {
  Role role = Role::m;
  std::uint32_t offset = 0, size = 8;  ///< in the kernarg segment
  templates::DataType type = templates::DataType::bf16;
  bool rows_are_m = false;
  std::int64_t batch = 1;              ///< times that many, when rows_are_m
  std::int64_t rows = 0, columns = 0;  ///< `rows` unused when rows_are_m
  std::int64_t stride = 0;             ///< of a row, elements
  std::uint32_t alignment = 1;
  std::int64_t value = 0;  ///< of a constant
};

inline constexpr std::size_t max_kernarg_bytes = 256;

/// The kernel arguments of one kernel.
struct Layout {
  std::array<Slot, max_slots> slots{};
  std::size_t count = 0;
  std::uint32_t kernarg_bytes = 0;
  std::uint64_t workspace_bytes = 0;

  [[nodiscard]] bool has(Role role) const;
};

/// `batch`: of the problem. Errors: internal, when the table names an argument that no launch can fill.
Result<Layout> make_layout(const templates::Launch& launch, std::int64_t batch);

/// The M that the activations of `batch` products describe. Errors: invalid_argument.
Result<std::int64_t> rows_of(const Arguments& arguments, std::int64_t batch);

/// What the kernels of a launch use of the arguments, all together.
struct Used {
  std::array<bool, roles> role{};
  std::array<std::uint64_t, roles> bytes{};  ///< from the tensor's address on
};

/// Checks every argument that a kernel of this layout uses, for `m` rows, and notes what it uses. Errors:
/// invalid_argument, naming tensor, value and what is allowed.
Result<void> check(const Layout& layout, const Arguments& arguments, std::int64_t m, Used& used);
/// Once all kernels are checked: nothing given that none uses, nothing written that lies over something else.
Result<void> check_together(const Used& used, const Arguments& arguments);
/// The kernel arguments for the `m` rows from row `first` on. Only what was checked may be packed.
void pack(const Layout& layout, const Arguments& arguments, std::int64_t first, std::int64_t m,
          std::array<std::byte, max_kernarg_bytes>& kernarg);

/// All of these for a launch of one kernel. `kernarg` is written only on success.
Result<void> bind(const Layout& layout, const Arguments& arguments, std::int64_t m,
                  std::array<std::byte, max_kernarg_bytes>& kernarg);

/// The checks that make sense when there are no rows and hence no bytes: type and columns.
Result<void> check_empty(const Layout& layout, const Arguments& arguments);

}  // namespace engine
}  // namespace wavejit
