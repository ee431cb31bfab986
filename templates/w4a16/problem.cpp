// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "templates/cdna/family.hpp"
#include "templates/describe.hpp"
#include "templates/w4a16/family.hpp"

namespace wavejit::templates::w4a16 {
namespace {

/// A tile's own bytes must fit a 32-bit descriptor with room for the guard value 0x80000000.
constexpr std::int64_t max_dimension = 1LL << 31;

std::unexpected<Error> bad(std::string field, std::int64_t given, std::string allowed) {
  return fail_field(ErrorCode::invalid_problem, std::move(field), std::to_string(given), std::move(allowed));
}

}  // namespace

Result<Problem> normalise(const Problem& problem, const target::Target& target) {
  Problem p = problem;
  const bool on_cdna = cdna::serves(target);
  if (target.dot2_bf16 == target::Dot2Bf16Rounding::absent && !on_cdna)
    return fail_field(ErrorCode::unsupported, "target", std::string(target.name),
                      "one with v_dot2_bf16_bf16 and WMMA, gfx11 or gfx12, or with MFMA, gfx942 or gfx950");
  if (p.n < 1 || p.n >= max_dimension) return bad("n", p.n, "between 1 and 2^31 - 1");
  const std::int64_t least_k = on_cdna ? 0 : 1;
  if (p.k < least_k || p.k >= max_dimension)
    return bad("k", p.k, fmt::format("between {} and 2^31 - 1, a multiple of the group", least_k));
  if (p.group == -1) p.group = on_cdna ? cdna::all_of_k(p) : p.k;
  if (p.group < 1 || p.group % 32 != 0)
    return bad("group", problem.group,
               problem.group == -1
                   ? fmt::format("a multiple of 32; here it is all of K, {}", p.k)
                   : std::string("a multiple of 32 that divides k, or -1 (one group, all of K)"));
  if (p.k % p.group != 0) return bad("k", p.k, fmt::format("a multiple of the group ({})", p.group));

  if (on_cdna) {
    if (p.group != 32 && p.group % 64 != 0)
      return fail_field(ErrorCode::unsupported, "group", std::to_string(p.group),
                        "32 or a multiple of 64 on CDNA");
    if (p.k % 64 != 0)
      return fail_field(ErrorCode::unsupported, "k", std::to_string(p.k), "a multiple of 64 on CDNA");
  }

  const auto activation = checked_stride("activation_stride", p.activation_stride, p.k, 8);
  const auto weight = checked_stride("weight_stride", p.weight_stride, p.k / 8, on_cdna ? 4 : 1);
  const auto scale = checked_stride("scale_stride", p.scale_stride, p.k / p.group, 1);
  const auto output = checked_stride("output_stride", p.output_stride, p.n, 1);
  const bool packed = p.zero_points == ZeroPoints::packed;
  const auto zero_point = packed ? checked_stride("zero_point_stride", p.zero_point_stride, p.k / p.group, 1)
                                 : Result<std::int64_t>(0);
  for (const auto* s : {&activation, &weight, &scale, &output, &zero_point})
    if (!*s) return std::unexpected(s->error());
  p.activation_stride = *activation;
  p.weight_stride = *weight;
  p.scale_stride = *scale;
  p.output_stride = *output;
  p.zero_point_stride = *zero_point;
  if (p.activation == DataType::f16 || target.has_cvt_pk_bf16_f32) p.rounding = WeightRounding::nearest;
  return p;
}

}  // namespace wavejit::templates::w4a16
