// SPDX-License-Identifier: MIT
#include "tools/wavejit/run_gguf.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <random>

#include "runtime/gguf/file.hpp"
#include "tests/harness/kquant.hpp"
#include "tests/harness/kquant_quantise.hpp"
#include "tools/wavejit/json.hpp"
#include "tools/wavejit/options.hpp"
#include "tools/wavejit/run_kquant.hpp"

namespace wavejit::tools {
namespace {

namespace kquant = templates::kquant;

constexpr std::array types{kquant::Type::q4_k, kquant::Type::q5_k, kquant::Type::q6_k, kquant::Type::q8_0,
                           kquant::Type::q4_0};

std::unexpected<Error> bad(std::string field, std::string given, std::string allowed) {
  return fail_field(ErrorCode::invalid_argument, std::move(field), std::move(given), std::move(allowed));
}

/// One matrix of a tensor of the file.
struct Matrix {
  kquant::Type type = kquant::Type::q4_k;
  std::int64_t n = 0, k = 0;
  std::span<const std::byte> bytes;

  [[nodiscard]] std::vector<std::uint8_t> row(std::int64_t i) const {
    const std::size_t size = bytes.size() / static_cast<std::size_t>(n);
    const auto* at = reinterpret_cast<const std::uint8_t*>(bytes.data()) + static_cast<std::size_t>(i) * size;
    return {at, at + size};
  }
};

std::string known_tensors(const gguf::File& file) {
  std::vector<std::string> names;
  for (const gguf::Located& t : file.tensors())
    if (names.size() < 4 && t.tensor->dimensions.size() > 1) names.push_back(gguf::name_text(t.tensor->name));
  return fmt::format("one that the file has, such as {}", fmt::join(names, ", "));
}

Result<Matrix> matrix_of(const gguf::File& file, const GgufRun& options) {
  const auto found = file.find(options.tensor);
  if (!found) return bad("tensor", gguf::name_text(options.tensor), known_tensors(file));
  const gguf::Tensor& t = *found->tensor;
  if (!t.unusable.empty())
    return fail_field(ErrorCode::unsupported, gguf::name_text(t.name), t.unusable,
                      "a tensor that can be read, of type q4_k, q5_k, q6_k, q8_0 or q4_0");
  const auto* type =
      std::ranges::find(types, t.type->name, [](kquant::Type k) { return templates::name(k); });
  if (type == types.end())
    return fail_field(ErrorCode::unsupported, gguf::name_text(t.name) + ".type", std::string(t.type->name),
                      "q4_k, q5_k, q6_k, q8_0 or q4_0");
  const std::int64_t n = t.dimensions.size() > 1 ? t.dimensions[1] : 1;
  const std::int64_t matrices = t.rows() / n;
  if (options.expert < 0 || options.expert >= matrices)
    return bad("expert", std::to_string(options.expert), fmt::format("0 to {}", matrices - 1));
  const std::uint64_t size = t.row_bytes() * static_cast<std::uint64_t>(n);
  return Matrix{*type, n, t.row_elements(),
                found->bytes().subspan(static_cast<std::uint64_t>(options.expert) * size, size)};
}

Result<templates::DataType> input_type(const std::string& name) {
  for (const auto type : {templates::DataType::bf16, templates::DataType::f16, templates::DataType::f32})
    if (templates::name(type) == name) return type;
  return bad("act", name, "bf16, f16 or f32");
}

/// Workgroups that hold about `rows` rows, first and last among them; empty = all.
std::vector<std::uint64_t> spread(std::int64_t n, std::int64_t rows, unsigned rows_per_wave) {
  const std::int64_t all = (n + rows_per_wave - 1) / rows_per_wave;
  const std::int64_t wanted = std::max<std::int64_t>((rows + rows_per_wave - 1) / rows_per_wave, 2);
  std::vector<std::uint64_t> workgroups;
  if (rows == 0 || wanted >= all) return workgroups;
  for (std::int64_t i = 0; i < wanted; ++i)
    workgroups.push_back(static_cast<std::uint64_t>(i * (all - 1) / (wanted - 1)));
  return workgroups;
}

struct Outcome {
  Matrix matrix;
  harness::kquant::QuantiseReport quantised;
  harness::kquant::Report product;

  /// Empty when all is right.
  [[nodiscard]] std::string reason() const { return quantised.reason() + product.reason(); }
};

Result<Outcome> simulate(const GgufRun& options, const target::Target& target, const Matrix& matrix) {
  const kquant::Problem problem{matrix.type, matrix.n, matrix.k, static_cast<unsigned>(options.m)};
  const auto normal = kquant::normalise(problem, target);
  if (!normal) return std::unexpected(normal.error());
  const auto config = kquant::normalise(kquant::Config{}, *normal, target);
  if (!config) return std::unexpected(config.error());
  const auto input = input_type(options.activation);
  if (!input) return std::unexpected(input.error());

  std::mt19937_64 random(options.seed);
  std::normal_distribution<double> normal_values;
  std::vector<double> x(static_cast<std::size_t>(options.m * matrix.k));
  for (double& value : x) value = normal_values(random);
  const auto at = [&](std::int64_t m, std::int64_t k) { return static_cast<std::size_t>(m * matrix.k + k); };

  harness::kquant::QuantiseRequest quantise;
  quantise.problem = {*input, matrix.k, options.m};
  quantise.target = options.target;
  quantise.input = [&](std::int64_t m, std::int64_t k) { return x[at(m, k)]; };
  auto quantised = harness::kquant::quantise(quantise);
  if (!quantised) return std::unexpected(quantised.error());

  harness::kquant::Request request;
  request.problem = problem;
  request.target = options.target;
  request.weights = [&](std::int64_t n) { return matrix.row(n); };
  request.activations = [&](std::int64_t m, std::int64_t k) { return quantised->input[at(m, k)]; };
  request.quantised = quantised->bytes;
  request.workgroups = spread(matrix.n, options.rows, config->rows);
  request.traffic = true;
  auto product = harness::kquant::run(request);
  if (!product) return std::unexpected(product.error());
  return Outcome{matrix, *std::move(quantised), *std::move(product)};
}

/// What another reader of the file can be compared with: of each row that ran, the sum of its values and the
/// sum of value times place, from 1, by the oracle.
Json values_of(const Outcome& o) {
  Json rows = Json::array();
  for (const std::int64_t n : o.product.rows) {
    double sum = 0, weighted = 0, place = 0;
    for (const double value :
         oracle::kquant::dequantise(harness::kquant::oracle_type(o.matrix.type), o.matrix.row(n))) {
      sum += value;
      weighted += value * ++place;
    }
    rows.push_back({{"row", n}, {"sum", sum}, {"weighted_sum", weighted}});
  }
  return rows;
}

void print_json(const GgufRun& options, const Outcome& o, bool right) {
  const harness::WeightTraffic& t = *o.product.traffic;
  Json faults = Json::array();
  for (const sim::Fault& fault : o.product.run.faults) faults.push_back(to_json(fault));
  const Json j = {{"file", options.file},
                  {"tensor", options.tensor},
                  {"kernel", o.product.kernel},
                  {"target", options.target},
                  {"type", templates::name(o.matrix.type)},
                  {"n", o.matrix.n},
                  {"k", o.matrix.k},
                  {"m", options.m},
                  {"rows_run", o.product.rows.size()},
                  {"nmse_exact", o.product.nmse_exact()},
                  {"nmse_model", o.product.nmse_model()},
                  {"worst_exact", o.product.worst_exact()},
                  {"worst_model", o.product.worst_model()},
                  {"idle", t.idle()},
                  {"ok", right},
                  {"reason", o.reason()},
                  {"faults", faults},
                  {"rows", values_of(o)}};
  fmt::print("{}\n", j.dump(2, ' ', true, Json::error_handler_t::replace));
}

void print_text(const GgufRun& options, const Outcome& o, bool right) {
  const harness::WeightTraffic& t = *o.product.traffic;
  fmt::print("{}: {}, N = {}, K = {}, M = {}, activations {}\n", gguf::name_text(options.tensor),
             templates::name(o.matrix.type), o.matrix.n, o.matrix.k, options.m, options.activation);
  const auto ran = static_cast<std::int64_t>(o.product.rows.size());
  fmt::print("{} on {}: {} of {} rows{}, {} VGPRs, {:.2f} % of lanes idle\n", o.product.kernel,
             options.target, ran, o.matrix.n,
             ran < o.matrix.n ? ", spread over the tensor (--tensor-rows 0 runs all)" : "", o.product.vgprs,
             100 * t.idle());
  print_distance(o.product);
  if (right)
    fmt::print("verdict: right; no fault, every element stored and nothing else\n");
  else
    fmt::print("verdict: WRONG\n{}\n", o.reason());
}

}  // namespace

Result<bool> run_gguf(const GgufRun& options) {
  const target::Target* target = target::find(options.target);
  if (target == nullptr)
    return fail_field(ErrorCode::unknown_target, "target", options.target, target_names());
  if (options.m < 1 || options.m > kquant::max_m)
    return bad("m", std::to_string(options.m), fmt::format("1 to {}", kquant::max_m));
  if (options.rows < 0) return bad("tensor-rows", std::to_string(options.rows), "at least 1, or 0 for all");
  const auto file = gguf::File::open(options.file);
  if (!file) return std::unexpected(file.error());
  const auto matrix = matrix_of(*file, options);
  if (!matrix) return std::unexpected(matrix.error());
  const auto outcome = simulate(options, *target, *matrix);
  if (!outcome) return std::unexpected(outcome.error());
  const bool right = outcome->reason().empty();
  if (options.json)
    print_json(options, *outcome, right);
  else
    print_text(options, *outcome, right);
  return right;
}

}  // namespace wavejit::tools
