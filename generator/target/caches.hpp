// SPDX-License-Identifier: MIT
// The caches between the CUs and DRAM, by architecture: what the timing model's account of traffic
// (model/traffic.hpp) asks for. Apart from Target, which everything includes and nothing else of which needs
// them.
#pragma once

#include <cstdint>

#include "generator/target/target.hpp"

namespace wavejit::target {

struct Caches {
  std::uint64_t l2_bytes = 0;    ///< of one slice
  unsigned l2_slices = 1;        ///< XCDs: each has a level-2 cache of its own, workgroups reach them in turn
  std::uint64_t mall_bytes = 0;  ///< behind all of them; 0 = none
  double mall_gigabytes = 0;     ///< GB/s that it delivers; 0 = not known
  /// Level-1 vector cache of a CU, where the timing model accounts for what it keeps; 0 elsewhere: the RDNA
  /// constants were fitted (docs/model.md) to loads that are charged all their lines.
  std::uint64_t l1_bytes = 0;
};

/// Sizes: shared/hardware.md §1 for gfx1100, gfx1151, gfx1200, gfx1201, gfx942 and gfx950; the others are the
/// named product's vendor figures and unsure. Bandwidths: Origami's constants there, not measured.
Caches caches(const Target& target);

}  // namespace wavejit::target
