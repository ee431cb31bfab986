// SPDX-License-Identifier: MIT
#include "runtime/repack/scales.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "runtime/repack/bits.hpp"
#include "runtime/repack/layout.hpp"

namespace wavejit::repack {
namespace {

constexpr std::int64_t rows_per_unit = 256;
constexpr std::int64_t groups_per_pass = 32;  // one cache line of 16-bit output

/// Calls `use` with an object of the C++ type of `type`.
template <class F>
auto with_type(Dtype type, F&& use) {
  switch (type) {
    case Dtype::f16:
      return use(Eigen::half{});
    case Dtype::bf16:
      return use(Eigen::bfloat16{});
    default:
      return use(float{});
  }
}

/// Nearest, ties to even; a value of the same type keeps its bits.
template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, From>)
    return value;
  else
    return static_cast<To>(static_cast<float>(value));
}

const std::byte* source_at(const Plan& plan, std::int64_t n, std::int64_t g) {
  return group_major(plan.source.format) ? at(plan.source.scales, g, n) : at(plan.source.scales, n, g);
}

template <class From, class To>
Result<ScaleConversion> check(const Plan& plan) {
  ScaleConversion result;
  const std::int64_t groups = plan.destination.k / plan.destination.group;
  for (std::int64_t n = 0; n < plan.destination.n; ++n)
    for (std::int64_t g = 0; g < groups; ++g) {
      const auto before = static_cast<float>(load<From>(source_at(plan, n, g)));
      const auto after = static_cast<float>(static_cast<To>(before));
      if (before == after || std::isnan(before)) continue;
      if (std::isinf(after))
        return fail_field(ErrorCode::unsupported, fmt::format("scales[row {}, group {}]", n, g),
                          fmt::format("{}", before),
                          fmt::format("finite in {}, the destination's type", name(plan.destination.scales)));
      ++result.rounded;
      result.vanished += after == 0.0F;
    }
  result.exact = result.rounded == 0;
  return result;
}

template <class From, class To>
void write(const Plan& plan, std::byte* out, std::int64_t first, std::int64_t end) {
  const Tensor& source = plan.source.scales;
  const bool by_group = group_major(plan.source.format);
  const std::int64_t n_step = by_group ? bytes(source.dtype) : row_stride(source);
  const std::int64_t g_step = by_group ? row_stride(source) : bytes(source.dtype);
  const std::int64_t groups = plan.destination.k / plan.destination.group;
  for (std::int64_t g0 = 0; g0 < groups; g0 += groups_per_pass) {
    const std::int64_t g_end = std::min(groups, g0 + groups_per_pass);
    for (std::int64_t n = first; n < end; ++n)
      for (std::int64_t g = g0; g < g_end; ++g)
        store(out + n * plan.scales.stride_bytes + g * 2,
              convert<To>(load<From>(source.data.data() + n * n_step + g * g_step)));
  }
}

}  // namespace

float load_float(const std::byte* from, Dtype type) {
  return with_type(type, [&]<class T>(T) { return static_cast<float>(load<T>(from)); });
}

Result<ScaleConversion> check_scales(const Plan& plan) {
  if (plan.source.scales.dtype == plan.destination.scales) return ScaleConversion{};
  return with_type(plan.source.scales.dtype, [&]<class From>(From) {
    return plan.destination.scales == Dtype::f16 ? check<From, Eigen::half>(plan)
                                                 : check<From, Eigen::bfloat16>(plan);
  });
}

std::int64_t scale_units(const Plan& plan) { return ceil_div(plan.destination.n, rows_per_unit); }

void write_scales(const Plan& plan, std::byte* out, std::int64_t unit) {
  const std::int64_t first = unit * rows_per_unit, end = std::min(plan.destination.n, first + rows_per_unit);
  with_type(plan.source.scales.dtype, [&]<class From>(From) {
    plan.destination.scales == Dtype::f16 ? write<From, Eigen::half>(plan, out, first, end)
                                          : write<From, Eigen::bfloat16>(plan, out, first, end);
  });
}

}  // namespace wavejit::repack
