// SPDX-License-Identifier: MIT
// A budget with its prices, as a table of 100 columns and as JSON.
//
// JSON: source, format, architecture, target, notes; tensors, each with name, type, shape, stored_bytes,
// bytes (per token), launches, n, k, nsb (K-quants: superblocks a row), kernel, idle, time_us (all launches),
// binds, because (with kernel "none"); arms, each with kernel, tensors, bytes, share, full_lane, time_us;
// totals: bytes, served_bytes, kquant_bytes, kquant_full_lane_bytes, time_us, dram_us.
#pragma once

#include "tools/wavejit/budget_price.hpp"
#include "tools/wavejit/json.hpp"

namespace wavejit::tools {

/// A kernel all of whose lanes work: at most this share of them idles.
inline constexpr double full_lanes = 0.02;

struct PricedRow {
  WeightRow row;
  Price price;

  [[nodiscard]] bool full_lane() const { return price.idle && *price.idle <= full_lanes; }
  [[nodiscard]] double time_us() const { return row.launches * price.time_us.value_or(0); }
};

struct Totals {
  double bytes = 0, served_bytes = 0;                   ///< read per token; of which by kernels of ours
  double kquant_bytes = 0, kquant_full_lane_bytes = 0;  ///< of products with Q4_K, Q5_K, Q6_K weights
  double time_us = 0;                                   ///< of the kernels, modelled
  double dram_us = 0;                                   ///< of all bytes at the rate that DRAM delivers
};

struct BudgetReport {
  Budget budget;  ///< without its rows
  std::vector<PricedRow> rows;
  const target::Target* target = nullptr;
  Totals totals;
};

/// Errors: those of Prices::of.
Result<BudgetReport> price(Budget budget, Prices& prices);

Json to_json(const BudgetReport& report);
/// `each`: a line per tensor; otherwise tensors whose names differ in numbers only share one.
void print_text(const BudgetReport& report, bool each);

}  // namespace wavejit::tools
