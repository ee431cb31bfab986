// SPDX-License-Identifier: MIT
// Every Config that selection weighs for a CDNA problem, why the others are not weighed, and what a Config
// costs by counts alone: no kernel is generated.
//
// Clocks of a workgroup's step of bk along K, r workgroups on a compute unit:
//   matrix = instructions x clocks / SIMDs          valu = weights x VALU per weight x waves_m / 64 x 4 /
//   SIMDs lds    = (reads + writes) bytes / port          level2 = lines / bytes per clock of a compute unit
//   own    = latency of a load + matrix + valu      a workgroup's own step, nothing overlapped
//   c(r)   = max(matrix, valu, lds, level2, own / r) + 0.3 of the second largest
// A workgroup adds 2.4 load latencies and two steps of matrix and VALU outside its loop; split-K adds the
// workspace's traffic and 2.4 latencies for the second kernel. DRAM traffic is a floor. The constants come
// from runs of model/estimate.hpp on a dozen kernels of both targets (tests/templates/cdna/test_select.cpp
// holds the order against it); they rank, they do not predict.
#pragma once

#include <string_view>
#include <vector>

#include "templates/problem.hpp"

namespace wavejit::templates::cdna {

struct Candidate {
  Config config;            ///< normalised, occupancy left to generate()
  unsigned registers = 0;   ///< estimate of a wave's VGPRs
  unsigned workgroups = 1;  ///< resident per compute unit
};

/// How many Configs a rule took out; each is counted by the first rule that does.
struct Pruned {
  std::string_view rule;
  unsigned count = 0;
};

struct Candidates {
  unsigned considered = 0;
  std::vector<Pruned> pruned;
  std::vector<Candidate> legal;  ///< simpler ones first
};

/// For launches of about `m` rows of a normalised problem.
Candidates candidates(const Problem& problem, const target::Target& target, std::int64_t m);

/// Modelled microseconds of a launch of `m` rows, both kernels of a split-K Config.
double quick_time_us(const Candidate& candidate, const Problem& problem, const target::Target& target,
                     std::int64_t m);

}  // namespace wavejit::templates::cdna
