// SPDX-License-Identifier: MIT
#include "runtime/capi/convert.hpp"

#include <algorithm>
#include <string>

namespace wavejit::capi {
namespace {

std::unexpected<Error> bad(std::string field, long long given, std::string allowed) {
  return fail_field(ErrorCode::invalid_argument, std::move(field), std::to_string(given), std::move(allowed));
}

std::vector<std::string> split(const char* text, char separator) {
  std::vector<std::string> parts;
  const std::string_view all = text == nullptr ? "" : text;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find(separator, begin), all.size());
    if (end > begin) parts.emplace_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Result<Tensor> to_tensor(const char* name, const wavejit_tensor& t) {
  Tensor out;
  const auto type = enumeration<templates::DataType>(std::string(name) + ".type", t.type, WAVEJIT_I64);
  if (!type) return std::unexpected(type.error());
  out.type = *type;
  out.address = t.address;
  out.bytes = t.bytes;
  out.rank = t.rank;
  std::copy_n(t.shape, 4, out.shape.begin());
  std::copy_n(t.strides, 4, out.strides.begin());
  return out;
}

}  // namespace

Result<templates::Problem> to_problem(const wavejit_problem* given) {
  wavejit_problem in = WAVEJIT_PROBLEM_INIT;
  if (!read_struct(in, given)) return bad_size("wavejit_problem", given);
  templates::Problem p;
  const auto op = enumeration<templates::Operation>("operation", in.operation, WAVEJIT_INT4_GROUPED);
  const auto type = enumeration<templates::DataType>("activation", in.activation, WAVEJIT_I64);
  const auto zero = enumeration<templates::ZeroPoints>("zero_points", in.zero_points, WAVEJIT_ADDITIVE);
  const auto rounding = enumeration<templates::WeightRounding>("rounding", in.rounding, WAVEJIT_NEAREST);
  const auto weights = enumeration<templates::GgufType>("weight_type", in.weight_type, WAVEJIT_Q4_0);
  const auto scales = enumeration<templates::DataType>("scale_type", in.scale_type, WAVEJIT_I64);
  if (!op) return std::unexpected(op.error());
  if (!type) return std::unexpected(type.error());
  if (!zero) return std::unexpected(zero.error());
  if (!rounding) return std::unexpected(rounding.error());
  if (!weights) return std::unexpected(weights.error());
  if (!scales) return std::unexpected(scales.error());
  if (in.reserved != 0) return bad("reserved", in.reserved, "0");
  p.op = *op;
  p.activation = *type;
  p.zero_points = *zero;
  p.rounding = *rounding;
  p.weight_type = *weights;
  p.scale_type = *scales;
  p.n = in.n;
  p.k = in.k;
  // Zero stands for what is not set. Only where a group is needed must the caller say which.
  if (in.group != 0 || p.op != templates::Operation::kquant) p.group = in.group;
  if (in.batch != 0) p.batch = in.batch;
  p.groups = in.groups;
  p.bias = in.bias != 0;
  p.activation_stride = in.activation_stride;
  p.weight_stride = in.weight_stride;
  p.scale_stride = in.scale_stride;
  p.zero_point_stride = in.zero_point_stride;
  p.output_stride = in.output_stride;
  if (p.op == templates::Operation::int4_gemm || p.op == templates::Operation::int4_grouped)
    p.layout = templates::WeightLayout::row_major_signed;
  return p;
}

Result<EngineOptions> to_options(const wavejit_engine_options* given) {
  EngineOptions options;
  if (given == nullptr) return options;
  wavejit_engine_options in = WAVEJIT_ENGINE_OPTIONS_INIT;
  if (!read_struct(in, given)) return bad_size("wavejit_engine_options", given);
  const auto level = enumeration<LogLevel>("log_level", in.log_level, WAVEJIT_LOG_WARNING);
  if (!level) return std::unexpected(level.error());
  options.devices = split(in.devices, ',');
  if (in.cache_folder != nullptr) options.cache_folder = in.cache_folder;
  options.cache_bytes = in.cache_bytes;
  if (in.cache_lock_timeout_ms != 0)
    options.cache_lock_timeout = std::chrono::milliseconds(in.cache_lock_timeout_ms);
  options.bundles = split(in.bundles, ':');
  if (in.bundle_path_count != 0 && in.bundle_paths == nullptr)
    return fail_field(ErrorCode::invalid_argument, "bundle_paths", "NULL",
                      fmt::format("{} paths, as bundle_path_count says", in.bundle_path_count));
  for (std::size_t i = 0; i < in.bundle_path_count; ++i) {
    if (in.bundle_paths[i] == nullptr || *in.bundle_paths[i] == 0)
      return fail_field(ErrorCode::invalid_argument, fmt::format("bundle_paths[{}]", i), "nothing", "a path");
    options.bundles.emplace_back(in.bundle_paths[i]);
  }
  if (in.override_folder != nullptr) options.override_folder = in.override_folder;
  if (in.dump_folder != nullptr) options.dump_folder = in.dump_folder;
  if (in.tuning_database != nullptr) options.tuning_database = in.tuning_database;
  options.threads = in.threads;
  options.log_level = *level;
  if (in.log != nullptr)
    options.log = [log = in.log, user = in.log_user](LogLevel at, std::string_view text) {
      log(user, static_cast<wavejit_log_level>(at), std::string(text).c_str());
    };
  options.environment = in.ignore_environment == 0;
  options.check = in.skip_check == 0;
  return options;
}

Result<Arguments> to_arguments(const wavejit_arguments* given) {
  wavejit_arguments in{};
  if (!read_struct(in, given)) return bad_size("wavejit_arguments", given);
  Arguments out;
  const struct {
    const char* name;
    const wavejit_tensor& from;
    Tensor& to;
  } tensors[] = {{"activations", in.activations, out.activations},
                 {"weights", in.weights, out.weights},
                 {"scales", in.scales, out.scales},
                 {"zero_points", in.zero_points, out.zero_points},
                 {"bias", in.bias, out.bias},
                 {"output", in.output, out.output},
                 {"group_rows", in.group_rows, out.group_rows}};
  for (const auto& t : tensors) {
    auto tensor = to_tensor(t.name, t.from);
    if (!tensor) return std::unexpected(std::move(tensor.error()));
    t.to = *tensor;
  }
  out.workspace = in.workspace;
  out.workspace_bytes = in.workspace_bytes;
  return out;
}

}  // namespace wavejit::capi
