// SPDX-License-Identifier: MIT
#include "runtime/engine/fallback.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/cache/key.hpp"
#include "runtime/hiprtc/hiprtc.hpp"
#include "templates/fields.hpp"
#include "templates/hip/sources.hpp"

namespace wavejit::engine::fallback {
namespace {

using templates::DataType;
using templates::Problem;

constexpr const char* source_file = "w4a16_gemm.hip";
constexpr const char* kernel_name = "wavejit_w4a16_gemm";
constexpr std::uint32_t explicit_bytes = 120;  // "end" of the source's table of arguments
constexpr std::int64_t largest = 1LL << 31;

std::unexpected<Error> bad(std::string field, std::int64_t given, std::string allowed) {
  return fail_field(ErrorCode::invalid_problem, std::move(field), std::to_string(given), std::move(allowed));
}

Result<void> fill(const char* field, std::int64_t& stride, std::int64_t dense) {
  if (stride == 0) stride = dense;
  if (stride < dense || stride >= largest)
    return bad(field, stride, fmt::format("0 (dense) or {} to 2^31 - 1", dense));
  return {};
}

/// Offsets: the table at the head of the source.
void add(Layout& layout, Role role, std::uint32_t offset, DataType type, std::int64_t rows,
         std::int64_t columns, std::int64_t stride) {
  Slot& slot = layout.slots[layout.count++];
  slot.role = role;
  slot.offset = offset;
  slot.size = 8;
  slot.type = type;
  slot.rows_are_m = role == Role::activations || role == Role::output;
  slot.rows = rows;
  slot.columns = columns;
  slot.stride = stride;
  slot.alignment = templates::bytes(type);
}

void constant(Layout& layout, std::uint32_t offset, std::uint32_t size, std::int64_t value) {
  Slot& slot = layout.slots[layout.count++];
  slot.role = Role::constant;
  slot.size = size;
  slot.offset = offset;
  slot.value = value;
}

}  // namespace

Result<Problem> normalise(const Problem& problem) {
  if (auto ok = templates::check_fields(problem); !ok) return std::unexpected(ok.error());
  Problem p = problem;
  if (p.op != templates::Operation::w4a16)
    return fail_field(ErrorCode::unsupported, "op", std::string(templates::name(p.op)), "w4a16");
  if (p.n < 1 || p.n >= largest) return bad("n", p.n, "1 to 2^31 - 1");
  if (p.k < 0 || p.k >= largest) return bad("k", p.k, "0 to 2^31 - 1");
  if (p.group == -1) p.group = std::max<std::int64_t>(p.k, 1);
  if (p.group < 1 || p.group >= largest) return bad("group", problem.group, "-1, or 1 to 2^31 - 1");
  const std::int64_t groups = (p.k + p.group - 1) / p.group;
  auto ok = fill("activation_stride", p.activation_stride, p.k);
  if (ok) ok = fill("weight_stride", p.weight_stride, (p.k + 7) / 8);
  if (ok) ok = fill("scale_stride", p.scale_stride, groups);
  if (p.zero_points == templates::ZeroPoints::packed) {
    if (ok) ok = fill("zero_point_stride", p.zero_point_stride, groups);
  }
  if (ok) ok = fill("output_stride", p.output_stride, p.n);
  if (!ok) return std::unexpected(ok.error());
  return p;
}

Result<cache::Key> key(const Problem& problem, const device::Info& device) {
  auto target_id = cache::canonical_target_id(device.target_id);
  if (!target_id) return std::unexpected(target_id.error());
  cache::KeyParts parts;
  parts.target_id = std::move(*target_id);
  parts.wave_size = device.wave_size;
  parts.llvm = "hiprtc";  // whichever is installed: its output is not ours to tell apart
  parts.build = cache::generator_build_id();
  parts.problem = templates::canonical(problem);
  parts.config = fmt::format("hiprtc {}", source_file);
  return cache::make_key(parts);
}

Layout layout(const Problem& p) {
  const std::int64_t groups = (p.k + p.group - 1) / p.group;
  Layout l;
  l.kernarg_bytes = explicit_bytes;
  add(l, Role::activations, 0, p.activation, 0, p.k, p.activation_stride);
  add(l, Role::weights, 8, DataType::i32, p.n, (p.k + 7) / 8, p.weight_stride);
  add(l, Role::scales, 16, p.activation, p.n, groups, p.scale_stride);
  if (p.zero_points == templates::ZeroPoints::packed)
    add(l, Role::zero_points, 24, DataType::i32, (p.n + 7) / 8, groups, p.zero_point_stride);
  add(l, Role::output, 32, p.activation, 0, p.n, p.output_stride);
  l.slots[l.count].role = Role::m;
  l.slots[l.count].size = 4;
  l.slots[l.count++].offset = 48;
  std::uint32_t offset = 52;
  for (const std::int64_t value : {p.n, p.k, p.group, groups, groups /* share: one slice */}) {
    constant(l, offset, 4, value);
    offset += 4;
  }
  for (const std::int64_t value :
       {p.activation_stride, p.weight_stride, p.scale_stride, p.zero_point_stride, p.output_stride}) {
    constant(l, offset, 8, value);
    offset += 8;
  }
  if (p.bias) add(l, Role::bias, 112, p.activation, 1, p.n, p.n);
  return l;
}

Result<cache::Bytes> compile(const Problem& p, const device::Info& device) {
  const templates::hip::Source* source = templates::hip::find_source(source_file);
  if (source == nullptr) return fail(ErrorCode::internal, fmt::format("the library lacks {}", source_file));
  std::vector<hiprtc::Header> headers;
  for (const templates::hip::Source& s : templates::hip::sources())
    if (s.name.ends_with(".h")) headers.push_back({std::string(s.name), std::string(s.text)});
  const auto flag = [](const char* name, bool on) { return fmt::format("{}={:d}", name, on); };
  const hiprtc::Options options{
      .library = {},
      .definitions = {flag("WAVEJIT_BF16", p.activation == DataType::bf16),
                      flag("WAVEJIT_ZERO_POINTS", p.zero_points == templates::ZeroPoints::packed),
                      flag("WAVEJIT_BIAS", p.bias), flag("WAVEJIT_PARTIAL", false)},
      .flags = {"-O3"}};
  auto object = hiprtc::compile(source->text, source->name, device.target_id, headers, options);
  if (!object) return std::unexpected(object.error());
  cache::Record record;
  record.kernel = kernel_name;
  record.target = device.target;
  record.workgroup_size = tile * tile;
  record.kernarg_size = explicit_bytes;
  record.code_object.resize(object->bytes.size());
  std::ranges::transform(object->bytes, record.code_object.begin(),
                         [](std::byte b) { return static_cast<std::uint8_t>(b); });
  return cache::serialise(record);
}

Result<void> agrees(const cache::Record& record, const device::Info& device) {
  if (record.target != device.target)
    return fail_field(ErrorCode::invalid_code_object, "target", record.target, device.target);
  if (record.kernel != kernel_name || record.kernarg_size != explicit_bytes ||
      record.workgroup_size != tile * tile)
    return fail_field(ErrorCode::invalid_code_object, "kernel", record.kernel, kernel_name);
  return {};
}

}  // namespace wavejit::engine::fallback
