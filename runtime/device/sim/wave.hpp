// SPDX-License-Identifier: MIT
// Internal: the state of one wave, and what it shares with its workgroup and its host thread.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/sim/bank_conflicts.hpp"
#include "runtime/device/sim/code.hpp"
#include "runtime/device/sim/fault_log.hpp"
#include "runtime/device/sim/hazards_gfx9.hpp"
#include "runtime/device/sim/hazards_sgpr.hpp"
#include "runtime/device/sim/lds.hpp"
#include "runtime/device/sim/line_cache.hpp"
#include "runtime/device/sim/simulator.hpp"

namespace wavejit::sim {

/// The MODE register, as floating-point instructions use it.
struct Mode {
  std::uint32_t bits = 0;
  std::uint8_t round32 = 0, round16 = 0;  ///< 0 nearest even, 1 up, 2 down, 3 toward zero
  bool flush_in32 = false, flush_out32 = false, flush_in16 = false, flush_out16 = false;
  bool dx10_clamp = true, ieee = true;
  bool plain32 = true;  ///< nearest even, denormals kept

  void set(std::uint32_t value);
};

/// An operation that a counter still counts.
struct Pending {
  enum class Type : std::uint8_t { vector_load, vector_store, lds, scalar_load, message };
  Type type = Type::vector_load;
  bool to_sgpr = false;
  std::uint16_t reg = 0, count = 0;  ///< destination registers; count 0 = none
  std::uint32_t inst = 0;            ///< index into Code::insts
  std::uint32_t lds_record = ~0U;    ///< in Wave::lds_records, if races are checked
  std::uint32_t lds_record2 = ~0U;   ///< of the second address of two-address forms
};

/// The LDS bytes that an access not yet waited for touched.
struct LdsRecord {
  std::uint64_t lanes = 0;
  std::uint8_t bytes = 0;
  bool store = false, in_use = false;
  bool dma = false;  ///< written by a load to LDS
  std::array<std::uint32_t, detail::max_lanes> address{};
};

/// FIFO of pending operations; index 0 is the oldest.
class PendingQueue {
 public:
  [[nodiscard]] std::size_t size() const { return items_.size() - head_; }
  [[nodiscard]] const Pending& operator[](std::size_t i) const { return items_[head_ + i]; }
  void push(const Pending& p) { items_.push_back(p); }
  void pop_front() {
    if (++head_ == items_.size()) {
      items_.clear();
      head_ = 0;
    } else if (head_ > 256) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
  }
  void erase(std::size_t i) { items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(head_ + i)); }
  void clear() {
    items_.clear();
    head_ = 0;
  }

 private:
  std::vector<Pending> items_;
  std::size_t head_ = 0;
};

/// What hazard rules need to remember between instructions of one wave.
struct HazardState {
  std::uint16_t wmma_dst = 0;
  std::uint8_t wmma_dst_count = 0;                ///< 0 = nothing to watch
  std::uint32_t valu_count = 0, trans_count = 0;  ///< issued so far
  struct Trans {
    std::uint16_t reg;
    std::uint32_t valu_at, trans_at;
  };
  std::array<Trans, 4> trans{};  ///< most recent transcendental results not yet safe
  std::uint8_t trans_used = 0;
  bool cmpx_pending = false;  ///< v_cmpx with no VALU after it
  bool last_was_nop = false;
  SgprHazards sgpr;
  /// Memory instructions directly behind one another: what they read and write. XNACK may issue them again.
  struct Clause {
    isa::Pipe pipe = isa::Pipe::hint;  ///< smem, vmem, or none is open
    detail::VectorSet vread, vwrite;
    detail::ScalarSet sread, swrite;
  } clause;
};

struct Worker;
struct Workgroup;

class Wave {
 public:
  enum class State : std::uint8_t { running, at_barrier, ended };

  const detail::Code* code = nullptr;
  Worker* worker = nullptr;
  Workgroup* group = nullptr;
  unsigned id = 0;  ///< in its workgroup
  unsigned lanes = 32;
  std::uint32_t pc = 0;  ///< next instruction, in Code::insts
  State state = State::running;
  std::uint32_t barrier_pc = 0;
  /// Barriers that the wave has signalled and that it has passed. One more signalled than passed: it is
  /// between the halves of a split barrier, and what it does there is ordered with neither side.
  std::uint32_t signals = 0, passed = 0;
  std::uint64_t executed = 0;

  std::uint32_t* v = nullptr;  ///< register r of lane l: v[r * lanes + l]
  std::array<std::uint32_t, detail::scalar_registers> s{};
  Mode mode;

  // What is not known or not there yet. A register in `partial` has some undefined half.
  detail::VectorSet vpending{}, partial{};
  detail::ScalarSet spending{}, sundefined{};
  std::vector<std::uint64_t> undefined_low, undefined_high;  ///< per VGPR, bit per lane
  std::array<std::uint8_t, detail::vector_registers> vpending_count{};
  std::array<std::uint8_t, detail::scalar_registers> spending_count{};

  PendingQueue vm, vs, lgkm;
  PendingQueue km;  ///< scalar loads and messages, where they have a counter of their own
  std::vector<LdsRecord> lds_records;
  std::vector<std::uint32_t> free_lds_records;
  std::vector<std::uint8_t> scratch;  ///< private memory: lane-major
  std::vector<std::uint8_t> scratch_defined;
  struct Staged {
    std::array<std::uint32_t, detail::max_lanes> value{};
    std::uint64_t lanes = 0, low = 0, high = 0;
  };
  std::array<Staged, 4> scratch_staging{};  ///< a load's dwords before its destination is written
  unsigned dma_in_flight = 0;               ///< loads to LDS among the records in use
  HazardState hazard;
  Gfx9Hazards gfx9;
  bool deallocated = false;

  WJ_SIM_INLINE std::uint32_t* row(unsigned reg) { return v + std::size_t{reg} * lanes; }
  WJ_SIM_INLINE const std::uint32_t* row(unsigned reg) const { return v + std::size_t{reg} * lanes; }
  [[nodiscard]] WJ_SIM_INLINE std::uint64_t all_lanes() const {
    return lanes == 64 ? ~std::uint64_t{0} : 0xFFFFFFFFULL;
  }
  [[nodiscard]] WJ_SIM_INLINE std::uint64_t mask(unsigned reg) const {
    return lanes == 64 ? s[reg] | std::uint64_t{s[reg + 1]} << 32 : s[reg];
  }
  WJ_SIM_INLINE void set_mask(unsigned reg, std::uint64_t value) {
    if (reg == isa::sreg::null) return;
    s[reg] = static_cast<std::uint32_t>(value);
    if (lanes == 64) s[reg + 1] = static_cast<std::uint32_t>(value >> 32);
  }
  [[nodiscard]] WJ_SIM_INLINE std::uint64_t exec() const { return mask(isa::sreg::exec_lo); }
  WJ_SIM_INLINE void set_exec(std::uint64_t value) { set_mask(isa::sreg::exec_lo, value); }
  [[nodiscard]] WJ_SIM_INLINE bool scc() const { return s[detail::scc_index] != 0; }
  WJ_SIM_INLINE void set_scc(bool value) { s[detail::scc_index] = value ? 1 : 0; }

  /// A scalar register or constant; vccz, execz and null included.
  [[nodiscard]] WJ_SIM_INLINE std::uint32_t scalar(const detail::Source& source, unsigned dword = 0) const {
    if (source.kind == detail::Source::Kind::constant) {
      return static_cast<std::uint32_t>(source.value >> (dword == 0 ? 0 : 32));
    }
    return scalar(static_cast<unsigned>(source.reg) + dword);
  }
  [[nodiscard]] WJ_SIM_INLINE std::uint32_t scalar(unsigned reg) const {
    if (reg == isa::sreg::null || reg == isa::sreg::null + detail::scalar_registers) return 0;
    if (reg == detail::vccz_index) return mask(isa::sreg::vcc_lo) == 0 ? 1 : 0;
    if (reg == detail::execz_index) return exec() == 0 ? 1 : 0;
    return s[reg];
  }
  [[nodiscard]] WJ_SIM_INLINE std::uint64_t scalar64(const detail::Source& source) const {
    if (source.kind == detail::Source::Kind::constant) return source.value;
    if (source.reg == isa::sreg::null) return 0;
    return scalar(source, 0) | std::uint64_t{scalar(source, 1)} << 32;
  }
  WJ_SIM_INLINE void set_scalar(unsigned reg, std::uint32_t value) {
    if (reg != isa::sreg::null) s[reg] = value;
  }
};

/// Popcount; without an instruction for it, only where the answer is not plain.
WJ_SIM_INLINE unsigned count_lanes(const Wave& w, std::uint64_t lanes) {
  return lanes == w.all_lanes() ? w.lanes : static_cast<unsigned>(std::popcount(lanes));
}

struct Workgroup {
  std::array<std::uint32_t, 3> id{};
  std::uint64_t linear = 0;
  Lds lds;
  std::vector<Wave> waves;
  std::vector<std::uint32_t> registers;  ///< all waves' VGPRs
};

/// One host thread's share of a run.
struct Worker {
  const detail::Code* code = nullptr;
  Memory* memory = nullptr;
  const LaunchParams* launch = nullptr;
  Checks checks = Checks::all();
  SoffsetRule soffset = SoffsetRule::both;
  target::Dot2Bf16Rounding dot2_bf16 = target::Dot2Bf16Rounding::toward_zero;
  bool flush_bf16 = false;
  FaultLog log;
  std::vector<std::uint64_t> executed, bytes, conflicts, lines;  ///< per Code::insts
  std::vector<Allocation*> last_allocation;                      ///< per Code::insts: where it was last
  std::vector<ConflictMemo> conflict_memo;         ///< per Code::insts, if conflicts are counted
  std::uint64_t kernarg = 0, dispatch_packet = 0;  ///< simulated addresses
  double cpu_seconds = 0;
  Workgroup group;
  LineCache kept_lines;  ///< of the workgroup, if lines are counted

  [[nodiscard]] WJ_SIM_INLINE bool on(FaultKind kind) const { return checks.on(kind); }
};

/// Records a fault of `inst` if its check is on. `detail` is called only for a kind and instruction
/// not seen before.
template <class F>
void report(Wave& w, const detail::Inst& inst, FaultKind kind, std::uint64_t lanes,
            std::optional<std::uint64_t> address, F&& detail) {
  Worker& worker = *w.worker;
  if (!worker.on(kind)) return;
  if (!worker.log.count(kind, inst.index, w.group->linear, w.id)) return;
  Fault f;
  f.kind = kind;
  f.index = inst.index;
  f.workgroup = w.group->id;
  f.wave = w.id;
  f.lanes = lanes;
  f.address = address;
  f.detail = detail();
  worker.log.describe(std::move(f), w.group->linear, w.executed);
}

/// `waitcnt`-style waits: at most `count` operations of the queue stay outstanding.
void wait_vm(Wave& w, unsigned count);
void wait_vs(Wave& w, unsigned count);
void wait_lgkm(Wave& w, unsigned count);
void wait_km(Wave& w, unsigned count);

/// The queue of scalar loads and messages.
PendingQueue& scalar_queue(Wave& w);

/// LDS accesses that the wave has not waited for count as made after the barrier `epoch` as well.
void carry_over_unwaited(Wave& w, std::uint32_t epoch);

/// Marks registers as destinations of a pending operation.
void add_pending(Wave& w, PendingQueue& queue, const Pending& pending);

// checks.cpp
/// Reads and writes of registers: pending, undefined, deallocated, out of allocation. False when
/// `inst` has to run through propagate() because an undefined value only moves.
bool check_registers(Wave& w, const detail::Inst& inst);
/// Runs a bit operation whose inputs are partly undefined and marks which result bits are.
void propagate(Wave& w, const detail::Inst& inst);
/// Marks destinations defined.
void mark_written(Wave& w, const detail::Inst& inst, std::uint64_t exec_before);
/// Sets the definedness of the halves of a VGPR in `lanes`.
void set_undefined(Wave& w, unsigned reg, std::uint64_t lanes, std::uint64_t low, std::uint64_t high,
                   std::uint8_t halves);

/// Matrix instruction with lanes off; with lanes of A or B that are no copies. Out of line: the
/// vector units must not instantiate library templates.
void report_partial_exec(Wave& w, const detail::Inst& inst);
void report_replication(Wave& w, const detail::Inst& inst, unsigned operand, unsigned dword);

// hazards.cpp
void check_hazards(Wave& w, const detail::Inst& inst);

}  // namespace wavejit::sim
