// SPDX-License-Identifier: MIT
// Judges an output against the reference. A cosine alone forgives a wrong scale in one group, so a
// verdict needs all of: NMSE (overall and of the worst row and column), the elementwise bar |e| <= a |ref| +
// b size, the gain <out, ref> / <ref, ref>, and NaN and infinity exactly where the reference has them. `size`
// is product.hpp's. Bars of many elements: shared/domain.md §3.4, derived there by simulation; of few they
// are as much wider as docs/numerics.md says, so that no right result fails.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tests/oracle/format.hpp"
#include "tests/oracle/product.hpp"

namespace wavejit::oracle {

/// How the kernel under test rounds a dequantised weight to the format.
enum class WeightRounding : std::uint8_t { nearest, toward_zero };

struct Bars {
  double nmse = 0;
  double relative = 0;  ///< a
  double of_size = 0;   ///< b
  double gain_low = 0, gain_high = 0;
};

/// Of very many elements.
Bars bars(Format format, WeightRounding rounding);

struct Metrics {
  std::int64_t elements = 0;            ///< compared in all
  std::int64_t finite = 0;              ///< of which the reference is finite; the numbers below are theirs
  std::int64_t special_mismatches = 0;  ///< NaN or infinity in one and not in the other
  double one_minus_cosine = 0;
  double nmse = 0;              ///< sum e^2 / max(sum ref^2, sum size^2)
  double worst_line_nmse = 0;   ///< of a single row or column, as a multiple of what it may be
  double worst_error = 0;       ///< max |e| / (a |ref| + b size); above 1 fails
  double max_error_of_rms = 0;  ///< max |e| / rms(ref)
  double gain = 1;
  std::int64_t worst_row = -1, worst_column = -1;  ///< where worst_error is, in the output
  double worst_got = 0, worst_reference = 0;
};

struct Verdict {
  Metrics metrics;
  Bars bars;  ///< as judged, with the margins of this many elements
  bool ok = false;
  std::string reason;  ///< empty when ok; else every bar that failed, with numbers
};

/// `got`: bits of the output's block, row-major, block.rows() x block.columns(). `reference` is
/// reference() of the same block. Elements near the format's overflow may be infinite or finite.
Verdict compare(const Reference& reference, std::span<const std::uint16_t> got, const Block& block,
                Format format, WeightRounding rounding);

/// Several verdicts of one output as one: the worst of each metric, ok only if all are.
Verdict merge(std::span<const Verdict> verdicts);

}  // namespace wavejit::oracle
