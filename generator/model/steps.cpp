// SPDX-License-Identifier: MIT
#include "generator/model/steps.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "generator/ir/register_access.hpp"

namespace wavejit::model {
namespace {

using isa::Instruction;
using isa::Opcode;
using isa::Pipe;
namespace flag = isa::flag;

/// Numbers of single registers: scalar ones, SCC, VGPRs, AGPRs.
constexpr std::uint32_t vgpr0 = isa::sreg::count + 1;
constexpr std::uint32_t agpr0 = vgpr0 + 512;
constexpr std::uint32_t registers = agpr0 + 512;

std::uint32_t number(const isa::Operand& reg) {
  if (reg.is_vgpr()) return vgpr0 + reg.index;
  return reg.is_reg(isa::RegClass::agpr) ? agpr0 + reg.index : reg.index;
}

/// Registers with equal access histories share an atom.
class Atoms {
 public:
  Atoms(std::span<const Instruction> code, std::span<const std::size_t> used, const target::Target& target) {
    std::vector<std::uint64_t> history(registers);
    for (const std::size_t i : used) {
      const ir::RegisterAccesses accesses = ir::register_accesses(code[i], target);
      const auto touch = [&](const ir::RegisterAccess& a, std::uint64_t kind) {
        for (unsigned d = 0; d < a.reg.width && number(a.reg) + d < registers; ++d) {
          std::uint64_t& h = history[number(a.reg) + d];
          h = (h ^ (i * 4 + kind + 1)) * 0x9E3779B97F4A7C15ULL;
          h ^= h >> 29;
        }
      };
      for (const auto& a : accesses.reads()) touch(a, 0);
      for (const auto& a : accesses.writes()) touch(a, 1);
    }
    std::unordered_map<std::uint64_t, std::uint16_t> ids;
    for (std::uint32_t r = 0; r < registers; ++r)
      if (history[r] != 0)
        atom_[r] = ids.try_emplace(history[r], static_cast<std::uint16_t>(ids.size())).first->second;
    count_ = static_cast<unsigned>(ids.size());
  }

  unsigned append(std::vector<std::uint16_t>& out, std::span<const ir::RegisterAccess> accesses) const {
    const std::size_t first = out.size();
    for (const ir::RegisterAccess& a : accesses)
      for (unsigned d = 0; d < a.reg.width && number(a.reg) + d < registers; ++d) {
        const std::uint16_t atom = atom_[number(a.reg) + d];
        if (std::find(out.begin() + static_cast<std::ptrdiff_t>(first), out.end(), atom) == out.end())
          out.push_back(atom);
      }
    return static_cast<unsigned>(out.size() - first);
  }
  [[nodiscard]] unsigned count() const { return count_; }

 private:
  std::array<std::uint16_t, registers> atom_{};
  unsigned count_ = 0;
};

unsigned data_dwords(const Instruction& inst) {
  if (isa::loads_to_lds(inst)) {
    const std::string_view name = inst.info().name;
    return name.ends_with("b128") ? 4 : name.ends_with("b96") ? 3 : 1;
  }
  if (inst.has(flag::load) && inst.dst_count > 0) return inst.dst[0].width;
  unsigned dwords = 0;
  for (unsigned i = 1; i < inst.src_count; ++i)
    if (inst.src[i].is_vgpr() || inst.src[i].is_reg(isa::RegClass::agpr)) dwords += inst.src[i].width;
  return std::max(dwords, 1U);
}

std::uint16_t matrix_hold(const Instruction& inst, const target::Target& target) {
  const std::string_view name = inst.info().name;
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  for (const target::MatrixShape& shape : target.matrix_shapes) {
    const std::string tag =
        std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
    const bool wide = has("f16") && !has("f8") && !has("iu8") && !has("i32");
    if (has(tag) && (shape.input == target::MatrixInput::f16_bf16) == wide &&
        (shape.input != target::MatrixInput::i4 || has("iu4")))
      return shape.cycles;
  }
  return target.wmma16.cycles;
}

/// Clocks of the VALU pipe; 64-bit and double precision ones hold it longer on RDNA.
std::uint16_t valu_hold(const Instruction& inst, const target::Timing& t) {
  const std::string_view name = inst.info().name;
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  std::uint16_t factor = 1;
  if (has("_f64")) {
    factor = t.double_issue;
  } else if (has("mad_u64") || has("mad_i64") || has("mul_lo_u32") || has("mul_hi")) {
    factor = t.wide_multiply;
  } else if (has("_b64") && has("sh")) {
    factor = t.wide_shift;
  }
  return static_cast<std::uint16_t>(factor * t.valu_issue);
}

class Maker {
 public:
  Maker(std::span<const Instruction> code, std::span<const AccessNote> notes, const target::Target& target,
        const Atoms& atoms)
      : code_(code), target_(target), t_(target.timing), atoms_(atoms) {
    for (const AccessNote& n : notes) notes_.emplace(n.index, n);
  }

  Steps make(std::span<const std::size_t> stretch, bool loops) {
    Steps steps;
    steps.atom_count = atoms_.count();
    pending_.clear();
    for (std::size_t at = 0; at < stretch.size(); ++at) {
      const std::size_t i = stretch[at];
      const Instruction& inst = code_[i];
      if (inst.dual == isa::Dual::y) {
        join(steps, inst);
        continue;
      }
      if (inst.op == Opcode::s_delay_alu) {
        note_delay(inst, steps.list.size());
        continue;  // leaves no trace in hardware: it is taken with the next instruction
      }
      Step step = classify(inst, i);
      if (step.unit == Unit::branch) {
        step.taken = loops ? at + 1 == stretch.size() : !inst.has(flag::conditional);
        step.after_compare = at > 0 && isa::implicit(code_[stretch[at - 1]]).writes_scc;
      }
      registers(steps, step, inst);
      apply_delay(steps, step);
      steps.list.push_back(step);
    }
    return steps;
  }

  /// `one` holds each instruction once, as make() gives it.
  [[nodiscard]] Steps stream(const Steps& one, std::span<const Executed> executed) const {
    std::unordered_map<std::size_t, std::size_t> place;
    for (std::size_t i = 0; i < one.list.size(); ++i) place.emplace(one.list[i].index, i);
    Steps steps{.list = {}, .atoms = one.atoms, .atom_count = one.atom_count};
    steps.list.reserve(executed.size());
    for (std::size_t at = 0; at < executed.size(); ++at) {
      const Executed& e = executed[at];
      const auto found = place.find(e.index);
      if (found == place.end()) continue;  // s_delay_alu
      Step& step = steps.list.emplace_back(one.list[found->second]);
      if (step.unit == Unit::branch)
        step.taken = at + 1 < executed.size() && executed[at + 1].index != e.index + 1;
      if (step.unit == Unit::lds || step.unit == Unit::vmem_load || step.unit == Unit::vmem_store)
        memory_cost(
            step, code_[e.index],
            AccessNote{.index = e.index, .conflict_clocks = e.conflict_clocks, .bytes = double(e.bytes)});
    }
    return steps;
  }

 private:
  struct Delay {
    std::size_t step;
    unsigned id;
  };

  void registers(Steps& steps, Step& step, const Instruction& inst) const {
    const ir::RegisterAccesses accesses = ir::register_accesses(inst, target_);
    step.first_read = static_cast<std::uint16_t>(steps.atoms.size());
    step.reads = static_cast<std::uint16_t>(atoms_.append(steps.atoms, accesses.reads()));
    step.first_write = static_cast<std::uint16_t>(steps.atoms.size());
    step.writes = static_cast<std::uint16_t>(atoms_.append(steps.atoms, accesses.writes()));
  }

  /// The second half of a pair issues with the first.
  void join(Steps& steps, const Instruction& inst) const {
    if (steps.list.empty()) return;
    Step& x = steps.list.back();
    std::vector<std::uint16_t> reads(steps.atoms.begin() + x.first_read,
                                     steps.atoms.begin() + x.first_read + x.reads);
    std::vector<std::uint16_t> writes(steps.atoms.begin() + x.first_write,
                                      steps.atoms.begin() + x.first_write + x.writes);
    const ir::RegisterAccesses accesses = ir::register_accesses(inst, target_);
    atoms_.append(reads, accesses.reads());
    atoms_.append(writes, accesses.writes());
    steps.atoms.resize(x.first_read);
    steps.atoms.insert(steps.atoms.end(), reads.begin(), reads.end());
    x.reads = static_cast<std::uint16_t>(reads.size());
    x.first_write = static_cast<std::uint16_t>(steps.atoms.size());
    steps.atoms.insert(steps.atoms.end(), writes.begin(), writes.end());
    x.writes = static_cast<std::uint16_t>(writes.size());
  }

  void note_delay(const Instruction& inst, std::size_t next) {
    const auto word = static_cast<unsigned>(inst.src[0].value);
    pending_.push_back({next, word & 15U});
    pending_.push_back({next + (word >> 4U & 7U), word >> 7U & 15U});
  }

  void apply_delay(const Steps& steps, Step& step) {
    constexpr unsigned first_salu = 9, last_salu = 11;
    for (const Delay& d : pending_) {
      if (d.step != steps.list.size() || d.id == 0) continue;
      if (d.id >= first_salu && d.id <= last_salu) {
        step.salu_delay = static_cast<std::uint16_t>(d.id - first_salu + 1);
      } else {
        step.hinted = true;
      }
    }
  }

  Step classify(const Instruction& inst, std::size_t index) const {
    Step s;
    s.index = index;
    switch (inst.pipe()) {
      case Pipe::valu:
      case Pipe::dot:
        s.unit = Unit::valu;
        s.hold = valu_hold(inst, t_);
        s.latency = static_cast<std::uint16_t>(t_.valu_dependent + s.hold - t_.valu_issue);
        break;
      case Pipe::trans:
        s.unit = Unit::trans;
        s.hold = t_.trans_issue;
        s.latency = t_.trans_dependent;
        break;
      case Pipe::matrix:
        s.unit = Unit::matrix;
        s.hold = matrix_hold(inst, target_);
        s.latency = static_cast<std::uint16_t>(s.hold + t_.matrix_chain);
        break;
      case Pipe::salu:
        s.unit = Unit::salu;
        s.latency = t_.salu_dependent;
        break;
      case Pipe::smem:
        s.unit = Unit::scalar_load;
        break;
      case Pipe::lds:
        s.unit = Unit::lds;
        memory_cost(s, inst);
        break;
      case Pipe::vmem:
        s.unit = inst.has(flag::load) && !inst.has(flag::atomic) ? Unit::vmem_load : Unit::vmem_store;
        memory_cost(s, inst);
        break;
      case Pipe::branch:
        s.unit = inst.op == Opcode::s_endpgm ? Unit::end : Unit::branch;
        break;
      case Pipe::barrier:
        s.unit = inst.op == Opcode::s_barrier_wait ? Unit::barrier_wait
                 : inst.op == Opcode::s_barrier    ? Unit::barrier
                                                   : Unit::barrier_signal;
        break;
      case Pipe::wait:
        s.unit = Unit::wait;
        wait_counts(s, inst);
        break;
      default:
        break;
    }
    return s;
  }

  void memory_cost(Step& s, const Instruction& inst) const {
    const auto note = notes_.find(s.index);
    memory_cost(s, inst, note != notes_.end() ? std::optional(note->second) : std::nullopt);
  }

  void memory_cost(Step& s, const Instruction& inst, const std::optional<AccessNote>& note) const {
    s.bytes = data_bytes(inst) * target_.wave_size;
    const double extra = note ? note->conflict_clocks : 0;
    if (note && s.unit != Unit::lds) s.bytes = static_cast<std::uint32_t>(std::lround(note->bytes));
    const unsigned rate = s.unit == Unit::lds ? t_.lds_bytes_per_clock : t_.vmem_issue_bytes;
    s.port = static_cast<std::uint16_t>(std::max(1L, std::lround(std::ceil(s.bytes / double(rate)) + extra)));
  }

  void wait_counts(Step& s, const Instruction& inst) const {
    const auto value =
        static_cast<std::uint8_t>(inst.src_count > 0 ? inst.src[inst.src_count - 1].value & 0xFF : 0);
    const auto set = [&](Counter c, std::uint8_t left) { s.left[static_cast<std::size_t>(c)] = left; };
    const auto word = inst.src_count > 0 ? static_cast<std::uint16_t>(inst.src[inst.src_count - 1].value) : 0;
    switch (inst.op) {
      case Opcode::s_waitcnt: {
        const isa::WaitCounts c = isa::decode_waitcnt(word, target_);
        set(Counter::vector_loads, c.vmcnt);
        set(Counter::lds, c.lgkmcnt);
        if (target_.waits.kmcnt == 0) set(Counter::scalar, c.lgkmcnt);
        break;
      }
      case Opcode::s_waitcnt_vscnt:
      case Opcode::s_wait_storecnt:
        set(Counter::vector_stores, value);
        break;
      case Opcode::s_wait_loadcnt:
        set(Counter::vector_loads, value);
        break;
      case Opcode::s_wait_dscnt:
        set(Counter::lds, value);
        break;
      case Opcode::s_wait_kmcnt:
        set(Counter::scalar, value);
        break;
      case Opcode::s_wait_loadcnt_dscnt:
        set(Counter::vector_loads, static_cast<std::uint8_t>(word >> 8 & 0x3F));
        set(Counter::lds, static_cast<std::uint8_t>(word & 0x3F));
        break;
      case Opcode::s_wait_storecnt_dscnt:
        set(Counter::vector_stores, static_cast<std::uint8_t>(word >> 8 & 0x3F));
        set(Counter::lds, static_cast<std::uint8_t>(word & 0x3F));
        break;
      case Opcode::s_wait_idle:
        s.left.fill(0);
        break;
      default:
        break;
    }
  }

  std::span<const Instruction> code_;
  const target::Target& target_;
  const target::Timing& t_;
  const Atoms& atoms_;
  std::unordered_map<std::size_t, AccessNote> notes_;
  std::vector<Delay> pending_;
};

/// Straight on from `from` until `to` or an end; jumps are followed, conditional branches fall through.
std::vector<std::size_t> walk(std::span<const Instruction> code, std::size_t from, std::size_t to) {
  std::vector<std::size_t> path;
  std::vector<bool> seen(code.size());
  for (std::size_t i = from; i < code.size() && i != to && !seen[i];) {
    seen[i] = true;
    path.push_back(i);
    if (code[i].op == Opcode::s_endpgm) break;
    const bool jump = code[i].has(flag::terminator) && !code[i].has(flag::conditional) &&
                      code[i].src_count > 0 && code[i].src[0].kind == isa::Operand::Kind::label;
    i = jump ? code[i].src[0].index : i + 1;
  }
  return path;
}

}  // namespace

unsigned data_bytes(const Instruction& inst) {
  const std::string_view name = inst.info().name;
  if (name.find("16") != std::string_view::npos && data_dwords(inst) == 1 &&
      (inst.has(flag::d16 | flag::d16_hi) || name.find("_u16") != std::string_view::npos ||
       name.find("_i16") != std::string_view::npos || name.find("_b16") != std::string_view::npos))
    return 2;
  if (name.find("_u8") != std::string_view::npos || name.find("_i8") != std::string_view::npos ||
      name.find("_b8") != std::string_view::npos)
    return 1;
  return 4 * data_dwords(inst);
}

Stretches split(std::span<const Instruction> code, std::span<const std::size_t> loop_body) {
  Stretches s;
  s.body.assign(loop_body.begin(), loop_body.end());
  if (loop_body.empty()) {
    s.prologue = walk(code, 0, code.size());
    return s;
  }
  s.prologue = walk(code, 0, loop_body.front());
  s.epilogue = walk(code, loop_body.back() + 1, code.size());
  return s;
}

Prepared prepare(std::span<const Instruction> code, const Stretches& stretches,
                 std::span<const AccessNote> notes, const target::Target& target) {
  std::vector<std::size_t> used = stretches.prologue;
  used.insert(used.end(), stretches.body.begin(), stretches.body.end());
  used.insert(used.end(), stretches.epilogue.begin(), stretches.epilogue.end());
  const Atoms atoms(code, used, target);
  Maker maker(code, notes, target, atoms);
  return {maker.make(stretches.prologue, false), maker.make(stretches.body, true),
          maker.make(stretches.epilogue, false)};
}

std::vector<Steps> prepare_streams(std::span<const Instruction> code,
                                   std::span<const std::vector<Executed>> waves,
                                   const target::Target& target) {
  std::set<std::size_t> distinct;
  for (const std::vector<Executed>& wave : waves)
    for (const Executed& e : wave) {
      distinct.insert(e.index);
      if (code[e.index].dual == isa::Dual::x) distinct.insert(e.index + 1);
    }
  const std::vector<std::size_t> used(distinct.begin(), distinct.end());
  const Atoms atoms(code, used, target);
  Maker maker(code, {}, target, atoms);
  const Steps one = maker.make(used, false);
  std::vector<Steps> streams;
  for (const std::vector<Executed>& wave : waves) streams.push_back(maker.stream(one, wave));
  return streams;
}

}  // namespace wavejit::model
