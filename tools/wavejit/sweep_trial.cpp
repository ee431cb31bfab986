// SPDX-License-Identifier: MIT
#include "tools/wavejit/sweep_trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>

namespace wavejit::tools {
namespace {

double milliseconds(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

TrialResult begin(const templates::Problem& asked, const target::Target& target,
                  std::vector<std::int64_t> rows) {
  const auto p = templates::normalise(asked, target);
  TrialResult r;
  r.problem = templates::canonical(p ? *p : asked);
  r.op = asked.op;
  r.target = &target;
  r.m = std::move(rows);
  return r;
}

/// A skinny or decode kernel has a scale for each part of a lane's weights, a tile one for its step along K.
Result<void> check_step(const templates::Config& c, const templates::Problem& p) {
  if (c.path != templates::Path::tile || (c.bk <= p.group && p.group % c.bk == 0)) return {};
  return fail_field(ErrorCode::invalid_config, "bk", std::to_string(c.bk),
                    fmt::format("a divisor of the group ({})", p.group));
}

/// What one chosen Config says to some rows: the first error.
void try_config(const templates::Problem& p, const templates::Config& config,
                const std::vector<std::int64_t>& rows, SweptKernels& kernels, TrialResult& result) {
  const auto failed = [&](std::vector<std::int64_t> m, unsigned stage, const Error& error) {
    result.failures.push_back({std::move(m), templates::canonical(config), stage, error});
  };
  if (const auto ok = check_step(config, p); !ok) return failed(rows, 0, ok.error());
  for (unsigned stage = 0; stage < templates::stages(p, config); ++stage) {
    for (const std::int64_t m : rows)
      if (const auto launch = templates::launch(p, config, *result.target, m, stage); !launch)
        return failed({m}, stage, launch.error());
    const SweptKernels::Answer answer = kernels.get(p, config, stage, *result.target);
    ++(answer.compiled ? result.kernels : result.shared);
    if (answer.error) return failed(rows, stage, *answer.error);
  }
}

}  // namespace

Json to_json(const TrialResult& r) {
  Json json = {{"problem", r.problem},
               {"op", templates::name(r.op)},
               {"target", r.target->name},
               {"m", r.m},
               {"configs", r.configs},
               {"kernels", r.kernels},
               {"shared", r.shared},
               {"cpu_ms", r.cpu_ms},
               {"result", r.failures.empty() ? "ok" : "failed"}};
  for (const TrialFailure& f : r.failures)
    json["failures"].push_back(
        {{"m", f.m}, {"config", f.config}, {"stage", f.stage}, {"error", to_json(f.error)}});
  return json;
}

TrialResult choose_and_generate(const templates::Problem& asked, const target::Target& target,
                                const std::vector<std::int64_t>& all_rows, SweptKernels& kernels) {
  const double start = milliseconds(CLOCK_THREAD_CPUTIME_ID);
  std::vector<std::int64_t> rows;
  std::ranges::copy_if(all_rows, std::back_inserter(rows),
                       [most = templates::most_rows(asked)](std::int64_t m) { return m <= most; });
  TrialResult result = begin(asked, target, rows);
  if (rows.empty()) return result;
  const auto selections = templates::select_configs(asked, target, 1, std::ranges::max(rows));
  if (!selections) {
    result.failures.push_back({rows, "", 0, selections.error()});
  } else {
    const templates::Problem p = *templates::normalise(asked, target);
    std::map<std::string, std::pair<templates::Config, std::vector<std::int64_t>>> chosen;
    for (const std::int64_t m : rows) {
      const auto serves = [m](const templates::Selection& s) { return s.first <= m && m <= s.last; };
      const auto found = std::ranges::find_if(*selections, serves);
      if (found == selections->end()) {
        result.failures.push_back({{m}, "", 0, fail(ErrorCode::unsupported, "no Config serves it").error()});
        continue;
      }
      auto& entry = chosen[templates::canonical(found->config)];
      entry.first = found->config;
      entry.second.push_back(m);
    }
    result.configs = chosen.size();
    for (const auto& [text, entry] : chosen) try_config(p, entry.first, entry.second, kernels, result);
  }
  result.cpu_ms = milliseconds(CLOCK_THREAD_CPUTIME_ID) - start;
  return result;
}

TrialResult prepare_all(Engine& engine, const templates::Problem& asked, const target::Target& target,
                        std::int64_t last) {
  const double start = milliseconds(CLOCK_PROCESS_CPUTIME_ID);
  const std::uint64_t before = engine.counters().compiles;
  TrialResult result = begin(asked, target, {1, last});
  if (const auto plan = engine.prepare(asked, {1, last}); !plan) {
    result.failures.push_back({{1, last}, "", 0, plan.error()});
  } else {
    result.configs = plan->variants().size();
  }
  result.kernels = engine.counters().compiles - before;
  engine.collect();  // thousands of plans follow
  result.cpu_ms = milliseconds(CLOCK_PROCESS_CPUTIME_ID) - start;
  return result;
}

}  // namespace wavejit::tools
