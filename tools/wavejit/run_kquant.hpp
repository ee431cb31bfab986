// SPDX-License-Identifier: MIT
// wavejit run --op kquant: quantiser and product on the simulator, judged by oracle/kquant.
#pragma once

#include <cstdint>

#include "runtime/device/sim/simulator.hpp"
#include "tests/harness/kquant.hpp"
#include "tools/wavejit/options.hpp"

namespace wavejit::tools {

struct KquantRun {
  std::size_t sample = 8;  ///< workgroups of the product; 0 = all
  std::uint64_t seed = 1;
  sim::Options sim;
  bool json = false;
};

/// The lines of a verdict, as judged.
void print_distance(const harness::kquant::Report& report);

/// Prints the report; whether all is right. Errors: invalid_argument for more rows than a launch takes, those
/// of generate() and the simulator.
Result<bool> run_kquant(const Job& job, const KquantRun& options);

}  // namespace wavejit::tools
