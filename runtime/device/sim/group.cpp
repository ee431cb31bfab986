// SPDX-License-Identifier: MIT
#include "runtime/device/sim/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cfenv>
#include <cstring>

namespace wavejit::sim {
namespace {

using detail::Code;
using detail::Inst;

void define(Wave& w, int reg, std::uint32_t value) {
  if (reg < 0 || static_cast<unsigned>(reg) >= isa::sreg::count) return;
  w.s[static_cast<unsigned>(reg)] = value;
  w.sundefined.reset(static_cast<unsigned>(reg));
}

void define64(Wave& w, int reg, std::uint64_t value) {
  if (reg < 0) return;
  define(w, reg, static_cast<std::uint32_t>(value));
  define(w, reg + 1, static_cast<std::uint32_t>(value >> 32));
}

/// Kernel arguments that the descriptor asks to have in SGPRs.
void preload_arguments(Wave& w, std::span<const std::byte> kernarg) {
  const detail::EntryLayout& e = w.code->entry;
  for (unsigned i = 0; i < e.preload_count; ++i) {
    const std::size_t at = std::size_t{4} * (e.preload_offset + i);
    if (at + 4 > kernarg.size()) return;
    std::uint32_t value = 0;
    std::memcpy(&value, kernarg.data() + at, 4);
    define(w, static_cast<int>(e.preload_first + i), value);
  }
}

/// hardware.md §9.2. Everything else stays undefined.
void start_scalars(Wave& w, const Worker& worker, const Workgroup& g) {
  const detail::EntryLayout& e = w.code->entry;
  define64(w, e.dispatch_ptr, worker.dispatch_packet);
  define64(w, e.kernarg_ptr, worker.kernarg);
  define64(w, e.dispatch_id, 0);
  define(w, e.private_size, w.code->private_bytes);
  preload_arguments(w, worker.launch->kernarg);
  for (unsigned i = 0; i < 3; ++i) define(w, e.workgroup_id[i], g.id[i]);
  if (e.ids_in_ttmp) {
    define(w, isa::sreg::ttmp0 + 9, g.id[0]);
    define(w, isa::sreg::ttmp0 + 7, (g.id[1] & 0xFFFF) | g.id[2] << 16);
  }
}

void start_vectors(Wave& w, const std::array<std::uint32_t, 3>& block, std::uint64_t first_item,
                   std::uint64_t active) {
  const unsigned dims = w.code->entry.workitem_id_dims;
  const bool packed = w.code->target->packed_workitem_ids;
  std::uint32_t* ids = w.row(0);
  for (unsigned l = 0; l < w.lanes; ++l) {
    const std::uint64_t item = first_item + l;
    const auto x = static_cast<std::uint32_t>(item % block[0]);
    const auto y = static_cast<std::uint32_t>(item / block[0] % block[1]);
    const auto z = static_cast<std::uint32_t>(item / block[0] / block[1]);
    ids[l] = packed ? x | (dims > 1 ? y << 10 : 0) | (dims > 2 ? z << 20 : 0) : x;
    if (!packed && dims > 1) w.row(1)[l] = y;
    if (!packed && dims > 2) w.row(2)[l] = z;
  }
  for (unsigned r = 0; r < (packed ? 1 : dims); ++r) set_undefined(w, r, active, 0, 0, detail::both_halves);
}

void start_wave(Wave& w, Worker& worker, Workgroup& g, unsigned id, std::uint64_t items) {
  const Code& code = *worker.code;
  w.code = &code;
  w.worker = &worker;
  w.group = &g;
  w.id = id;
  w.lanes = code.lanes;
  w.pc = code.entry_index;
  w.state = Wave::State::running;
  w.executed = 0;
  w.v = g.registers.data() + std::size_t{id} * code.register_rows * code.lanes;
  w.s.fill(0);
  w.mode.set(code.mode);
  w.vpending = {};
  w.spending = {};
  w.vpending_count.fill(0);
  w.spending_count.fill(0);
  w.vm.clear();
  w.vs.clear();
  w.lgkm.clear();
  w.km.clear();
  w.signals = w.passed = 0;
  w.lds_records.clear();
  w.free_lds_records.clear();
  w.dma_in_flight = 0;
  w.hazard = {};
  if (code.target->hazards.gfx9_wait_states) w.gfx9.reset(code.register_rows);
  w.deallocated = false;
  const std::uint64_t all = w.all_lanes();
  w.undefined_low.assign(code.register_rows, all);
  w.undefined_high.assign(code.register_rows, all);
  w.partial = {};
  for (unsigned r = 0; r < code.register_rows; ++r) w.partial.set(r);
  for (auto& word : w.sundefined.w) word = ~std::uint64_t{0};
  if (code.private_bytes != 0) {
    w.scratch.assign(std::size_t{code.private_bytes} * code.lanes, 0);
    w.scratch_defined.assign(w.scratch.size(), 0);
  }
  const std::uint64_t first = std::uint64_t{id} * code.lanes;
  const std::uint64_t left = items - first;
  const std::uint64_t active = left >= code.lanes ? all : (std::uint64_t{1} << left) - 1;
  w.set_exec(active);
  w.sundefined.reset(isa::sreg::exec_lo);
  w.sundefined.reset(isa::sreg::exec_hi);
  w.sundefined.reset(detail::vccz_index);
  w.sundefined.reset(detail::execz_index);
  start_scalars(w, worker, g);
  start_vectors(w, worker.launch->block, first, active);
}

/// Bits that must be 0, wherever control flow goes.
void check_reserved(Workgroup& g) {
  Wave& w = g.waves.front();
  const Code& code = *w.code;
  if (!code.reserved_in_descriptor.empty())
    report(w, code.insts.front(), FaultKind::reserved_bits, 0, std::nullopt,
           [&] { return "the kernel descriptor: " + code.reserved_in_descriptor; });
  for (const std::uint32_t i : code.reserved)
    report(w, code.insts[i], FaultKind::reserved_bits, 0, std::nullopt,
           [] { return std::string("its encoding has bits set that must be 0"); });
}

/// gfx1100 in wave32: user plus system SGPRs that hardware initialises must reach 16.
void check_entry(Workgroup& g) {
  Wave& w = g.waves.front();
  if (!w.code->target->hazards.user_sgpr_init16 || w.lanes != 32) return;
  unsigned count = w.code->entry.user_sgprs;
  for (const int id : w.code->entry.workgroup_id) count += id >= 0 ? 1 : 0;
  count += w.code->entry.workgroup_info >= 0 ? 1 : 0;
  if (count >= 16) return;
  report(w, w.code->insts.front(), FaultKind::hazard, 0, std::nullopt, [&] {
    return fmt::format("the kernel descriptor initialises {} user and system SGPRs; this target needs 16",
                       count);
  });
}

/// MODE's f32 rounding for the time of one instruction.
class RoundingScope {
 public:
  explicit RoundingScope(std::uint8_t mode) {
    static constexpr std::array<int, 4> modes{FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    std::fesetround(modes[mode & 3]);
  }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;
  ~RoundingScope() { std::fesetround(FE_TONEAREST); }
};

void execute(Wave& w, const Inst& inst) {
  if (inst.floats == detail::FloatClass::f32 && w.mode.round32 != 0) [[unlikely]] {
    const RoundingScope scope(w.mode.round32);
    inst.execute(w, inst);
  } else {
    inst.execute(w, inst);
  }
}

/// Whether anything that `inst` touches is undefined, pending or otherwise not plain.
bool suspicious(const Wave& w, const Inst& inst) {
  std::uint64_t any =
      static_cast<std::uint64_t>(inst.out_of_allocation) | static_cast<std::uint64_t>(w.deallocated);
  for (unsigned i = inst.word_begin; i < inst.word_end; ++i) {
    any |= (inst.vread.w[i] & (w.partial.w[i] | w.vpending.w[i])) | (inst.vwrite.w[i] & w.vpending.w[i]);
  }
  for (unsigned i = 0; i < detail::ScalarSet::words; ++i) {
    any |= (inst.sread.w[i] & (w.sundefined.w[i] | w.spending.w[i])) | (inst.swrite.w[i] & w.spending.w[i]);
  }
  return any != 0;
}

void step(Wave& w, const Inst& inst) {
  if (suspicious(w, inst) && !check_registers(w, inst)) [[unlikely]] {
    propagate(w, inst);
    return;
  }
  const std::uint64_t exec = w.exec();
  execute(w, inst);
  // Loads say for themselves what they define.
  if (inst.pipe != isa::Pipe::smem) mark_written(w, inst, exec);
}

/// Both halves of a VOPD pair read before either writes.
void step_dual(Wave& w, const Inst& x, const Inst& y) {
  const bool plain_x = !suspicious(w, x) || check_registers(w, x);
  const bool plain_y = !suspicious(w, y) || check_registers(w, y);
  const bool y_reads_x = y.vread.meets(x.vwrite);
  std::array<std::uint32_t, detail::max_lanes> old{}, result{};
  std::uint32_t* row = w.row(x.dst);
  const std::uint64_t low = w.undefined_low[x.dst];
  const std::uint64_t high = w.undefined_high[x.dst];
  const bool partial = w.partial.test(x.dst);
  const std::uint64_t exec = w.exec();
  const auto run_one = [&](const Inst& inst, bool plain) {
    if (!plain) return propagate(w, inst);
    execute(w, inst);
    mark_written(w, inst, exec);
  };
  if (!y_reads_x) {
    run_one(x, plain_x);
    run_one(y, plain_y);
    return;
  }
  std::copy_n(row, w.lanes, old.begin());
  run_one(x, plain_x);
  std::copy_n(row, w.lanes, result.begin());
  const std::uint64_t new_low = w.undefined_low[x.dst];
  const std::uint64_t new_high = w.undefined_high[x.dst];
  std::copy_n(old.begin(), w.lanes, row);
  if (partial) set_undefined(w, x.dst, w.all_lanes(), low, high, detail::both_halves);
  run_one(y, plain_y);
  std::copy_n(result.begin(), w.lanes, row);
  set_undefined(w, x.dst, w.all_lanes(), new_low, new_high, detail::both_halves);
}

void end_with(Wave& w, FaultKind kind, std::string what) {
  const std::size_t at = std::min<std::size_t>(w.pc, w.code->insts.size() - 1);
  report(w, w.code->insts[at], kind, 0, std::nullopt, [&] { return std::move(what); });
  w.state = Wave::State::ended;
}

}  // namespace

void release_barrier(Workgroup& g) {
  const Wave* first = nullptr;
  for (Wave& w : g.waves) {
    if (w.state != Wave::State::at_barrier) continue;
    if (first == nullptr) first = &w;
    if (w.barrier_pc != first->barrier_pc) {
      report(w, w.code->insts[w.barrier_pc], FaultKind::barrier_divergence, 0, std::nullopt, [&] {
        const auto& other = w.code->texts[first->barrier_pc];
        return fmt::format("wave {} waits at the barrier at 0x{:x}", first->id, other.address);
      });
    }
    w.state = Wave::State::running;
    const bool split = w.signals != w.passed;
    ++w.passed;
    w.signals = w.passed;
    if (!split) carry_over_unwaited(w, w.passed);
  }
}

void start_group(Worker& worker, std::uint64_t linear) {
  Workgroup& g = worker.group;
  const Code& code = *worker.code;
  const LaunchParams& launch = *worker.launch;
  g.linear = linear;
  worker.kept_lines.reset(launch.options.kept_lines);
  g.id = {static_cast<std::uint32_t>(linear % launch.grid[0]),
          static_cast<std::uint32_t>(linear / launch.grid[0] % launch.grid[1]),
          static_cast<std::uint32_t>(linear / launch.grid[0] / launch.grid[1])};
  g.lds.reset(code.lds_bytes + launch.dynamic_lds_bytes,
              worker.on(FaultKind::lds_race) || worker.on(FaultKind::unwaited_at_barrier));
  const std::uint64_t items = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  const auto waves = static_cast<std::size_t>((items + code.lanes - 1) / code.lanes);
  g.waves.resize(waves);
  // Fresh registers hold a pattern that no kernel expects.
  g.registers.assign(waves * code.register_rows * code.lanes, 0x7FBADBAD);
  for (unsigned i = 0; i < waves; ++i) start_wave(g.waves[i], worker, g, i, items);
  check_entry(g);
  check_reserved(g);
}

void run_wave(Wave& w, std::uint64_t budget) {
  const Code& code = *w.code;
  Worker& worker = *w.worker;
  const std::uint64_t limit = worker.launch->options.max_instructions_per_wave;
  const bool hazards = worker.on(FaultKind::hazard);
  while (budget-- > 0 && w.state == Wave::State::running) {
    if (w.pc >= code.insts.size()) {
      return end_with(w, FaultKind::control_flow,
                      "execution ran past the last instruction; s_endpgm was expected");
    }
    if (limit != 0 && w.executed >= limit) {
      return end_with(w, FaultKind::watchdog, fmt::format("the wave has executed {} instructions", limit));
    }
    const Inst& inst = code.insts[w.pc];
    ++w.executed;
    ++worker.executed[w.pc];
    if (inst.dual_first) {
      const Inst& y = code.insts[w.pc + 1];
      w.pc += 2;
      if (hazards) {
        check_hazards(w, inst);
        check_hazards(w, y);
      }
      step_dual(w, inst, y);
      continue;
    }
    ++w.pc;
    if (hazards) check_hazards(w, inst);
    step(w, inst);
  }
}

void run_group(Worker& worker, std::uint64_t linear) {
  start_group(worker, linear);
  Workgroup& g = worker.group;
  for (;;) {
    bool running = false;
    bool waiting = false;
    for (Wave& w : g.waves) {
      if (w.state == Wave::State::running) run_wave(w, slice);
      running = running || w.state == Wave::State::running;
      waiting = waiting || w.state == Wave::State::at_barrier;
    }
    if (running) continue;
    if (!waiting) return;
    release_barrier(g);
  }
}

}  // namespace wavejit::sim
