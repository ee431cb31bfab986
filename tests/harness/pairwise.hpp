// SPDX-License-Identifier: MIT
// Pairwise-covering test rows: for factors with a few levels each, a short list of rows in which every
// admissible pair of levels of two factors occurs. Greedy: each row starts from a pair not yet met and
// gives every further factor the level that meets most new pairs; the same list every time.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace wavejit::harness {

/// Level per factor; -1 = not chosen yet.
using Row = std::vector<int>;

/// Whether a row that is complete, or has -1 in places, breaks no rule between the levels it has.
using Admits = std::function<bool(const Row& row)>;

/// `levels[f]` = number of levels of factor f. A pair is admissible when some complete row that `admits`
/// takes has it; `admits` must refuse a partial row only if no completion of it is admitted.
std::vector<Row> pairwise(const std::vector<int>& levels, const Admits& admits);

}  // namespace wavejit::harness
