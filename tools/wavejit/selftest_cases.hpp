// SPDX-License-Identifier: MIT
// What `wavejit selftest` runs: every form of every operation that a target serves, and a case for each kind
// of kernel that selection ever chooses there; and what it does not run, with the reason.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/target/target.hpp"
#include "templates/problem.hpp"

namespace wavejit::tools {

struct SelftestCase {
  templates::Problem problem;
  std::int64_t m = 1;                         ///< of a grouped product: rows of all groups
  std::vector<std::int64_t> group_rows = {};  ///< of a grouped product
};

struct NotRun {
  std::string what, why;
};

struct SelftestPlan {
  std::vector<SelftestCase> cases;
  std::vector<NotRun> not_run;
};

/// The kinds of kernel that `config` runs for the problem: "w4a16 skinny", "int4_gemm mfma split-k batched",
/// "kquant gemv q4_k" with "kquant quantise bf16".
std::vector<std::string> kinds_of(const templates::Problem& problem, const templates::Config& config);

/// A GPU also gets shapes of real layers, which take the simulator too long.
SelftestPlan selftest_plan(const target::Target& target, bool gpu);

}  // namespace wavejit::tools
