// SPDX-License-Identifier: MIT
// Private to templates/: which decode Config serves a few rows on CDNA, and what it costs by counts alone.
//
// Clocks of the fullest compute unit, with r workgroups, w waves on each of its SIMDs and i instructions of a
// wave's step:
//   issue   = steps x (4 w i + 250 / r) + 300 w      a wave issues every 4 clocks; a step has a chain of LDS,
//                                                    matrix and packed instructions that other workgroups
//                                                    hide
//   level 2 = lines of weights and activations over its bytes per clock; a load of weights takes 64 (32x32
//             instructions: 32) of a line's 128 bytes
//   DRAM    = bytes of all tensors, each once
// and the launch takes 500 for dispatch and kernel arguments, one latency of loads, the largest of these and
// 0.2 of the second. The constants come from played streams of two dozen kernels (`wavejit published`,
// model/cycles.hpp); they rank, they do not predict.
#pragma once

#include <optional>
#include <vector>

#include "templates/cdna/decode/decode.hpp"

namespace wavejit::templates::cdna::decode {

/// Modelled microseconds of a launch of `m` rows. `config` and `problem` must be normalised.
double quick_time_us(const Config& config, const Problem& problem, const target::Target& target,
                     std::int64_t m);

struct Choice {
  Config config;  ///< normalised, occupancy left to generate()
  double time_us = 0;
};
/// More are left to the tiles of templates/cdna/candidates.hpp: every tile of rows reads the weights again.
inline constexpr std::int64_t most_rows = 128;

/// The Configs weighed for `m` rows, quickest first: tiles that hold all of them, or several of 16 or 32
/// rows; one matrix tile of 32 columns or one or two of 16, 2 to 8 waves, one block of K a wave and step;
/// loads run as many steps ahead as there are, two at most. More waves or columns leave too few registers.
/// None for more than most_rows, for K = 0, or for groups that are no multiple of 64.
std::vector<Choice> ranking(const Problem& problem, const target::Target& target, std::int64_t m);
/// The first of them.
std::optional<Choice> choose(const Problem& problem, const target::Target& target, std::int64_t m);

}  // namespace wavejit::templates::cdna::decode
