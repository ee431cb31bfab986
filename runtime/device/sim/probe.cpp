// SPDX-License-Identifier: MIT
#include "runtime/device/sim/probe.hpp"

#include <algorithm>

#include "runtime/device/sim/group.hpp"

namespace wavejit::sim {

Probe::Probe() = default;
Probe::Probe(Probe&&) noexcept = default;
Probe& Probe::operator=(Probe&&) noexcept = default;
Probe::~Probe() = default;

Result<Probe> Probe::start(const Program& program, Memory& memory, LaunchParams launch) {
  Probe p;
  p.code_ = program.shared_code();
  if (auto ok = check_launch(*p.code_, launch); !ok) return std::unexpected(std::move(ok.error()));
  if (std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2] > p.code_->lanes) {
    return fail_field(ErrorCode::invalid_argument, "block", "more than one wave", "one wave at most");
  }
  std::uint64_t kernarg = 0;
  if (!launch.kernarg.empty()) {
    const auto address = memory.allocate(launch.kernarg.size(), 16, "kernarg");
    if (!address) return std::unexpected(address.error());
    if (auto ok = memory.write(*address, launch.kernarg); !ok) return std::unexpected(std::move(ok.error()));
    kernarg = *address;
  }
  p.launch_ = std::make_unique<LaunchParams>(std::move(launch));
  p.worker_ = std::make_unique<Worker>();
  memory.begin_run();
  prepare_worker(*p.worker_, *p.code_, memory, *p.launch_, kernarg, 0);
  start_group(*p.worker_, 0);
  return p;
}

void Probe::set_vgpr(unsigned reg, unsigned lane, std::uint32_t value) {
  Wave& w = worker_->group.waves.front();
  if (reg >= code_->register_rows || lane >= w.lanes) return;
  w.row(reg)[lane] = value;
  set_undefined(w, reg, std::uint64_t{1} << lane, 0, 0, detail::both_halves);
}

void Probe::set_sgpr(unsigned reg, std::uint32_t value) {
  if (reg >= isa::sreg::count) return;
  Wave& w = worker_->group.waves.front();
  w.s[reg] = value;
  w.sundefined.reset(reg);
}

void Probe::forget() {
  Wave& w = worker_->group.waves.front();
  for (unsigned r = 0; r < code_->register_rows; ++r) {
    set_undefined(w, r, w.all_lanes(), w.all_lanes(), w.all_lanes(), detail::both_halves);
  }
  for (unsigned r = 0; r < isa::sreg::exec_lo; ++r) w.sundefined.set(r);
  w.sundefined.set(detail::scc_index);
}

void Probe::set_scc(bool value) {
  Wave& w = worker_->group.waves.front();
  w.set_scc(value);
  w.sundefined.reset(detail::scc_index);
}

void Probe::set_mode(std::uint32_t value) { worker_->group.waves.front().mode.set(value); }

void Probe::run(std::uint64_t instructions) {
  Wave& w = worker_->group.waves.front();
  while (instructions > 0 && w.state != Wave::State::ended) {
    const std::uint64_t before = w.executed;
    if (w.state == Wave::State::at_barrier) w.state = Wave::State::running;  // alone, it never waits
    run_wave(w, instructions);
    instructions -= std::min(instructions, std::max<std::uint64_t>(w.executed - before, 1));
  }
}

bool Probe::ended() const { return worker_->group.waves.front().state == Wave::State::ended; }

std::uint32_t Probe::next() const { return worker_->group.waves.front().pc; }

std::uint32_t Probe::vgpr(unsigned reg, unsigned lane) const {
  const Wave& w = worker_->group.waves.front();
  return reg < code_->register_rows && lane < w.lanes ? w.row(reg)[lane] : 0;
}

bool Probe::vgpr_defined(unsigned reg, unsigned lane) const {
  const Wave& w = worker_->group.waves.front();
  if (reg >= code_->register_rows || lane >= w.lanes) return false;
  return ((w.undefined_low[reg] | w.undefined_high[reg]) >> lane & 1) == 0;
}

std::uint32_t Probe::sgpr(unsigned reg) const {
  return reg < isa::sreg::count ? worker_->group.waves.front().s[reg] : 0;
}

bool Probe::sgpr_defined(unsigned reg) const {
  return reg < isa::sreg::count && !worker_->group.waves.front().sundefined.test(reg);
}

bool Probe::scc() const { return worker_->group.waves.front().scc(); }

std::vector<Fault> Probe::faults() const {
  FaultLog log = worker_->log;
  std::vector<Fault> faults = log.take();
  for (Fault& f : faults) {
    f.instruction = code_->texts[f.index].text;
    f.code_address = code_->texts[f.index].address;
  }
  return faults;
}

}  // namespace wavejit::sim
