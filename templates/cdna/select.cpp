// SPDX-License-Identifier: MIT
// Selection: each bucket of rows takes the Config that is quickest at its end (ranking.hpp).
#include <algorithm>

#include "templates/cdna/family.hpp"
#include "templates/cdna/ranking.hpp"

namespace wavejit::templates::cdna {
namespace {

/// The Config for the bucket of `m`. Errors: why the plainest one will not do, when none will.
Result<Config> quickest(const Problem& problem, const target::Target& target, std::int64_t m) {
  if (const auto first = ranking(problem, target, m, 1); !first.empty()) return first.front().config;
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
    const std::int64_t end = bucket_end(m);
    const std::int64_t reach = end == bucket_end(last) ? last : end;
    const auto config = quickest(problem, target, m);
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
