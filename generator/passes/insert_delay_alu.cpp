// SPDX-License-Identifier: MIT
// insert_delay_alu: s_delay_alu tells the wave scheduler how long an instruction's operands will
// still take, so that it issues other waves meanwhile instead of letting the instruction block the
// ALU pipe. A pure hint: hardware interlocks stay. One hint carries two delays, for one instruction
// or for two that are at most five apart (hardware.md §5.4).
//
// A result (of a matrix instruction too: the matrix pipe itself holds back what needs it longer) is
// tracked until it is ready, has been waited for once, or is out of the reach of the encoding (4
// VALU, 3 transcendental instructions). Each instruction counts as one clock. Memory and LDS
// instructions wait for the whole VALU by themselves, so nothing is pending behind one. State flows
// only along plain fall-through: a branch takes longer (§8.1) than the latencies worth a hint.
//
// LLVM 22's AMDGPUInsertDelayAlu gives the same hints on the straight-line inputs that were compared
// and on most of the code of Triton's kernels. It differs in that it follows branches too, does not
// look at VCC where an e32 form implies it, and gives scalar float operations a longer latency.
#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "generator/ir/cfg.hpp"
#include "generator/passes/passes.hpp"
#include "generator/passes/register_set.hpp"

namespace wavejit::passes {
namespace {

using isa::Opcode;
using isa::Pipe;

enum class Alu : std::uint8_t { none, valu, trans, salu };

constexpr unsigned valu_reach = 4;
constexpr unsigned trans_reach = 3;
constexpr unsigned salu_reach = 3;
constexpr unsigned farthest_skip = 5;

/// instid values are these plus the distance.
constexpr unsigned id_valu_dep = 0;
constexpr unsigned id_trans_dep = 4;
constexpr unsigned id_salu_cycle = 8;
constexpr unsigned skip_shift = 4;
constexpr unsigned id1_shift = 7;

Alu alu_of(const isa::Instruction& inst) {
  switch (inst.pipe()) {
    case Pipe::salu:
      return Alu::salu;
    case Pipe::trans:
      return Alu::trans;
    case Pipe::valu:
    case Pipe::dot:
    case Pipe::matrix:
      return Alu::valu;
    default:
      return Alu::none;
  }
}

bool waits_for_valu(const isa::Instruction& inst) {
  return inst.pipe() == Pipe::vmem || inst.pipe() == Pipe::lds;
}

/// An unfinished result: who makes it, how many clocks it still takes, and how many VALU and
/// transcendental instructions have issued since its own, that one included for its own kind.
struct Unfinished {
  unsigned unit = 0;
  Alu alu = Alu::none;
  unsigned clocks = 0;
  unsigned valus = 0;
  unsigned transcendentals = 0;
};

/// The delays that one issue group needs: distances, 0 = none.
struct Delay {
  unsigned valu = 0, trans = 0, salu = 0;
  unsigned valus_since_trans = 0;
};

class Results {
 public:
  explicit Results(const target::Target& target) : target_(target) {}

  void clear() { unfinished_.clear(); }

  [[nodiscard]] Delay delay_of(std::span<const ir::Instruction> group);
  void issue(std::span<const ir::Instruction> group);

 private:
  void need(Delay& delay, const Unfinished& r) const;
  void forget_valus_from(unsigned distance);
  void advance(Alu alu);
  void forget(unsigned u) {
    std::erase_if(unfinished_, [&](const Unfinished& r) { return r.unit == u; });
  }
  [[nodiscard]] unsigned latency(const isa::Instruction& inst) const;

  const target::Target& target_;
  std::vector<Unfinished> unfinished_;  ///< few at a time: all are out of reach within some clocks
};

unsigned Results::latency(const isa::Instruction& inst) const {
  switch (inst.pipe()) {
    case Pipe::salu:
      return target_.timing.salu_dependent;
    case Pipe::trans:
      return target_.timing.trans_dependent;
    default:
      return target_.timing.valu_dependent;
  }
}

void Results::need(Delay& delay, const Unfinished& r) const {
  const auto nearer = [](unsigned& slot, unsigned distance) {
    slot = slot == 0 ? distance : std::min(slot, distance);
  };
  switch (r.alu) {
    case Alu::valu:
      nearer(delay.valu, r.valus);
      return;
    case Alu::trans:
      if (delay.trans == 0 || r.transcendentals < delay.trans) delay.valus_since_trans = r.valus;
      nearer(delay.trans, r.transcendentals);
      return;
    case Alu::salu:
      delay.salu = std::max<unsigned>(delay.salu, std::min<unsigned>(r.clocks, salu_reach));
      return;
    case Alu::none:
      return;
  }
}

/// A scalar instruction that reads an SGPR of the VALU waits for it, and so for all before it.
void Results::forget_valus_from(unsigned distance) {
  std::erase_if(unfinished_, [&](const Unfinished& r) { return r.alu == Alu::valu && r.valus >= distance; });
}

/// No hint is spent on EXEC and SCC, which nearly everything of their kind reads; LLVM spends none either.
bool is_never_hinted(unsigned u) {
  return u == unit::scc || u == unit::sgpr + isa::sreg::exec_lo || u == unit::sgpr + isa::sreg::exec_hi;
}

Delay Results::delay_of(std::span<const ir::Instruction> group) {
  Delay delay;
  for (const ir::Instruction& inst : group) {
    if (waits_for_valu(inst.mi)) {
      clear();
      return {};
    }
    const bool scalar = !is_valu(inst.mi);
    if (scalar && inst.mi.pipe() != Pipe::salu && inst.mi.pipe() != Pipe::smem) continue;
    for_each_read_unit(inst.mi, target_, [&](unsigned u) {
      const auto found = std::ranges::find(unfinished_, u, &Unfinished::unit);
      if (found == unfinished_.end() || is_never_hinted(u)) return;
      const Unfinished r = *found;
      if (scalar && r.alu == Alu::valu) forget_valus_from(r.valus);
      if (alu_of(inst.mi) == Alu::none || (scalar && r.alu != Alu::salu)) return;
      need(delay, r);
      forget(u);  // once waited for, it is ready for later readers
    });
  }
  return delay;
}

void Results::advance(Alu alu) {
  for (Unfinished& r : unfinished_) {
    if (alu == Alu::valu) ++r.valus;
    if (alu == Alu::trans) ++r.transcendentals;
    --r.clocks;
  }
  std::erase_if(unfinished_, [](const Unfinished& r) {
    return r.clocks == 0 || (r.alu == Alu::valu && r.valus > valu_reach) ||
           (r.alu == Alu::trans && r.transcendentals > trans_reach);
  });
}

void Results::issue(std::span<const ir::Instruction> group) {
  const Alu alu = alu_of(group.front().mi);
  for (const ir::Instruction& inst : group) {
    for_each_written_unit(inst.mi, target_, [&](unsigned u) {
      forget(u);
      if (alu != Alu::none) unfinished_.push_back({u, alu, latency(inst.mi), 0, 0});
    });
  }
  advance(alu);
}

/// The two instids of a delay, first in the low place; 0 when there is none. A VALU result older
/// than the transcendental one is ready when that is.
std::array<unsigned, 2> ids_of(const Delay& d) {
  std::array<unsigned, 2> ids{};
  unsigned used = 0;
  if (d.trans != 0) ids[used++] = id_trans_dep + d.trans;
  if (d.valu != 0 && (d.trans == 0 || d.valu <= d.valus_since_trans)) ids[used++] = id_valu_dep + d.valu;
  if (d.salu != 0 && used < 2) ids[used++] = id_salu_cycle + d.salu;
  return ids;
}

/// Writes the hints of one block behind one another, filling a hint's second place where it can.
class HintWriter {
 public:
  void add(std::vector<ir::Instruction>& out, const std::array<unsigned, 2>& ids,
           const ir::Instruction& next) {
    if (ids[0] == 0) return;
    if (open_ && ids[1] == 0 && since_ <= farthest_skip) {
      isa::Operand& value = out[*open_].mi.src[0];
      value = isa::imm(value.value | static_cast<std::int64_t>(since_ << skip_shift | ids[0] << id1_shift));
      open_.reset();
      return;
    }
    ir::Instruction hint;
    hint.mi.op = Opcode::s_delay_alu;
    hint.mi.src_count = 1;
    hint.mi.src[0] = isa::imm(static_cast<std::int64_t>(ids[0] | ids[1] << id1_shift));
    hint.stage = next.stage;
    open_.reset();
    if (ids[1] == 0) open_ = out.size();
    since_ = 0;
    out.push_back(std::move(hint));
  }
  void count_group() { ++since_; }

 private:
  std::optional<std::size_t> open_;  ///< position of a hint with a free second place
  unsigned since_ = 0;               ///< issue groups behind that hint
};

void insert_in(ir::Block& block, Results& results) {
  std::vector<ir::Instruction> out;
  out.reserve(block.insts.size() + block.insts.size() / 4);
  HintWriter writer;
  for (std::size_t i = 0; i < block.insts.size();) {
    const unsigned size = ir::issue_group(block.insts, i);
    const std::span<const ir::Instruction> group(block.insts.data() + i, size);
    writer.add(out, ids_of(results.delay_of(group)), block.insts[i]);
    writer.count_group();
    results.issue(group);
    for (unsigned k = 0; k < size; ++k) out.push_back(std::move(block.insts[i + k]));
    i += size;
  }
  block.insts = std::move(out);
}

}  // namespace

Result<void> insert_delay_alu(ir::Kernel& kernel) {
  if (!kernel.target->has_delay_alu) return {};
  Results results(*kernel.target);
  for (ir::Block& block : kernel.blocks) {
    insert_in(block, results);
    if (ir::terminator(block) != nullptr) results.clear();
  }
  return {};
}

}  // namespace wavejit::passes
