// SPDX-License-Identifier: MIT
#include "tests/harness/run_checkpoint.hpp"

#include <cstring>
#include <memory>
#include <utility>

#include "runtime/repack/problem.hpp"
#include "tests/harness/checkpoint.hpp"

namespace wavejit::harness {
namespace {

using repack::test::Checkpoint;
using repack::test::Matrix;

/// Of a vector: one row.
Matrix matrix_of(const repack::Tensor& t) {
  const bool vector = t.shape.size() == 1;
  Matrix m(t.dtype, vector ? 1 : t.shape[0], vector ? t.shape[0] : t.shape[1]);
  std::memcpy(m.memory().data(), t.data.data(), t.data.size());
  return m;
}

std::optional<Matrix> matrix_of(const std::optional<repack::Tensor>& t) {
  return t ? std::optional(matrix_of(*t)) : std::nullopt;
}

Checkpoint elements_of(const checkpoint::Layer& layer) {
  Checkpoint c;
  c.format = layer.source.format;
  c.n = layer.n;
  c.k = layer.k;
  c.group = layer.group;
  c.declared = layer.source.zero_points_declared;
  c.weights = matrix_of(layer.source.weights);
  c.scales = matrix_of(layer.source.scales);
  c.zero_points = matrix_of(layer.source.zero_points);
  c.g_idx = matrix_of(layer.source.g_idx);
  return c;
}

oracle::FloatRow activations_of(const Request& request) {
  return request.values ? request.values->activations : oracle::random_values(request.seed).activations;
}

/// Columns in the checkpoint's order; with a g_idx each has its own scale and zero point.
Reference reference_of(const checkpoint::Layer& layer, const Request& request) {
  const auto c = std::make_shared<const Checkpoint>(elements_of(layer));
  const auto bias = std::make_shared<const std::optional<Matrix>>(matrix_of(layer.bias));
  const bool by_column = c->g_idx.has_value();
  const auto group = [c, by_column](std::int64_t g) { return by_column ? c->group_of(g) : g; };
  Reference r;
  r.group = by_column ? 1 : c->group;
  r.values.activations = activations_of(request);
  r.values.nibbles =
      oracle::each_nibble([c](std::int64_t n, std::int64_t k) { return static_cast<int>(c->nibble(n, k)); });
  r.values.scales =
      oracle::each([c, group](std::int64_t n, std::int64_t g) { return c->scale(n, group(g)); });
  r.values.zero_points = oracle::each_nibble(
      [c, group](std::int64_t n, std::int64_t g) { return static_cast<int>(c->zero_point(n, group(g))); });
  if (*bias) r.values.bias = [bias](std::int64_t n) { return (*bias)->number(0, n); };
  return r;
}

/// What the kernel gets: column k is column order[k] of the checkpoint.
oracle::FloatRow gathered(oracle::FloatRow row, std::vector<std::int32_t> order) {
  if (order.empty()) return row;
  return [row = std::move(row), order = std::move(order)](std::int64_t m, std::span<double> out) {
    std::vector<double> whole(out.size());
    row(m, whole);
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = whole[static_cast<std::size_t>(order[k])];
  };
}

PackedRows room(const repack::Output& o) {
  return {std::vector<std::byte>(static_cast<std::size_t>(o.bytes)), o.rows, o.row_bytes};
}

}  // namespace

templates::Problem problem_of(const checkpoint::Layer& layer, const templates::Problem& like) {
  templates::Problem p = like;
  p.n = layer.n;
  p.k = layer.k;
  p.group = layer.group;
  p.zero_points = layer.source.zero_points_declared == repack::ZeroPoints::asymmetric
                      ? templates::ZeroPoints::packed
                      : templates::ZeroPoints::symmetric;
  p.bias = layer.bias.has_value();
  return p;
}

Result<CheckpointReport> run_checkpoint(const checkpoint::Layer& layer, Request request,
                                        const checkpoint::Layer* judge) {
  repack::Destination destination = repack::destination(request.problem);
  destination.gathers_activations = true;
  const auto plan = repack::plan(layer.source, destination);
  if (!plan) return std::unexpected(layer.in_names_of_file(plan.error()));
  PackedRows weights = room(plan->weights), scales = room(plan->scales),
             zero_points = room(plan->zero_points);
  if (auto ok = repack::run(*plan, {weights.bytes, scales.bytes, zero_points.bytes}); !ok)
    return std::unexpected(ok.error());
  request.reference = reference_of(judge == nullptr ? layer : *judge, request);
  oracle::Values values;  // of the tensors that nobody packed
  values.activations = gathered(request.reference->values.activations, plan->permutation);
  values.bias = request.reference->values.bias;
  request.values = std::move(values);
  request.packed["weights"] = std::move(weights);
  request.packed["scales"] = std::move(scales);
  if (plan->zero_points.bytes != 0) request.packed["zero_points"] = std::move(zero_points);
  auto report = run(request);
  if (!report) return std::unexpected(report.error());
  return CheckpointReport{*std::move(report), plan->scale_conversion, !plan->permutation.empty()};
}

}  // namespace wavejit::harness
