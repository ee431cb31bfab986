// SPDX-License-Identifier: MIT
#include "templates/family.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "templates/cdna/family.hpp"
#include "templates/kquant/family.hpp"
#include "templates/w4a16/family.hpp"

namespace wavejit::templates {
namespace {

/// By Operation.
constexpr std::array<const Family*, operations> families{&w4a16::family, &kquant::family, &cdna::int4_gemm,
                                                         &cdna::int4_grouped};

/// The most rows have the largest grid. Asked here, as all that serve or explain a problem come by.
Result<void> check_launches(const Problem& p, const target::Target& target, const Selection& s) {
  for (unsigned i = 0; i < stages(p, s.config); ++i)
    if (auto l = launch(p, s.config, target, std::min(s.last, most_rows(p)), i); !l)
      return std::unexpected(l.error());
  return {};
}

}  // namespace

const Family& family(Operation op) { return *families[static_cast<std::size_t>(op)]; }

Result<Config> select_config(const Problem& problem, const target::Target& target, std::int64_t m) {
  const auto selections = select_configs(problem, target, m, m);
  if (!selections) return std::unexpected(selections.error());
  return std::ranges::find_if(*selections, [m](const Selection& s) { return s.last >= m; })->config;
}

Result<std::vector<Selection>> select_configs(const Problem& problem, const target::Target& target,
                                              std::int64_t first, std::int64_t last) {
  auto p = normalise(problem, target);
  if (!p) return std::unexpected(p.error());
  if (first < 1) return fail_field(ErrorCode::invalid_argument, "m", std::to_string(first), "at least 1");
  if (last < first)
    return fail_field(ErrorCode::invalid_argument, "last", std::to_string(last),
                      "at least first (" + std::to_string(first) + ")");
  // Launches say so, too, but of the last choice of a range, and the choices before it would take long.
  constexpr std::int64_t max_m = std::numeric_limits<std::int32_t>::max();
  if (std::min(last, most_rows(*p)) > max_m)
    return fail_field(ErrorCode::invalid_argument, "m", std::to_string(last), "between 1 and 2^31 - 1");
  auto selections = family(p->op).select(*p, target, first, last);
  if (!selections) return selections;
  for (const Selection& s : *selections)
    if (auto ok = check_launches(*p, target, s); !ok) return std::unexpected(ok.error());
  return selections;
}

}  // namespace wavejit::templates
