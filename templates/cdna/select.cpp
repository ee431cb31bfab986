// SPDX-License-Identifier: MIT
// Selection: rows fall into buckets that end at 4, 8, 16, … 8192 and one for all beyond; each takes the
// candidate that is quickest at its end (candidates.hpp), among them a decode kernel (decode/choose.hpp).
#include <algorithm>
#include <limits>

#include "templates/cdna/candidates.hpp"
#include "templates/cdna/decode/choose.hpp"
#include "templates/cdna/family.hpp"

namespace wavejit::templates::cdna {
namespace {

constexpr std::int64_t first_bucket = 4, last_bucket = 16384;

/// Grouped products: of groups that are equally large.
std::int64_t rows_of_a_product(const Problem& p, std::int64_t m) {
  if (p.op != Operation::int4_grouped) return m;
  return (m + std::max<std::int64_t>(p.groups, 1) - 1) / std::max<std::int64_t>(p.groups, 1);
}

/// The Config for buckets that end at `m`. Errors: why the plainest one will not do, when none will.
Result<Config> quickest(const Problem& problem, const target::Target& target, std::int64_t m) {
  const Candidates all = candidates(problem, target, m);
  const Candidate* best = nullptr;
  double best_time = std::numeric_limits<double>::infinity();
  for (const Candidate& c : all.legal) {
    const double time = quick_time_us(c, problem, target, m);
    if (time >= best_time) continue;
    best = &c;
    best_time = time;
  }
  if (const auto few = decode::choose(problem, target, rows_of_a_product(problem, m));
      few && few->time_us < best_time)
    return few->config;
  if (best != nullptr) return best->config;
  Config plain;
  plain.path = Path::mfma;
  plain.bm = 32;
  plain.bn = 64;
  plain.bk = 64;
  plain.waves = 2;
  plain.lds_buffers = 1;
  return cdna::normalise(plain, problem, target);
}

}  // namespace

Result<std::vector<Selection>> select(const Problem& problem, const target::Target& target,
                                      std::int64_t first, std::int64_t last) {
  std::vector<Selection> selections;
  for (std::int64_t m = first; m <= last;) {
    std::int64_t end = first_bucket;
    while (end < m && end < last_bucket) end *= 2;
    const std::int64_t reach = end >= last_bucket ? last : std::min(end, last);
    const auto config = quickest(problem, target, end);
    if (!config) return std::unexpected(config.error());
    if (!selections.empty() && canonical(selections.back().config) == canonical(*config)) {
      selections.back().last = reach;
    } else {
      selections.push_back(Selection{m, reach, *config});
    }
    m = reach + 1;
  }
  return selections;
}

}  // namespace wavejit::templates::cdna
