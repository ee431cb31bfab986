// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "templates/cdna/family.hpp"
#include "templates/describe.hpp"

namespace wavejit::templates::cdna {
namespace {

constexpr std::int64_t max_dimension = 1LL << 31;

std::unexpected<Error> bad(std::string field, std::int64_t given, std::string allowed) {
  return fail_field(ErrorCode::invalid_problem, std::move(field), std::to_string(given), std::move(allowed));
}
Result<void> check_shape(const Problem& p) {
  if (p.n < 1 || p.n >= max_dimension) return bad("n", p.n, "between 1 and 2^31 - 1");
  if (p.k < 0 || p.k >= max_dimension)
    return bad("k", p.k, "between 0 and 2^31 - 1, a multiple of the group");
  if (p.group < 1 || p.group % 64 != 0)
    return bad("group", p.group, "a multiple of 64 that divides k, or -1 (one group, all of K)");
  if (p.k % p.group != 0) return bad("k", p.k, fmt::format("a multiple of the group ({})", p.group));
  const std::int64_t products = p.op == Operation::int4_grouped ? p.groups : p.batch;
  if (p.op == Operation::int4_grouped) {
    if (p.groups < 0) return bad("groups", p.groups, "at least 0");
  } else if (p.batch < 1) {
    return bad("batch", p.batch, "at least 1");
  }
  // Rows of all products together are counted in 32 bits.
  for (const std::int64_t rows : {p.n, std::max<std::int64_t>(p.k / p.group, 1)})
    if (products > max_dimension / rows)
      return bad(p.op == Operation::int4_grouped ? "groups" : "batch", products,
                 fmt::format("at most {}: all rows are counted in 31 bits", max_dimension / rows));
  return {};
}

}  // namespace

Result<Problem> normalise(const Problem& problem, const target::Target& target) {
  Problem p = problem;
  if (p.group == -1) p.group = all_of_k(p);
  if (!serves(target))
    return fail_field(ErrorCode::unsupported, "target", std::string(target.name),
                      "one with MFMA, gfx942 or gfx950");
  if (auto ok = check_shape(p); !ok) return std::unexpected(ok.error());
  // 128-bit loads: rows of weights start at multiples of 16 bytes, which K gives them.
  const auto activation = checked_stride("activation_stride", p.activation_stride, p.k, 8);
  const auto weight = checked_stride("weight_stride", p.weight_stride, p.k / 8, 4);
  const auto scale = checked_stride("scale_stride", p.scale_stride, p.n, 1);
  const auto output = checked_stride("output_stride", p.output_stride, p.n, 1);
  for (const auto* s : {&activation, &weight, &scale, &output})
    if (!*s) return std::unexpected(s->error());
  p.activation_stride = *activation;
  p.weight_stride = *weight;
  p.scale_stride = *scale;
  p.output_stride = *output;
  if (target.has_cvt_pk_bf16_f32 || p.activation == DataType::f16) p.rounding = WeightRounding::nearest;
  return p;
}

}  // namespace wavejit::templates::cdna
