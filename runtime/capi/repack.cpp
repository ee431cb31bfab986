// SPDX-License-Identifier: MIT
#include "runtime/repack/repack.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/capi/support.hpp"
#include "templates/problem.hpp"

using wavejit::capi::bad_size;
using wavejit::capi::enumeration;
using wavejit::capi::failed;
using wavejit::capi::guarded;
using wavejit::capi::null_argument;
using wavejit::capi::read_struct;
using wavejit::capi::write_struct;

namespace {

namespace repack = wavejit::repack;
namespace templates = wavejit::templates;
using wavejit::ErrorCode;
using wavejit::Result;

std::unexpected<wavejit::Error> bad(std::string field, long long given, std::string allowed) {
  return wavejit::fail_field(ErrorCode::invalid_argument, std::move(field), std::to_string(given),
                             std::move(allowed));
}

Result<std::optional<repack::Tensor>> tensor(const char* name, const wavejit_host_tensor& t) {
  if (t.data == nullptr) return std::optional<repack::Tensor>();
  const auto type = enumeration<repack::Dtype>(std::string(name) + ".type", t.type, WAVEJIT_HOST_F32);
  if (!type) return std::unexpected(type.error());
  if (t.rank < 1 || t.rank > 4) return bad(std::string(name) + ".rank", t.rank, "1 to 4");
  repack::Tensor out;
  out.data = {static_cast<const std::byte*>(t.data), static_cast<std::size_t>(t.bytes)};
  out.dtype = *type;
  out.shape.assign(t.shape, t.shape + t.rank);
  if (std::any_of(t.strides, t.strides + t.rank, [](std::int64_t s) { return s != 0; }))
    out.strides.assign(t.strides, t.strides + t.rank);
  return out;
}

/// Floats that are added are no checkpoint's.
Result<repack::ZeroPoints> zero_points(const char* name, const wavejit_zero_points& z) {
  const auto kind = enumeration<templates::ZeroPoints>(name, z, WAVEJIT_PACKED);
  if (!kind) return std::unexpected(kind.error());
  return *kind == templates::ZeroPoints::symmetric ? repack::ZeroPoints::symmetric
                                                   : repack::ZeroPoints::asymmetric;
}

struct Parsed {
  repack::Plan plan;
  unsigned threads = 0;
};

Result<repack::Source> source(const wavejit_repack_request& in) {
  const auto format = enumeration<repack::Format>("format", in.format, WAVEJIT_MSLK);
  if (!format) return std::unexpected(format.error());
  const auto declared = zero_points("declared", in.declared);
  if (!declared) return std::unexpected(declared.error());
  repack::Source s;
  s.format = *format;
  s.zero_points_declared = *declared;
  auto weights = tensor("weights", in.weights);
  auto scales = tensor("scales", in.scales);
  auto zeros = tensor("zero_points", in.zero_points);
  auto g_idx = tensor("g_idx", in.g_idx);
  auto shape = tensor("weight_shape", in.weight_shape);
  for (const auto* t : {&weights, &scales, &zeros, &g_idx, &shape})
    if (!*t) return std::unexpected(t->error());
  if (!*weights) return bad("weights.data", 0, "a pointer to the weights");
  if (!*scales) return bad("scales.data", 0, "a pointer to the scales");
  s.weights = std::move(**weights);
  s.scales = std::move(**scales);
  s.zero_points = std::move(*zeros);
  s.g_idx = std::move(*g_idx);
  s.weight_shape = std::move(*shape);
  return s;
}

Result<Parsed> parse(const wavejit_repack_request* request) {
  wavejit_repack_request in{};
  if (!read_struct(in, request)) return bad_size("wavejit_repack_request", request);
  const auto from = source(in);
  if (!from) return std::unexpected(from.error());
  const auto scales = enumeration<templates::DataType>("scale_type", in.scale_type, WAVEJIT_F16);
  if (!scales) return std::unexpected(scales.error());
  const auto wanted = zero_points("zero_points_wanted", in.zero_points_wanted);
  if (!wanted) return std::unexpected(wanted.error());
  repack::Destination to;
  to.n = in.n;
  to.k = in.k;
  to.group = in.group;
  to.scales = *scales == templates::DataType::bf16 ? repack::Dtype::bf16 : repack::Dtype::f16;
  to.zero_points = *wanted;
  to.weight_stride = in.weight_stride;
  to.scale_stride = in.scale_stride;
  to.zero_point_stride = in.zero_point_stride;
  to.gathers_activations = in.gathers_activations != 0;
  auto plan = repack::plan(*from, to);
  if (!plan) return std::unexpected(plan.error());
  return Parsed{std::move(*plan), in.threads};
}

std::span<std::byte> span(void* data, std::uint64_t bytes) {
  return data == nullptr ? std::span<std::byte>()
                         : std::span(static_cast<std::byte*>(data), static_cast<std::size_t>(bytes));
}

}  // namespace

extern "C" {

wavejit_status wavejit_repack_plan(const wavejit_repack_request* request, wavejit_repack_sizes* sizes) {
  return guarded([&]() -> wavejit_status {
    if (request == nullptr) return null_argument("request");
    if (sizes == nullptr) return null_argument("sizes");
    const auto parsed = parse(request);
    if (!parsed) return failed(parsed.error());
    const repack::Plan& p = parsed->plan;
    wavejit_repack_sizes out{};
    out.weight_bytes = static_cast<std::uint64_t>(p.weights.bytes);
    out.scale_bytes = static_cast<std::uint64_t>(p.scales.bytes);
    out.zero_point_bytes = static_cast<std::uint64_t>(p.zero_points.bytes);
    out.weights_in_place = p.weights.in_place ? 1 : 0;
    out.scales_in_place = p.scales.in_place ? 1 : 0;
    out.zero_points_in_place = p.zero_points.in_place ? 1 : 0;
    out.scales_exact = p.scale_conversion.exact ? 1 : 0;
    out.permutation_count = p.permutation.size();
    return write_struct(sizes, out) ? WAVEJIT_OK : failed(bad_size("wavejit_repack_sizes", sizes).error());
  });
}

wavejit_status wavejit_repack(const wavejit_repack_request* request, void* weights, uint64_t weight_bytes,
                              void* scales, uint64_t scale_bytes, void* zero_points,
                              uint64_t zero_point_bytes, int32_t* permutation, uint64_t permutation_count) {
  return guarded([&]() -> wavejit_status {
    if (request == nullptr) return null_argument("request");
    const auto parsed = parse(request);
    if (!parsed) return failed(parsed.error());
    const repack::Plan& p = parsed->plan;
    if (!p.permutation.empty() && (permutation == nullptr || permutation_count < p.permutation.size()))
      return failed(bad("permutation_count", static_cast<long long>(permutation_count),
                        std::to_string(p.permutation.size()) + ", with a pointer: act-order sorts columns")
                        .error());
    const auto done = repack::run(
        p, {span(weights, weight_bytes), span(scales, scale_bytes), span(zero_points, zero_point_bytes)},
        parsed->threads);
    if (!done) return failed(done.error());
    std::ranges::copy(p.permutation, permutation);
    return WAVEJIT_OK;
  });
}

}  // extern "C"
