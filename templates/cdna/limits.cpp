// SPDX-License-Identifier: MIT
#include "templates/cdna/limits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "templates/cdna/scale_layout.hpp"

namespace wavejit::templates::cdna {

Result<void> check_lds(unsigned bytes, const target::Target& target) {
  if (bytes <= target.lds_per_workgroup) return {};
  return fail_field(
      ErrorCode::out_of_lds, "lds", fmt::format("{} bytes", bytes),
      fmt::format("at most {} bytes per workgroup on {}", target.lds_per_workgroup, target.name));
}

Result<void> check_reach(const Problem& p, const Reach& reach) {
  constexpr std::int64_t limit = 0x7FFFFFF0;
  const auto extent = [&](const char* field, std::int64_t rows, std::int64_t stride_bytes) -> Result<void> {
    if (rows * stride_bytes <= limit) return {};
    return fail_field(ErrorCode::invalid_config, field, std::to_string(stride_bytes),
                      "such that the rows that a workgroup reads stay under 2 GiB");
  };
  if (auto ok = extent("activation_stride", reach.rows, p.activation_stride * 2); !ok) return ok;
  if (auto ok = extent("weight_stride", reach.columns, p.weight_stride * 4); !ok) return ok;
  const ScaleLayout scales(p);
  const std::int64_t scale_rows = scales.by_column() ? reach.columns : p.k / p.group;
  if (auto ok = extent("scale_stride", scale_rows, p.scale_stride * scales.scale_bytes()); !ok) return ok;
  if (scales.packed_zeros())
    if (auto ok = extent("zero_point_stride", reach.columns / 8 + 1, p.zero_point_stride * 4); !ok) return ok;
  return extent("output_stride", reach.output_rows, reach.output_bytes);
}

}  // namespace wavejit::templates::cdna
