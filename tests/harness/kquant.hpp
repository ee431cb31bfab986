// SPDX-License-Identifier: MIT
// Runs a K-quant kernel on the simulator with every check on, after the static checker found nothing, and
// compares each output with the oracle: with exactly dequantised weights and the activations as they were,
// and with the activations that the kernel read, within the bounds of docs/numerics.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/device/sim/simulator.hpp"
#include "templates/kquant/kquant.hpp"
#include "tests/harness/weight_traffic.hpp"
#include "tests/oracle/kquant.hpp"

namespace wavejit::harness::kquant {

inline constexpr unsigned product_stage = 1;

oracle::kquant::Type oracle_type(templates::GgufType type);

/// The product's kernel.
Result<templates::GeneratedKernel> generate(const templates::kquant::Problem& problem,
                                            const templates::kquant::Config& config,
                                            const target::Target& target);

struct Request {
  templates::kquant::Problem problem{};
  templates::kquant::Config config{};
  std::string target = "gfx1151";
  std::uint64_t seed = 1;
  /// Superblocks of a row of weights; unset = oracle::kquant::random_row(seed).
  std::function<std::vector<std::uint8_t>(std::int64_t n)> weights{};
  /// Activation (m, k); unset = N(0, 1) from (seed, m).
  std::function<float(std::int64_t m, std::int64_t k)> activations{};
  /// The kernel's activations in place of what the oracle makes of `activations`.
  std::vector<std::uint8_t> quantised{};
  std::vector<std::uint64_t> workgroups{};  ///< these only; empty = all
  bool traffic = false;                     ///< also count what wave 0 does to the weights
  std::vector<std::uint8_t> code_object{};  ///< in place of the generated kernel's
  sim::Options sim{};
};

struct Report {
  std::string kernel;
  templates::kquant::Config config;  ///< as the kernel has it
  unsigned vgprs = 0, scratch = 0;
  std::string checker;  ///< findings of the static checker, warnings included; empty when clean
  sim::RunReport run;
  std::vector<std::int64_t> rows;  ///< of weights that were computed
  std::vector<float> output;       ///< m x rows.size()
  std::vector<double> exact, model, exact_bound, model_bound;
  std::uint64_t unwritten_bytes = 0, stray_bytes = 0;
  std::optional<WeightTraffic> traffic;

  [[nodiscard]] double nmse_exact() const { return oracle::kquant::nmse(output, exact); }
  [[nodiscard]] double nmse_model() const { return oracle::kquant::nmse(output, model); }
  /// The largest error as a share of its bound.
  [[nodiscard]] double worst_exact() const { return worst(exact, exact_bound); }
  [[nodiscard]] double worst_model() const { return worst(model, model_bound); }
  [[nodiscard]] float at(std::int64_t m, std::int64_t row) const;
  /// Empty when nothing is wrong with the run; says nothing of the values.
  [[nodiscard]] std::string faults() const;
  /// Empty when all is right.
  [[nodiscard]] std::string reason() const;

 private:
  [[nodiscard]] double worst(const std::vector<double>& reference, const std::vector<double>& bound) const;
};

Result<Report> run(const Request& request);

/// As the contract lays them out: 320 bytes for each 256 of a row's elements, the last filled with zeros.
std::vector<std::uint8_t> pack_activations(const std::vector<oracle::kquant::Q8_1>& row);
/// The other way: the K / 32 blocks of each row.
std::vector<oracle::kquant::Q8_1> unpack_activations(std::span<const std::uint8_t> bytes, std::int64_t k);

/// True when a run went right; prints why not.
struct Outcome {
  std::string text;
  std::optional<Report> report;
  explicit operator bool() const { return text.empty(); }
};
std::ostream& operator<<(std::ostream& out, const Outcome& outcome);
Outcome passes(const Request& request);

}  // namespace wavejit::harness::kquant
