// SPDX-License-Identifier: MIT
#include "runtime/engine/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "templates/kernel.hpp"

namespace wavejit::engine {
namespace {

constexpr std::array<const char*, roles> role_names{"activations", "weights", "scales",    "zero_points",
                                                    "bias",        "output",  "workspace", "group_rows",
                                                    "m",           "constant"};

std::unexpected<Error> bad(std::string field, std::string given, std::string allowed) {
  return fail_field(ErrorCode::invalid_argument, std::move(field), std::move(given), std::move(allowed));
}

std::optional<Role> role_of(std::string_view name) {
  const auto it = std::ranges::find(role_names, name);
  if (it == role_names.end()) return std::nullopt;
  return static_cast<Role>(it - role_names.begin());
}

const Tensor* tensor(const Arguments& a, Role role) {
  switch (role) {
    case Role::activations:
      return &a.activations;
    case Role::weights:
      return &a.weights;
    case Role::scales:
      return &a.scales;
    case Role::zero_points:
      return &a.zero_points;
    case Role::bias:
      return &a.bias;
    case Role::output:
      return &a.output;
    case Role::group_rows:
      return &a.group_rows;
    default:
      return nullptr;
  }
}

std::string shape_text(const Tensor& t) {
  std::string text = "[";
  for (unsigned i = 0; i < t.rank; ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", t.shape[i]);
  return text + "]";
}

struct Matrix {
  std::int64_t rows = 0, columns = 0, stride = 0;
};

/// A tensor as rows of `stride` elements. A dimension of extent 1 may have any stride.
Result<Matrix> flatten(const Tensor& t, const char* name) {
  if (t.rank == 0 || t.rank > t.shape.size())
    return bad(fmt::format("{}.rank", name), std::to_string(t.rank), fmt::format("1 to {}", t.shape.size()));
  for (unsigned i = 0; i < t.rank; ++i)
    if (t.shape[i] < 0 || t.shape[i] > INT32_MAX)
      return bad(fmt::format("{}.shape", name), shape_text(t), "0 to 2^31 - 1 in each dimension");
  const unsigned last = t.rank - 1;
  Matrix matrix{1, t.shape[last], t.shape[last]};
  const bool dense = std::ranges::all_of(t.strides, [](std::int64_t s) { return s == 0; });
  if (!dense && t.shape[last] > 1 && t.strides[last] != 1)
    return bad(fmt::format("{}.strides", name), std::to_string(t.strides[last]), "1 in the last dimension");
  bool stride_known = dense;
  std::int64_t inner = 0;  // elements from one index to the next of what is flattened so far
  for (unsigned i = last; i-- > 0;) {
    if (t.shape[i] > 1 && !dense) {
      if (!stride_known) {
        matrix.stride = inner = t.strides[i];
        stride_known = true;
      } else if (t.strides[i] != inner) {
        return bad(fmt::format("{}.strides", name), std::to_string(t.strides[i]),
                   fmt::format("{} in dimension {}, so that its rows lie evenly apart", inner, i));
      }
      inner *= t.shape[i];
    }
    if (matrix.rows != 0 && t.shape[i] > (std::int64_t{1} << 40) / matrix.rows)
      return bad(fmt::format("{}.shape", name), shape_text(t), "fewer than 2^40 rows");
    matrix.rows *= t.shape[i];
  }
  if (!stride_known) matrix.stride = 0;  // one row: any stride
  return matrix;
}

Result<void> check_type(const Slot& slot, const Tensor& t) {
  const char* name = engine::name(slot.role);
  if (t.type != slot.type)
    return bad(fmt::format("{}.type", name), std::string(templates::name(t.type)),
               fmt::format("{}, with shape [{}, {}]", templates::name(slot.type),
                           slot.rows_are_m ? (slot.batch == 1 ? "M" : fmt::format("{} M", slot.batch))
                                           : std::to_string(slot.rows),
                           slot.columns));
  return {};
}

/// A vector may come as [n] where one row of n is asked for.
Result<void> check_shape(const Slot& slot, const Tensor& t, const Matrix& matrix, std::int64_t rows) {
  const char* name = engine::name(slot.role);
  if (matrix.columns != slot.columns || matrix.rows != rows)
    return bad(fmt::format("{}.shape", name), shape_text(t), fmt::format("[{}, {}]", rows, slot.columns));
  if (rows > 1 && matrix.stride != slot.stride)
    return bad(fmt::format("{}.strides", name), fmt::format("{} elements a row", matrix.stride),
               fmt::format("{}, as the problem was prepared", slot.stride));
  return {};
}

Result<std::uint64_t> check_tensor(const Slot& slot, const Tensor& t, std::int64_t m) {
  const char* name = engine::name(slot.role);
  const std::int64_t rows = slot.rows_are_m ? m * slot.batch : slot.rows;
  const bool empty = slot.columns == 0 || rows == 0;  // K = 0, no groups: there is nothing to point to
  if (t.address == 0 && !empty) return bad(name, "a null address", "a device address");
  if (auto ok = check_type(slot, t); !ok) return std::unexpected(ok.error());
  const auto matrix = flatten(t, name);
  if (!matrix) return std::unexpected(matrix.error());
  if (auto ok = check_shape(slot, t, *matrix, rows); !ok) return std::unexpected(ok.error());
  if (empty) return std::uint64_t{0};
  const auto needed = static_cast<std::uint64_t>(((rows - 1) * slot.stride + slot.columns) *
                                                 static_cast<std::int64_t>(templates::bytes(slot.type)));
  if (t.bytes < needed)
    return bad(fmt::format("{}.bytes", name), std::to_string(t.bytes), fmt::format("at least {}", needed));
  if (t.address % slot.alignment != 0)
    return bad(name, fmt::format("at address {:#x}", t.address),
               fmt::format("aligned to {} bytes", slot.alignment));
  if (t.address > UINT64_MAX - needed)
    return bad(name, fmt::format("at address {:#x}", t.address), "such that its bytes do not wrap around");
  return needed;
}

/// [begin, end) of what is used of a role; empty where nothing is.
struct Span {
  std::uint64_t begin = 0, end = 0;
  [[nodiscard]] bool overlaps(const Span& other) const { return begin < other.end && other.begin < end; }
};

Span span_of(const Used& used, const Arguments& a, Role role) {
  const Tensor* t = tensor(a, role);
  const std::uint64_t begin = t != nullptr ? t->address : role == Role::workspace ? a.workspace : 0;
  return {begin, begin + used.bytes[static_cast<std::size_t>(role)]};
}

/// Kernels read their inputs while they write their output and workspace, in no order that could be relied
/// on.
Result<void> check_overlap(const Used& used, const Arguments& a) {
  for (const Role written : {Role::output, Role::workspace}) {
    const Span here = span_of(used, a, written);
    for (std::size_t i = 0; i < roles; ++i) {
      const auto role = static_cast<Role>(i);
      if (role == written || !here.overlaps(span_of(used, a, role))) continue;
      return bad(engine::name(written),
                 fmt::format("at address {:#x}, which overlaps {}", here.begin, engine::name(role)),
                 "apart from every other tensor");
    }
  }
  return {};
}

Result<void> check_unused(const Used& used, const Arguments& a) {
  const auto uses = [&](Role role) { return used.role[static_cast<std::size_t>(role)]; };
  for (const Role role : {Role::scales, Role::zero_points, Role::bias, Role::group_rows}) {
    if (uses(role) || !tensor(a, role)->present()) continue;
    if (role == Role::zero_points && uses(Role::scales)) continue;  // redundant ones of a checkpoint
    return bad(engine::name(role), "given", "absent: the problem was prepared without");
  }
  return {};
}

Result<void> check_workspace(const Layout& layout, const Slot& slot, const Arguments& a) {
  if (a.workspace == 0 || a.workspace_bytes < layout.workspace_bytes)
    return bad("workspace_bytes", std::to_string(a.workspace_bytes),
               fmt::format("at least {}, at an address that is not null", layout.workspace_bytes));
  if (a.workspace % slot.alignment != 0)
    return bad("workspace", fmt::format("at address {:#x}", a.workspace),
               fmt::format("aligned to {} bytes", slot.alignment));
  if (a.workspace > UINT64_MAX - layout.workspace_bytes)
    return bad("workspace", fmt::format("at address {:#x}", a.workspace),
               "such that its bytes do not wrap around");
  return {};
}

void put(std::array<std::byte, max_kernarg_bytes>& kernarg, const Slot& slot, std::uint64_t value) {
  std::memcpy(kernarg.data() + slot.offset, &value, slot.size);  // little-endian hosts only, as HIP is
}

}  // namespace

const char* name(Role role) { return role_names[static_cast<std::size_t>(role)]; }

bool Layout::has(Role role) const {
  return std::any_of(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(count),
                     [&](const Slot& s) { return s.role == role; });
}

Result<Layout> make_layout(const templates::Launch& launch, std::int64_t batch) {
  Layout layout;
  layout.kernarg_bytes = launch.kernarg_size;
  if (launch.kernarg_size > max_kernarg_bytes || launch.arguments.size() > layout.slots.size())
    return fail(ErrorCode::internal, "a kernel has more arguments than a launch can hold");
  for (const templates::Argument& a : launch.arguments) {
    const auto role = role_of(a.name);
    if (!role || a.offset + a.size > launch.kernarg_size || a.size > 8)
      return fail(ErrorCode::internal, fmt::format("a kernel's argument '{}' cannot be filled", a.name));
    Slot& slot = layout.slots[layout.count++];
    slot.role = *role;
    slot.offset = a.offset;
    slot.size = a.size;
    if (a.kind != ir::ArgKind::buffer) continue;
    slot.type = a.dtype;
    slot.alignment = a.alignment;
    if (*role == Role::workspace) {
      layout.workspace_bytes = static_cast<std::uint64_t>(a.bytes);
      continue;
    }
    slot.rows_are_m = *role == Role::activations || *role == Role::output;
    slot.batch = batch;
    slot.rows = a.shape.size() > 1 ? a.shape[0] : 1;
    slot.columns = a.shape.back();
    slot.stride = a.shape.size() > 1 ? a.strides[0] / static_cast<std::int64_t>(templates::bytes(a.dtype))
                                     : slot.columns;
  }
  return layout;
}

Result<std::int64_t> rows_of(const Arguments& arguments, std::int64_t batch) {
  const auto matrix = flatten(arguments.activations, "activations");
  if (!matrix) return std::unexpected(matrix.error());
  if (matrix->rows % batch != 0)
    return bad("activations.shape", shape_text(arguments.activations),
               fmt::format("as many rows for each of the {} products", batch));
  return matrix->rows / batch;
}

Result<void> check(const Layout& layout, const Arguments& arguments, std::int64_t m, Used& used) {
  for (std::size_t i = 0; i < layout.count; ++i) {
    const Slot& slot = layout.slots[i];
    const auto role = static_cast<std::size_t>(slot.role);
    used.role[role] = true;
    std::uint64_t bytes = 0;
    if (const Tensor* t = tensor(arguments, slot.role)) {
      const auto needed = check_tensor(slot, *t, m);
      if (!needed) return std::unexpected(needed.error());
      bytes = *needed;
    } else if (slot.role == Role::workspace) {
      if (auto ok = check_workspace(layout, slot, arguments); !ok) return ok;
      bytes = layout.workspace_bytes;
    }
    used.bytes[role] = std::max(used.bytes[role], bytes);
  }
  return {};
}

Result<void> check_together(const Used& used, const Arguments& arguments) {
  if (auto ok = check_unused(used, arguments); !ok) return ok;
  return check_overlap(used, arguments);
}

void pack(const Layout& layout, const Arguments& arguments, std::int64_t first, std::int64_t m,
          std::array<std::byte, max_kernarg_bytes>& kernarg) {
  for (std::size_t i = 0; i < layout.count; ++i) {
    const Slot& slot = layout.slots[i];
    const Tensor* t = tensor(arguments, slot.role);
    const std::int64_t before =
        slot.rows_are_m ? first * slot.stride * static_cast<std::int64_t>(templates::bytes(slot.type)) : 0;
    put(kernarg, slot,
        t != nullptr                   ? t->address + static_cast<std::uint64_t>(before)
        : slot.role == Role::workspace ? arguments.workspace
        : slot.role == Role::constant  ? static_cast<std::uint64_t>(slot.value)
                                       : static_cast<std::uint64_t>(m));
  }
}

Result<void> bind(const Layout& layout, const Arguments& arguments, std::int64_t m,
                  std::array<std::byte, max_kernarg_bytes>& kernarg) {
  Used used;
  if (auto ok = check(layout, arguments, m, used); !ok) return ok;
  if (auto ok = check_together(used, arguments); !ok) return ok;
  pack(layout, arguments, 0, m, kernarg);
  return {};
}

Result<void> check_empty(const Layout& layout, const Arguments& arguments) {
  for (std::size_t i = 0; i < layout.count; ++i) {
    const Slot& slot = layout.slots[i];
    if (!slot.rows_are_m) continue;
    const Tensor& t = *tensor(arguments, slot.role);
    if (auto ok = check_type(slot, t); !ok) return ok;
    const auto matrix = flatten(t, name(slot.role));
    if (!matrix) return std::unexpected(matrix.error());
    if (auto ok = check_shape(slot, t, *matrix, 0); !ok) return ok;
  }
  return {};
}

}  // namespace wavejit::engine
