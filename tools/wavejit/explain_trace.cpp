// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "tools/wavejit/explain_output.hpp"

namespace wavejit::tools {
namespace {

constexpr unsigned pipe_threads = 3;  ///< matrix, VALU, transcendental: before the waves

unsigned thread_of(const model::WaveLife& life, const model::Residency& residency) {
  return pipe_threads + life.workgroup * residency.waves + life.wave;
}

Json named(const char* what, unsigned process, unsigned thread, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

void name_tracks(const Report& r, const std::vector<model::WaveLife>& lives, Json& events) {
  for (unsigned simd = 0; simd < r.subject.target->simds_per_wgp; ++simd) {
    events.push_back(named("process_name", simd, 0, fmt::format("SIMD {}", simd)));
    events.push_back(named("thread_name", simd, 0, "matrix pipe"));
    events.push_back(named("thread_name", simd, 1, "VALU pipe"));
    events.push_back(named("thread_name", simd, 2, "transcendental pipe"));
  }
  for (const model::WaveLife& l : lives)
    events.push_back(named("thread_name", l.simd, thread_of(l, r.residency),
                           fmt::format("workgroup {} wave {}", l.workgroup, l.wave)));
}

Json slice(std::string name, const char* category, unsigned process, unsigned thread, model::Clock from,
           model::Clock to) {
  return {{"name", std::move(name)}, {"cat", category}, {"ph", "X"},       {"pid", process},
          {"tid", thread},           {"ts", from},      {"dur", to - from}};
}

}  // namespace

std::string to_trace(const Report& r, unsigned iterations) {
  const model::SteadyState& loop = r.estimate.loop;
  const auto length = static_cast<model::Clock>(iterations * r.estimate.loop.latency);
  const model::Clock end = std::min(loop.begin + length, loop.end);
  const auto inside = [&](model::Clock from, model::Clock to) { return to > loop.begin && from < end; };
  const std::vector<model::WaveLife> lives = wave_lives(loop.trace, *r.subject.target);
  Json events = Json::array();
  name_tracks(r, lives, events);
  for (const model::WaveLife& life : lives)
    for (const model::Segment& s : life.segments) {
      if (!inside(s.from, s.to)) continue;
      const bool issue = s.reason <= model::Reason::valu || s.reason >= model::Reason::issue_lds;
      Json e = slice(issue ? text_of(r, s.index) : std::string(name(s.reason)), issue ? "issue" : "stall",
                     life.simd, thread_of(life, r.residency), s.from - loop.begin, s.to - loop.begin);
      e["args"] = {{"instruction", text_of(r, s.index)}, {"place", place_of(r, s.index)}};
      events.push_back(std::move(e));
    }
  for (const model::IssueEvent& e : loop.trace) {
    const bool vector =
        e.unit == model::Unit::valu || e.unit == model::Unit::trans || e.unit == model::Unit::matrix;
    if (!vector || !inside(e.start, e.end)) continue;
    const unsigned pipe = e.unit == model::Unit::matrix ? 0 : e.unit == model::Unit::valu ? 1 : 2;
    events.push_back(
        slice(text_of(r, e.index), "execute", e.simd, pipe, e.start - loop.begin, e.end - loop.begin));
  }
  return Json{{"displayTimeUnit", "ns"}, {"traceEvents", events}}.dump();
}

}  // namespace wavejit::tools
