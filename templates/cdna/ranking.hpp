// SPDX-License-Identifier: MIT
// The order of the Configs that serve a CDNA problem, by counts alone: selection takes the first, tuning
// times the first few, `--explain-choice` shows them.
//
// Rows fall into buckets that end at 4, 8, 16, … 8192, and one for all beyond. All rows of a bucket have the
// order that holds at its end. Tiles (candidates.hpp) and decode kernels (decode/choose.hpp) stand in one
// list; of a grouped problem decode kernels are timed for groups that are equally large.
#pragma once

#include <cstddef>
#include <vector>

#include "templates/problem.hpp"

namespace wavejit::templates::cdna {

struct Ranked {
  Config config;            ///< normalised, occupancy left to generate()
  double time_us = 0;       ///< modelled, at the bucket's end
  unsigned workgroups = 0;  ///< of a tile: resident per compute unit; decode: 0
};

/// Rows for which the bucket of `m` is ranked: the most that it holds, 16384 for the last.
std::int64_t bucket_end(std::int64_t m);

/// The `top` quickest for `m` rows of a normalised problem, quickest first; of equals tiles come first, and
/// simpler ones. Fewer where there are fewer; none where no Config that is weighed is legal.
std::vector<Ranked> ranking(const Problem& problem, const target::Target& target, std::int64_t m,
                            std::size_t top);

}  // namespace wavejit::templates::cdna
