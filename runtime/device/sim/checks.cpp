// SPDX-License-Identifier: MIT
// Definedness and readiness of registers. The common case — everything an instruction touches is
// defined and has arrived — is decided by the caller with a few bit operations; this file is the
// rest.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/device/sim/wave.hpp"

namespace wavejit::sim {
namespace {

using detail::Inst;
using detail::Touch;

const Touch* reads_of(const Wave& w, const Inst& inst) { return w.code->touches.data() + inst.reads_begin; }
const Touch* writes_of(const Wave& w, const Inst& inst) { return w.code->touches.data() + inst.writes_begin; }

std::string vector_name(unsigned reg) {
  return reg < 256 ? fmt::format("v{}", reg) : fmt::format("a{}", reg - 256);
}

std::string scalar_name(unsigned reg) {
  switch (reg) {
    case isa::sreg::vcc_lo:
      return "vcc_lo";
    case isa::sreg::vcc_hi:
      return "vcc_hi";
    case isa::sreg::m0:
      return "m0";
    case isa::sreg::exec_lo:
      return "exec_lo";
    case isa::sreg::exec_hi:
      return "exec_hi";
    case detail::scc_index:
      return "scc";
    default:
      return reg >= isa::sreg::ttmp0 && reg < isa::sreg::null ? fmt::format("ttmp{}", reg - isa::sreg::ttmp0)
                                                              : fmt::format("s{}", reg);
  }
}

/// The pending operation that will write the register, for the report.
std::string who_writes(const Wave& w, bool scalar, unsigned reg) {
  for (const PendingQueue* q : {&w.vm, &w.lgkm, &w.km}) {
    for (std::size_t i = 0; i < q->size(); ++i) {
      const Pending& p = (*q)[i];
      if (p.to_sgpr == scalar && reg >= p.reg && reg < p.reg + p.count) {
        const auto& text = w.code->texts[w.code->insts[p.inst].index];
        return fmt::format("`{}` at 0x{:x}", text.text, text.address);
      }
    }
  }
  return "an earlier load";
}

void report_pending(Wave& w, const Inst& inst) {
  const auto vectors = [&](const Touch* touches, unsigned count, std::string_view verb) {
    for (unsigned i = 0; i < count; ++i) {
      const unsigned reg = touches[i].reg;
      if (!w.vpending.test(reg)) continue;
      report(w, inst, FaultKind::in_flight, 0, std::nullopt, [&] {
        return fmt::format("{} {} while {} is in flight; a wait that covers it must come first", verb,
                           vector_name(reg), who_writes(w, false, reg));
      });
      return;
    }
  };
  vectors(reads_of(w, inst), inst.reads_count, "reads");
  vectors(writes_of(w, inst), inst.writes_count, "writes");
  const auto scalars = [&](const detail::ScalarSet& set, std::string_view verb) {
    for (unsigned r = 0; r < detail::scalar_registers; ++r) {
      if (!set.test(r) || !w.spending.test(r)) continue;
      report(w, inst, FaultKind::in_flight, 0, std::nullopt, [&] {
        return fmt::format("{} {} while {} is in flight; a wait that covers it must come first", verb,
                           scalar_name(r), who_writes(w, true, r));
      });
      return;
    }
  };
  scalars(inst.sread, "reads");
  scalars(inst.swrite, "writes");
}

/// Lanes of its VGPR sources whose values the instruction uses.
std::uint64_t lanes_used(const Wave& w, const Inst& inst) {
  const std::uint64_t exec = w.exec();
  switch (inst.lanes) {
    case detail::LaneUse::all:
      return w.all_lanes();
    case detail::LaneUse::first_active:
      return exec != 0 ? exec & -exec : 1;
    case detail::LaneUse::selected:
      return std::uint64_t{1} << (w.scalar(inst.src[1]) & (w.lanes - 1));
    case detail::LaneUse::none:
      return 0;
    case detail::LaneUse::exec:
      break;
  }
  // A lane that DPP or a permute fetches from elsewhere: any lane may be looked at, but inactive
  // ones are fetched only on request.
  return exec;
}

bool is_mad64(isa::Opcode op) { return op == isa::Opcode::v_mad_u64_u32 || op == isa::Opcode::v_mad_i64_i32; }

/// A 64-bit multiply-add whose addend has only its high dword undefined: compilers write it for the low
/// dword of the result, which does not depend on it.
bool only_high_addend(const Wave& w, const Inst& inst, std::uint64_t lanes) {
  if (!is_mad64(inst.op) || inst.src[2].kind != detail::Source::Kind::vgpr) return false;
  const Touch* t = reads_of(w, inst);
  for (unsigned i = 0; i < inst.reads_count; ++i) {
    const bool high_addend = t[i].source == 2 && t[i].reg == inst.src[2].reg + 1;
    const std::uint64_t bad = (w.undefined_low[t[i].reg] | w.undefined_high[t[i].reg]) & lanes;
    if (bad != 0 && !high_addend) return false;
  }
  return true;
}

bool propagates(const Wave& w, const Inst& inst, std::uint64_t lanes) {
  return inst.on_undefined == detail::OnUndefined::propagate || only_high_addend(w, inst, lanes);
}

bool any_undefined(const Wave& w, const Inst& inst, std::uint64_t lanes) {
  const Touch* t = reads_of(w, inst);
  for (unsigned i = 0; i < inst.reads_count; ++i) {
    std::uint64_t bad = 0;
    if ((t[i].halves & detail::low_half) != 0) bad |= w.undefined_low[t[i].reg];
    if ((t[i].halves & detail::high_half) != 0) bad |= w.undefined_high[t[i].reg];
    if ((bad & lanes) != 0) return true;
  }
  return false;
}

void report_undefined_vectors(Wave& w, const Inst& inst, std::uint64_t lanes) {
  const Touch* t = reads_of(w, inst);
  for (unsigned i = 0; i < inst.reads_count; ++i) {
    const std::uint64_t low = (t[i].halves & detail::low_half) != 0 ? w.undefined_low[t[i].reg] & lanes : 0;
    const std::uint64_t high =
        (t[i].halves & detail::high_half) != 0 ? w.undefined_high[t[i].reg] & lanes : 0;
    if ((low | high) == 0) continue;
    report(w, inst, FaultKind::undefined_value, low | high, std::nullopt, [&] {
      const char* part = low == 0 ? "the high half of " : high == 0 ? "the low half of " : "";
      return fmt::format(
          "uses {}{}, which nothing has written in these lanes (or only with undefined values)", part,
          vector_name(t[i].reg));
    });
    return;
  }
}

void report_undefined_scalars(Wave& w, const Inst& inst) {
  for (unsigned r = 0; r < detail::scalar_registers; ++r) {
    if (!inst.sread.test(r) || !w.sundefined.test(r)) continue;
    report(w, inst, FaultKind::undefined_value, 0, std::nullopt, [&] {
      return fmt::format("uses {}, which nothing has written (or only with undefined values)",
                         scalar_name(r));
    });
    return;
  }
}

}  // namespace

void set_undefined(Wave& w, unsigned reg, std::uint64_t lanes, std::uint64_t low, std::uint64_t high,
                   std::uint8_t halves) {
  if ((halves & detail::low_half) != 0)
    w.undefined_low[reg] = (w.undefined_low[reg] & ~lanes) | (low & lanes);
  if ((halves & detail::high_half) != 0)
    w.undefined_high[reg] = (w.undefined_high[reg] & ~lanes) | (high & lanes);
  if ((w.undefined_low[reg] | w.undefined_high[reg]) != 0) {
    w.partial.set(reg);
  } else {
    w.partial.reset(reg);
  }
}

bool check_registers(Wave& w, const Inst& inst) {
  if (inst.out_of_allocation) {
    report(w, inst, FaultKind::register_range, 0, std::nullopt, [&] {
      const unsigned agprs = w.code->allocated_agprs;
      return fmt::format("the kernel descriptor allocates v0..v{}{}", w.code->allocated_vgprs - 1,
                         agprs != 0 ? fmt::format(" and a0..a{}", agprs - 1) : "");
    });
  }
  if (w.deallocated && (inst.vread.any() || inst.vwrite.any())) {
    report(w, inst, FaultKind::after_dealloc, 0, std::nullopt,
           [] { return std::string("the wave has given its VGPRs back with s_sendmsg dealloc_vgprs"); });
  }
  if (inst.vread.meets(w.vpending) || inst.vwrite.meets(w.vpending) || inst.sread.meets(w.spending) ||
      inst.swrite.meets(w.spending)) {
    report_pending(w, inst);
  }
  if (!w.worker->on(FaultKind::undefined_value)) return true;
  const std::uint64_t lanes = lanes_used(w, inst);
  const bool scalar = inst.sread.meets(w.sundefined);
  const bool vector = inst.vread.meets(w.partial) && any_undefined(w, inst, lanes);
  if (!scalar && !vector) return true;
  if (propagates(w, inst, lanes) && (vector || inst.pipe == isa::Pipe::salu)) {
    // A select by an undefined mask or condition is a use, whatever the operands are.
    const unsigned decider = inst.op == isa::Opcode::s_cselect_b32 || inst.op == isa::Opcode::s_cselect_b64 ||
                                     inst.op == isa::Opcode::s_cmov_b32
                                 ? detail::scc_index
                                 : detail::scalar_registers;
    if (decider < detail::scalar_registers && w.sundefined.test(decider)) report_undefined_scalars(w, inst);
    if (inst.pipe != isa::Pipe::salu && scalar) report_undefined_scalars(w, inst);
    return false;
  }
  if (propagates(w, inst, lanes) && inst.op == isa::Opcode::v_mov_b32) return false;
  if (scalar) report_undefined_scalars(w, inst);
  if (vector) report_undefined_vectors(w, inst, lanes);
  return true;
}

namespace {

void propagate_scalar(Wave& w, const Inst& inst) {
  inst.execute(w, inst);
  detail::ScalarSet sources = inst.sread;
  sources.reset(detail::scc_index);
  const bool undefined = sources.meets(w.sundefined);
  for (unsigned i = 0; i < detail::ScalarSet::words; ++i) {
    w.sundefined.w[i] =
        undefined ? w.sundefined.w[i] | inst.swrite.w[i] : w.sundefined.w[i] & ~inst.swrite.w[i];
  }
}

/// Everything that a sum's undefined high dword reaches: the high dword and the carry.
void propagate_mad64(Wave& w, const Inst& inst) {
  const unsigned high = inst.src[2].reg + 1U;
  const std::uint64_t exec = w.exec();
  const std::uint64_t undefined = (w.undefined_low[high] | w.undefined_high[high]) & exec;
  inst.execute(w, inst);
  set_undefined(w, inst.dst, exec, 0, 0, detail::both_halves);
  set_undefined(w, inst.dst + 1U, exec, undefined, undefined, detail::both_halves);
  for (unsigned i = 0; i < detail::ScalarSet::words; ++i) w.sundefined.w[i] |= inst.swrite.w[i];
}

/// The registers that `inst` reads and that are undefined in part, each once.
std::vector<unsigned> undefined_sources(const Wave& w, const Inst& inst) {
  std::vector<unsigned> regs;
  const Touch* t = reads_of(w, inst);
  for (unsigned i = 0; i < inst.reads_count; ++i) {
    if (w.partial.test(t[i].reg) && std::ranges::find(regs, t[i].reg) == regs.end()) regs.push_back(t[i].reg);
  }
  return regs;
}

}  // namespace

void propagate(Wave& w, const Inst& inst) {
  if (inst.pipe == isa::Pipe::salu) return propagate_scalar(w, inst);
  if (is_mad64(inst.op)) return propagate_mad64(w, inst);
  const std::uint64_t exec = w.exec();
  const Touch* writes = writes_of(w, inst);
  if (inst.op == isa::Opcode::v_mov_b32 && inst.src[0].kind == detail::Source::Kind::sgpr) {
    const bool undefined = inst.sread.meets(w.sundefined);
    inst.execute(w, inst);
    set_undefined(w, inst.dst, exec, undefined ? exec : 0, undefined ? exec : 0, detail::both_halves);
    return;
  }
  // Run it with the undefined halves all clear and all set, in every combination of source
  // registers: a result bit that never changes does not depend on them. That is exact for moves,
  // selects and bit operations.
  const std::vector<unsigned> regs = undefined_sources(w, inst);
  std::vector<std::vector<std::uint32_t>> saved;
  for (unsigned r : regs) saved.emplace_back(w.row(r), w.row(r) + w.lanes);
  std::vector<std::vector<std::uint32_t>> old;
  for (unsigned i = 0; i < inst.writes_count; ++i) {
    old.emplace_back(w.row(writes[i].reg), w.row(writes[i].reg) + w.lanes);
  }
  const auto restore = [&] {
    for (unsigned i = 0; i < inst.writes_count; ++i) std::ranges::copy(old[i], w.row(writes[i].reg));
    for (std::size_t i = 0; i < regs.size(); ++i) std::ranges::copy(saved[i], w.row(regs[i]));
  };
  std::vector<std::array<std::uint32_t, detail::max_lanes>> first(inst.writes_count),
      differs(inst.writes_count);
  for (unsigned combination = 0; combination < 1U << regs.size(); ++combination) {
    for (std::size_t i = 0; i < regs.size(); ++i) {
      const std::uint32_t fill = (combination >> i & 1) != 0 ? ~0U : 0;
      for (unsigned l = 0; l < w.lanes; ++l) {
        const std::uint32_t unknown = ((w.undefined_low[regs[i]] >> l & 1) != 0 ? 0xFFFFU : 0) |
                                      ((w.undefined_high[regs[i]] >> l & 1) != 0 ? 0xFFFF0000U : 0);
        std::uint32_t& value = w.row(regs[i])[l];
        value = (value & ~unknown) | (fill & unknown);
      }
    }
    inst.execute(w, inst);
    for (unsigned i = 0; i < inst.writes_count; ++i) {
      for (unsigned l = 0; l < w.lanes; ++l) {
        const std::uint32_t value = w.row(writes[i].reg)[l];
        if (combination == 0) first[i][l] = value;
        differs[i][l] = (combination == 0 ? 0 : differs[i][l]) | (value ^ first[i][l]);
      }
    }
    restore();
  }
  inst.execute(w, inst);
  for (unsigned i = 0; i < inst.writes_count; ++i) {
    std::uint64_t low = 0, high = 0;
    for (unsigned l = 0; l < w.lanes; ++l) {
      if ((differs[i][l] & 0xFFFF) != 0) low |= std::uint64_t{1} << l;
      if ((differs[i][l] & 0xFFFF0000) != 0) high |= std::uint64_t{1} << l;
    }
    set_undefined(w, writes[i].reg, exec, low, high, writes[i].halves);
  }
}

void report_partial_exec(Wave& w, const Inst& inst) {
  report(w, inst, FaultKind::partial_exec, w.all_lanes() & ~w.exec(), std::nullopt,
         [] { return std::string("a matrix instruction needs EXEC all ones; these lanes are off"); });
}

void report_replication(Wave& w, const Inst& inst, unsigned operand, unsigned dword) {
  constexpr unsigned n = 16;
  const unsigned reg = inst.src[operand].reg + dword;
  const std::uint32_t* row = w.row(reg);
  std::uint64_t lanes = 0;
  for (unsigned l = n; l < w.lanes; ++l)
    if (row[l] != row[l % n]) lanes |= std::uint64_t{1} << l;
  report(w, inst, FaultKind::wmma_replication, lanes, std::nullopt, [&] {
    return fmt::format("{} of operand {} differs from lane l mod 16, which these lanes must copy",
                       vector_name(reg), operand == 0 ? "A" : "B");
  });
}

void mark_written(Wave& w, const Inst& inst, std::uint64_t exec_before) {
  for (unsigned i = 0; i < detail::ScalarSet::words; ++i) w.sundefined.w[i] &= ~inst.swrite.w[i];
  std::uint64_t partial = 0;
  for (unsigned i = inst.word_begin; i < inst.word_end; ++i) partial |= inst.vwrite.w[i] & w.partial.w[i];
  if (partial == 0) return;
  if (inst.pipe == isa::Pipe::vmem || inst.pipe == isa::Pipe::lds) return;  // they say byte by byte
  std::uint64_t lanes = inst.writes_all_lanes ? w.all_lanes() : exec_before;
  if (inst.op == isa::Opcode::v_writelane_b32) {
    lanes = std::uint64_t{1} << (w.scalar(inst.src[1]) & (w.lanes - 1));
  }
  const Touch* t = writes_of(w, inst);
  for (unsigned i = 0; i < inst.writes_count; ++i) set_undefined(w, t[i].reg, lanes, 0, 0, t[i].halves);
}

}  // namespace wavejit::sim
