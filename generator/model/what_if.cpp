// SPDX-License-Identifier: MIT
#include "generator/model/what_if.hpp"

#include <array>

namespace wavejit::model {
namespace {

/// Keeps the issue slot and nothing else. What it wrote is ready at once.
void make_free(Step& s) {
  s.unit = Unit::none;
  s.reads = s.writes = 0;
  s.hinted = false;
  s.salu_delay = 0;
}

void ignore(Step& s, Counter counter) { s.left[static_cast<std::size_t>(counter)] = no_wait; }

bool is_memory(Unit u) { return u == Unit::vmem_load || u == Unit::vmem_store; }

void remove(Cost cost, Step& s) {
  const bool barrier =
      s.unit == Unit::barrier || s.unit == Unit::barrier_signal || s.unit == Unit::barrier_wait;
  const bool scalar = s.unit == Unit::salu || s.unit == Unit::scalar_load || s.unit == Unit::branch;
  switch (cost) {
    case Cost::barriers:
      if (barrier) make_free(s);
      return;
    case Cost::lds:
      if (s.unit == Unit::lds) make_free(s);
      ignore(s, Counter::lds);
      return;
    case Cost::memory:
      if (is_memory(s.unit)) make_free(s);
      ignore(s, Counter::vector_loads);
      ignore(s, Counter::vector_stores);
      return;
    case Cost::memory_bandwidth:
      if (is_memory(s.unit)) s.port = s.bytes = 0;
      return;
    case Cost::other_valu:
      if (s.unit == Unit::valu || s.unit == Unit::trans) make_free(s);
      return;
    case Cost::dependency:
      s.latency = s.hold;
      s.salu_delay = 0;
      return;
    case Cost::scalar:
      if (scalar) make_free(s);
      ignore(s, Counter::scalar);
      return;
    default:
      return;
  }
}

void remove(Cost cost, target::Timing& t) {
  if (cost == Cost::memory_latency) t.vmem_loaded_latency = 0;
  if (cost == Cost::drain) t.memory_waits_for_valu = false;
  if (cost == Cost::dependency) t.valu_after_salu = t.memory_after = t.scalar_after = 0;
}

}  // namespace

std::string_view without(Cost cost) {
  constexpr std::array<std::string_view, costs> names{"no barriers",
                                                      "free LDS",
                                                      "free memory",
                                                      "no memory latency",
                                                      "endless memory bandwidth",
                                                      "free VALU other than matrix",
                                                      "no dependency latency",
                                                      "memory not behind own VALU",
                                                      "free scalar and branches"};
  return cost < Cost::count_ ? names[static_cast<std::size_t>(cost)] : std::string_view();
}

double clocks_without(Cost cost, const Steps& body, const Residency& residency, const target::Target& target,
                      const RunOptions& options) {
  Steps steps = body;
  for (Step& s : steps.list) remove(cost, s);
  target::Target changed = target;
  remove(cost, changed.timing);
  // Workgroups start as far apart as in the loop as it is: in step they would queue for everything at once.
  RunOptions same = options;
  if (same.stagger < 0) same.stagger = static_cast<Clock>(valu_bound(body, residency, target));
  return steady_state(steps, residency, changed, same).cycles;
}

double matrix_only(const Steps& body, const Residency& residency, const target::Target& target) {
  double hold = 0;
  for (const Step& s : body.list)
    if (s.unit == Unit::matrix) hold += s.hold;
  return hold * residency.waves / target.simds_per_wgp;
}

}  // namespace wavejit::model
