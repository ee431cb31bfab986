// SPDX-License-Identifier: MIT
// Private to templates/: which skinny Config serves a few rows, and what it costs by counts alone.
//
// Clocks of a launch of `m` rows, every sum over the whole machine, P = N / bn * K / 1024 passes of a wave:
//   VALU   = P (u bn + s m + (16 + t) bn m) / SIMDs; bf16: u = 29 to unpack 32 weights a lane, s = 16 for the
//            activations' sum, t = 2; f16: u = 37, s = 0, t = 1; with zero points u is 2 more
//   loads  = P (512 bn + 2048 m) / (CUs x bytes that a vector cache serves per clock)
//   level2 = lines over CUs x bytes per clock of level 2, nothing found in the vector cache: weights
//            once; activations four times in a full pass, where each of a lane's four loads touches all lines
//            of the 64 bytes that the lane takes, in narrower passes two times and once; without the pass
//            that the pipeline peels off, as in model/estimate.hpp
//   wait   = rounds of waves x (latency x passes of a wave / (1 + depth)), 12 waves a SIMD
//   DRAM   = bytes of all tensors, each once
// and the launch takes the largest of them. Counts follow the emitter.
#pragma once

#include <optional>

#include "templates/skinny/skinny.hpp"

namespace wavejit::templates::skinny {

/// VGPRs of a wave in the order of emission, at most, whatever the problem: a kernel with a budget of so many
/// compiles (fit.hpp). Counted from generated kernels with all options; what grows with the rows of weights
/// are their words, sums and products.
unsigned registers_needed(const Config& config);

struct Cost {
  double time_us = 0;
  std::string_view binds;  ///< "DRAM", "level 2", "loads", "VALU" or "latency"
};
/// `config` and `problem` must be normalised.
Cost cost(const Config& config, const Problem& problem, const target::Target& target, std::int64_t m);

struct Choice {
  Config config;  ///< normalised, occupancy left to generate()
  Cost cost;
};
/// The Config of the kernel that serves `m` rows: kernels are for 1, 2, 4, 8 and 16 rows, and
/// up to 16 rows may be twice 8. The number of waves
/// that split K depends on N and K only, so that a row's result does not depend on M. None for more than 16
/// rows, or where the target, the grid or the registers do not allow
/// for one.
std::optional<Choice> choose(const Problem& problem, const target::Target& target, std::int64_t m);

}  // namespace wavejit::templates::skinny
