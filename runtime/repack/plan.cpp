// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "runtime/repack/layout.hpp"
#include "runtime/repack/permutation.hpp"
#include "runtime/repack/repack.hpp"
#include "runtime/repack/scales.hpp"
#include "runtime/repack/zero_points.hpp"

namespace wavejit::repack {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::int64_t max_dimension = 1LL << 31;
constexpr std::int64_t max_elements = 1LL << 48;
constexpr std::int64_t max_stride = 1LL << 31;  // bytes, unless dense rows are longer

std::unexpected<Error> bad(std::string field, std::string given, std::string allowed) {
  return fail_field(ErrorCode::invalid_argument, std::move(field), std::move(given), std::move(allowed));
}

std::string listed(std::span<const Dtype> types) {
  std::string text;
  for (const Dtype type : types) text += (text.empty() ? "" : " or ") + std::string(name(type));
  return text;
}

/// Fills in dense strides and checks the others: inner dense, rows apart, rows aligned.
Result<void> check_strides(const std::string& field, Tensor& t) {
  const std::int64_t size = bytes(t.dtype);
  Shape dense(t.shape.size(), size);
  for (std::size_t i = t.shape.size() - 1; i > 0; --i) dense[i - 1] = dense[i] * t.shape[i];
  if (t.strides.empty()) t.strides = dense;
  if (t.strides.size() != t.shape.size())
    return bad(field + ".strides", fmt::format("of {} dimensions", t.strides.size()),
               fmt::format("of {}, as the shape is, or empty (dense)", t.shape.size()));
  for (std::size_t i = 0; i < t.shape.size(); ++i) {
    if (t.shape[i] == 1) t.strides[i] = dense[i];  // never stepped over, and frameworks put anything there
    const bool inner = i + 1 == t.shape.size();
    const std::int64_t most = inner ? size : std::max(dense[i], max_stride);
    if (t.strides[i] < dense[i] || t.strides[i] > most || t.strides[i] % size != 0)
      return bad(fmt::format("{}.strides[{}]", field, i), fmt::format("{} bytes", t.strides[i]),
                 inner ? fmt::format("{} bytes (dense)", size)
                       : fmt::format("{} to {} bytes, a multiple of {}", dense[i], most, size));
  }
  return {};
}

/// Shapes are at least 1 and below 2^31, strides at most max_stride or dense with n * k at most max_elements:
/// sizes do not overflow.
Result<void> check_tensor(const std::string& field, Tensor& t, std::span<const Dtype> types,
                          const Shape& shape, std::string_view meaning) {
  bool known = false;
  for (const Dtype type : types) known |= type == t.dtype;
  if (!known) return bad(field + ".dtype", std::string(name(t.dtype)), listed(types));
  if (t.shape != shape)
    return bad(field + ".shape", fmt::format("[{}]", fmt::join(t.shape, ", ")),
               fmt::format("[{}], that is {}", fmt::join(shape, ", "), meaning));
  if (auto ok = check_strides(field, t); !ok) return ok;
  if (t.data.data() == nullptr) return bad(field + ".data", "null", "a pointer to the tensor");
  if (std::cmp_less(t.data.size(), extent(t)))
    return bad(field + ".data", fmt::format("{} bytes", t.data.size()),
               fmt::format("at least {} bytes for this shape", extent(t)));
  if (reinterpret_cast<std::uintptr_t>(t.data.data()) % static_cast<std::uintptr_t>(bytes(t.dtype)) != 0)
    return bad(field + ".data", "misaligned", fmt::format("aligned to {} bytes", bytes(t.dtype)));
  return {};
}

Result<void> fill_stride(const char* field, std::int64_t& stride, std::int64_t dense) {
  if (stride == 0) stride = dense;
  const std::int64_t most = std::max(dense, max_stride / 4);
  if (stride >= dense && stride <= most) return {};
  return bad(std::string("destination.") + field, std::to_string(stride),
             fmt::format("0 (dense) or {} to {}", dense, most));
}

Result<void> check_destination(Destination& d) {
  for (const auto& [field, value] : {std::pair{"destination.n", d.n}, std::pair{"destination.k", d.k}})
    if (value < 1 || value >= max_dimension) return bad(field, std::to_string(value), "1 to 2^31 - 1");
  if (d.n * d.k > max_elements) return bad("destination.n * k", std::to_string(d.n * d.k), "at most 2^48");
  if (d.group == -1) d.group = d.k;
  if (d.group < 1)
    return bad("destination.group", std::to_string(d.group), "at least 1, or -1 (one group, all of K)");
  if (d.k % d.group != 0)
    return bad("destination.k", std::to_string(d.k), fmt::format("a multiple of the group ({})", d.group));
  if (d.scales != Dtype::bf16 && d.scales != Dtype::f16)
    return bad("destination.scales", std::string(name(d.scales)), "bf16 or f16");
  if (auto ok = fill_stride("weight_stride", d.weight_stride, ceil_div(d.k, 8)); !ok) return ok;
  if (auto ok = fill_stride("scale_stride", d.scale_stride, d.k / d.group); !ok) return ok;
  return fill_stride("zero_point_stride", d.zero_point_stride, d.k / d.group);
}

/// What each format asks of N and K beyond what the tensors' shapes say.
Result<void> check_multiples(const Source& s, const Destination& d) {
  const bool gptq = s.format == Format::gptq_v1 || s.format == Format::gptq_v2;
  const std::string for_format = fmt::format(" for {}", name(s.format));
  if (gptq && d.k % 8 != 0) return bad("destination.k", std::to_string(d.k), "a multiple of 8" + for_format);
  if (d.n % 8 != 0 && (s.format == Format::awq || (gptq && s.zero_points)))
    return bad("destination.n", std::to_string(d.n),
               "a multiple of 8" + for_format + (gptq ? " with zero points" : ""));
  if (s.format == Format::mslk && d.k % 2 != 0)
    return bad("destination.k", std::to_string(d.k), "even" + for_format);
  return {};
}

Result<void> check_weights(Source& s, const Destination& d) {
  static constexpr std::array words{Dtype::i32};
  static constexpr std::array pairs{Dtype::i8, Dtype::u8};
  static constexpr std::array either{Dtype::i32, Dtype::u8, Dtype::i8};
  switch (s.format) {
    case Format::awq:
      return check_tensor("weights", s.weights, words, {d.k, d.n / 8}, "K, N/8");
    case Format::gptq_v1:
    case Format::gptq_v2:
      return check_tensor("weights", s.weights, words, {d.k / 8, d.n}, "K/8, N");
    case Format::compressed_tensors:
      return check_tensor("weights", s.weights, words, {d.n, ceil_div(d.k, 8)}, "N, ceil(K/8)");
    case Format::mslk:
      return check_tensor("weights", s.weights, pairs, {d.n, d.k / 2}, "N, K/2");
    case Format::row_major:
      if (s.weights.dtype == Dtype::i32)
        return check_tensor("weights", s.weights, words, {d.n, ceil_div(d.k, 8)}, "N, ceil(K/8)");
      return check_tensor("weights", s.weights, either, {d.n, ceil_div(d.k, 2)}, "N, ceil(K/2)");
  }
  std::unreachable();
}

Result<void> check_scale_tensor(Source& s, const Destination& d) {
  static constexpr std::array any{Dtype::f16, Dtype::bf16, Dtype::f32};
  static constexpr std::array mslk{Dtype::bf16, Dtype::f32};
  const std::span<const Dtype> types = s.format == Format::mslk ? std::span<const Dtype>(mslk) : any;
  const std::int64_t groups = d.k / d.group;
  return group_major(s.format) ? check_tensor("scales", s.scales, types, {groups, d.n}, "K/G, N")
                               : check_tensor("scales", s.scales, types, {d.n, groups}, "N, K/G");
}

Result<void> check_zero_point_tensor(Source& s, const Destination& d) {
  static constexpr std::array words{Dtype::i32};
  static constexpr std::array either{Dtype::i32, Dtype::u8};
  static constexpr std::array floats{Dtype::bf16, Dtype::f32};
  if (!s.zero_points) {
    if (s.zero_points_declared == ZeroPoints::symmetric) return {};
    return bad("zero_points", "absent", "given for a source that is declared asymmetric");
  }
  Tensor& t = *s.zero_points;
  const std::int64_t groups = d.k / d.group;
  switch (s.format) {
    case Format::mslk:
      return check_tensor("zero_points", t, floats, {groups, d.n}, "K/G, N");
    case Format::compressed_tensors:
      return check_tensor("zero_points", t, words, {ceil_div(d.n, 8), groups}, "ceil(N/8), K/G");
    case Format::row_major:
      if (t.dtype == Dtype::u8) return check_tensor("zero_points", t, either, {d.n, groups}, "N, K/G");
      return check_tensor("zero_points", t, either, {ceil_div(d.n, 8), groups}, "ceil(N/8), K/G");
    default:
      return check_tensor("zero_points", t, words, {groups, d.n / 8}, "K/G, N/8");
  }
}

Result<void> check_extras(Source& s, const Destination& d) {
  static constexpr std::array indices{Dtype::i32};
  static constexpr std::array sizes{Dtype::i64};
  const bool gptq = s.format == Format::gptq_v1 || s.format == Format::gptq_v2;
  if (s.g_idx) {
    if (!gptq) return bad("g_idx", "given", fmt::format("absent for {}", name(s.format)));
    if (auto ok = check_tensor("g_idx", *s.g_idx, indices, {d.k}, "K"); !ok) return ok;
  }
  if (!s.weight_shape) return {};
  if (s.format != Format::compressed_tensors)
    return bad("weight_shape", "given", fmt::format("absent for {}", name(s.format)));
  if (auto ok = check_tensor("weight_shape", *s.weight_shape, sizes, {2}, "N and K"); !ok) return ok;
  std::array<std::int64_t, 2> said;
  std::memcpy(said.data(), s.weight_shape->data.data(), sizeof said);
  if (said == std::array{d.n, d.k}) return {};
  return bad("weight_shape", fmt::format("{{{}, {}}}", said[0], said[1]),
             fmt::format("{{{}, {}}}, N and K of the destination", d.n, d.k));
}

Output output(std::int64_t rows, std::int64_t row_bytes, std::int64_t stride_bytes, std::int64_t alignment) {
  Output o;
  o.rows = rows;
  o.row_bytes = row_bytes;
  o.stride_bytes = stride_bytes;
  o.bytes = (rows - 1) * stride_bytes + row_bytes;
  o.alignment = alignment;
  return o;
}

/// In place needs each output element to cover the source elements that it is made of, and no others.
void decide_in_place(Output& o, const Tensor* source, bool same_order, std::int64_t source_row_bytes) {
  if (o.bytes == 0) return;
  if (source == nullptr)
    o.not_in_place_because = "the source has no such tensor";
  else if (!same_order)
    o.not_in_place_because = "the source's rows run along the other dimension";
  else if (source_row_bytes != o.row_bytes)
    o.not_in_place_because =
        fmt::format("a row of the source has {} bytes, one of the output {}", source_row_bytes, o.row_bytes);
  else if (o.rows > 1 && row_stride(*source) != o.stride_bytes)
    o.not_in_place_because = fmt::format("rows of the source are {} bytes apart, those of the output {}",
                                         row_stride(*source), o.stride_bytes);
  else if (reinterpret_cast<std::uintptr_t>(source->data.data()) % static_cast<std::uintptr_t>(o.alignment) !=
           0)
    o.not_in_place_because = fmt::format("the source is not aligned to {} bytes", o.alignment);
  o.in_place = o.not_in_place_because.empty();
}

void describe_outputs(Plan& plan) {
  const Destination& d = plan.destination;
  const Source& s = plan.source;
  const std::int64_t words = ceil_div(d.k, 8), groups = d.k / d.group;
  plan.weights = output(d.n, words * 4, d.weight_stride * 4, 4);
  decide_in_place(plan.weights, &s.weights, runs_along_k(s.format),
                  s.weights.shape[1] * bytes(s.weights.dtype));
  plan.scales = output(d.n, groups * 2, d.scale_stride * 2, 2);
  decide_in_place(plan.scales, &s.scales, !group_major(s.format), groups * bytes(s.scales.dtype));
  if (d.zero_points == ZeroPoints::symmetric) return;
  plan.zero_points = output(ceil_div(d.n, 8), groups * 4, d.zero_point_stride * 4, 4);
  const Tensor* zero_points = s.zero_points ? &*s.zero_points : nullptr;
  const bool words_along_n = zero_points != nullptr && zero_points->dtype == Dtype::i32;
  decide_in_place(plan.zero_points, zero_points, words_along_n && !group_major(s.format), groups * 4);
}

}  // namespace

Result<Plan> plan(const Source& source, const Destination& destination) {
  Plan p;
  p.source = source;
  p.destination = destination;
  Source& s = p.source;
  Destination& d = p.destination;
  Result<void> ok = check_destination(d);
  if (ok && s.format > Format::mslk)
    ok = bad("format", std::to_string(std::to_underlying(s.format)), "a Format");
  if (ok) ok = check_multiples(s, d);
  if (ok) ok = check_weights(s, d);
  if (ok) ok = check_scale_tensor(s, d);
  if (ok) ok = check_zero_point_tensor(s, d);
  if (ok) ok = check_extras(s, d);
  if (ok) ok = check_zero_points(p);
  if (!ok) return std::unexpected(std::move(ok.error()));

  auto permutation = column_order(p);
  if (!permutation) return std::unexpected(std::move(permutation.error()));
  p.permutation = std::move(*permutation);
  const auto conversion = check_scales(p);
  if (!conversion) return std::unexpected(conversion.error());
  p.scale_conversion = *conversion;
  describe_outputs(p);
  return p;
}

}  // namespace wavejit::repack
