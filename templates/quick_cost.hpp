// SPDX-License-Identifier: MIT
// What a Config costs by counts alone: no kernel is generated. For choosing among many; model/estimate.hpp
// plays the real instructions and is what this is fitted to (`wavejit choices` prints how well).
//
// Clocks per step of a workgroup, r of them on a WGP, every sum taken over the whole workgroup:
//   matrix = instructions x clocks / SIMDs            valu   = instructions / SIMDs
//   lds    = 4 clocks x instructions / CUs            level2 = bytes / (CUs x bytes per clock)
//   own    = 314 + 0.75 matrix + 0.64 lds             a workgroup's own work, alone
//   wait   = 0.74 latency + 0.36 level2 + 0.32 own    one step ahead; 0.55 own with a wave a SIMD or less
//          = max(own, (0.74 latency + 0.07 level2 + 1.15 own) / 2)    two steps ahead
//   c(r)   = norm12(matrix + 1.38 valu + 1.4, 1.36 lds, level2, wait / r)
// Launch: as model/estimate.hpp, with K / bk steps less those that the pipeline peels off. The numbers were
// fitted to c(r) of 620 kernels of gfx1151, of both types and both kinds of zero points (mean error 6 % alone
// on a WGP, 4 % by twos, 2 % at full residency); other targets take them over with rates and latency of their
// own. No shape was held out of that fit, but some were never looked at: `wavejit choices --held-out`.
#pragma once

#include <array>

#include "templates/candidates.hpp"

namespace wavejit::templates {

inline constexpr unsigned most_resident = 32;

/// One Config's clocks for launches that load `rows` rows of activations per tile.
class QuickCost {
 public:
  QuickCost(const Candidate& candidate, const Problem& problem, const target::Target& target, unsigned rows);

  struct Launch {
    double clocks = 0, time_us = 0;
    double per_step = 0;  ///< c(r) of the residency that decides
    unsigned resident = 0;
    std::string_view binds;  ///< "matrix + VALU", "LDS", "memory", "latency" or "DRAM"
  };
  [[nodiscard]] Launch launch(std::int64_t m) const;
  /// launch(m).time_us.
  [[nodiscard]] double time_us(std::int64_t m) const;

 private:
  [[nodiscard]] double clocks(std::int64_t m, unsigned& resident, double& dram) const;

  const target::Timing* timing_;
  double units_, columns_, steps_, outside_, drain_ = 0;
  double dram_fixed_, dram_per_row_;  ///< clocks
  unsigned bm_, workgroups_;
  double busy_, lds_, level2_, wait_;
  std::array<double, most_resident + 1> per_step_{};
};

/// Rows of activations that a tile of `candidate` loads when there are `m` in all.
unsigned rows_loaded(const Candidate& candidate, std::int64_t m);

}  // namespace wavejit::templates
