// SPDX-License-Identifier: MIT
// What the products of a budget cost on a target: which kernel serves each, how many of its lanes idle
// (counted in the simulator), how long it takes (modelled). Equal products are looked at once.
//
// Lanes idle, of a K-quant kernel: of all lanes of the vector instructions of one wave's whole run those off
// in EXEC or out of a buffer's bounds (harness/weight_traffic), with as few rows as one wave takes. Of a
// W4A16 kernel: of the lanes of workgroup 0's memory loads those that moved nothing.
#pragma once

#include <map>
#include <optional>

#include "tools/wavejit/budget.hpp"

namespace wavejit::tools {

struct Price {
  std::string arm;                ///< "kquant q4_k", "w4a16"; "none" where nothing serves it
  std::string because;            ///< with "none"
  std::optional<double> idle;     ///< share of lanes
  std::optional<double> time_us;  ///< of one launch, M = 1
  std::string binds;              ///< the model's word: "DRAM", "VALU", ...
};

class Prices {
 public:
  explicit Prices(const target::Target& target) : target_(target) {}

  /// What is refused (by target, shape or registers) is "none" with the reason. Errors: of the simulator.
  Result<Price> of(const Served& served);

  [[nodiscard]] const target::Target& target() const { return target_; }
  /// Time in which DRAM delivers `bytes` by the target's table, microseconds.
  [[nodiscard]] double dram_us(double bytes) const { return bytes / target_.timing.dram_gigabytes * 1e-3; }

 private:
  Result<Price> price(const templates::kquant::Problem& problem);
  Result<Price> price(const templates::Problem& problem);
  Result<double> idle_lanes(const templates::kquant::Problem& problem,
                            const templates::kquant::Config& config);

  const target::Target& target_;
  std::map<std::string, Price> prices_;
  std::map<std::string, double> idle_;  ///< by type, superblocks of a row and rows of a wave
};

}  // namespace wavejit::tools
