// SPDX-License-Identifier: MIT
// Triton's BF16xINT4 row-wise kernels for gfx942 and gfx950 (shared/peers), with and without split-K, on
// the simulator against a float64 reference. Third-party code: nothing here was made for this simulator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/device/sim/simulator.hpp"

namespace wavejit::test {

struct RowwiseShape {
  std::string gemm;    ///< object, without suffix
  std::string reduce;  ///< the kernel that adds the partial sums; empty where there is one part
  std::uint32_t m = 128, n = 128, k = 256;
  /// Workgroups in x, as the object was compiled for; it deals them out to eight dies.
  std::uint32_t grid = 1;
  std::vector<std::uint64_t> workgroups;  ///< of them, those whose tile the shape has; empty = all
};

struct RowwiseOutcome {
  std::vector<sim::RunReport> runs;
  double one_minus_cosine = 1;
  double worst_error = 0;  ///< largest |error| over domain.md §3.4's bar for one element; right if <= 1
  std::uint64_t unwritten_bytes = 0;
};

/// Fails the running test where a step does.
RowwiseOutcome run_rowwise(const RowwiseShape& shape);

}  // namespace wavejit::test
