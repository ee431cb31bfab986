// SPDX-License-Identifier: MIT
// Required wait states: shared/hardware.md §2.5 (matrix instructions) and §5.3, which come from LLVM 22's
// hazard recogniser and the CDNA3 ISA manual's tables. Written apart from the table that the pass uses.
#include "runtime/device/sim/hazards_gfx9.hpp"

#include <fmt/format.h>

#include <bit>

#include "runtime/device/sim/wave.hpp"

namespace wavejit::sim {
namespace {

using detail::Inst;
using detail::Source;
using isa::Opcode;
using isa::Pipe;

bool plain_valu(const Inst& i) {
  return i.pipe == Pipe::valu || i.pipe == Pipe::trans || i.pipe == Pipe::dot;
}
bool any_valu(const Inst& i) { return plain_valu(i) || i.pipe == Pipe::matrix; }
bool memory(const Inst& i) { return i.pipe == Pipe::vmem || i.pipe == Pipe::lds; }

bool is_readlane(Opcode op) { return op == Opcode::v_readlane_b32 || op == Opcode::v_readfirstlane_b32; }
bool is_row_swap(Opcode op) {
  return op == Opcode::v_permlane16_swap_b32 || op == Opcode::v_permlane32_swap_b32;
}
bool uses_dpp(const Inst& i) { return i.mods.dpp.kind != isa::Dpp::Kind::none; }

/// Its result lies elsewhere in the register than the unit made it.
bool shifts_result(const Inst& i) {
  if (i.mods.sdwa.on) return i.mods.sdwa.dst != isa::Sdwa::Select::dword;
  return i.has_dst && !i.dst_scalar && i.dst_high;
}

/// M = N = 16 take four passes of four clocks, 32 eight.
unsigned passes_of(const Inst& i) { return i.dst_width == 4 ? 4 : 8; }

/// 0..3 for 2, 4, 8, 16 passes.
unsigned column(unsigned passes) { return passes <= 2 ? 0 : passes <= 4 ? 1 : passes <= 8 ? 2 : 3; }

/// An MFMA's result before any use but as the same C.
unsigned result_slots(const Wave& w, unsigned passes) {
  static constexpr std::uint8_t gfx942[] = {5, 7, 11, 19};
  static constexpr std::uint8_t gfx950[] = {5, 8, 12, 20};
  return w.code->target->hazards.mfma_results_late ? gfx950[column(passes)] : gfx942[column(passes)];
}

/// … as the C of another, of which it is a part or which is part of it.
unsigned overlap_slots(const Wave& w, unsigned passes) {
  static constexpr std::uint8_t gfx942[] = {3, 5, 9, 17};
  static constexpr std::uint8_t gfx950[] = {4, 6, 10, 18};
  return w.code->target->hazards.mfma_results_late ? gfx950[column(passes)] : gfx942[column(passes)];
}

unsigned c_read_slots(unsigned passes) {
  static constexpr std::uint8_t slots[] = {1, 3, 7, 15};
  return slots[column(passes)];
}

template <class F>
void each(const detail::VectorSet& set, F&& f) {
  for (unsigned word = 0; word < detail::VectorSet::words; ++word)
    for (std::uint64_t bits = set.w[word]; bits != 0; bits &= bits - 1)
      f(64 * word + static_cast<unsigned>(std::countr_zero(bits)));
}

/// The data of a store (or atomic) of more than 64 bits a lane, which leaves the registers late.
const Source* late_store_data(const Inst& i) {
  const isa::OpcodeInfo& info = isa::info(i.op);
  if (i.pipe != Pipe::vmem || !info.has(isa::flag::store)) return nullptr;
  const Source& data = i.src[info.has(isa::flag::buffer) ? 0 : 1];
  return data.kind == Source::Kind::vgpr && data.width > 2 ? &data : nullptr;
}

/// A scalar offset makes it a slot earlier.
bool stores_by_scalar_offset(const Inst& i) {
  const Source& soffset = i.src[3];
  return isa::info(i.op).has(isa::flag::buffer) && soffset.kind == Source::Kind::sgpr &&
         soffset.reg != isa::sreg::null;
}

unsigned slots_of(const Inst& i) {
  return i.op == Opcode::s_nop ? static_cast<unsigned>(i.src[0].value & 0xF) + 1 : 1;
}

}  // namespace

void Gfx9Hazards::reset(unsigned registers) {
  constexpr std::uint32_t long_ago = 64;
  slot_ = long_ago;
  vector_.assign(registers, {});
  scalar_.assign(detail::scalar_registers, {});
  m0_ = mode_ = {};
}

void Gfx9Hazards::need(Wave& w, const Inst& inst, const Event& first, unsigned slots, const char* rule) {
  if (first.slot == 0) return;
  const std::uint32_t between = slot_ - first.slot - 1;
  if (between >= slots) return;
  report(w, inst, FaultKind::hazard, 0, std::nullopt, [&] {
    const detail::InstText& text = w.code->texts[first.inst];
    return fmt::format("{}: {} of {} wait states after `{}` at 0x{:x}", rule, between, slots, text.text,
                       text.address);
  });
}

void Gfx9Hazards::scalar_sources(Wave& w, const Inst& inst) {
  const bool lane_access = inst.op == Opcode::v_readlane_b32 || inst.op == Opcode::v_writelane_b32;
  for (unsigned i = 0; i < inst.src_count; ++i) {
    const Source& s = inst.src[i];
    if (s.kind != Source::Kind::sgpr) continue;
    if (s.reg == detail::vccz_index) {
      need(w, inst, scalar_[isa::sreg::vcc_lo], 5, "reads vccz, VCC written by VALU");
    } else if (s.reg == detail::execz_index) {
      need(w, inst, scalar_[isa::sreg::exec_lo], 5, "reads execz, EXEC written by VALU");
    } else if (inst.pipe == Pipe::vmem) {
      for (unsigned r = s.reg; r < static_cast<unsigned>(s.reg) + s.width && r < scalar_.size(); ++r)
        need(w, inst, scalar_[r], 5, "vector memory reads a scalar register written by VALU");
    } else if (any_valu(inst)) {
      const bool exec = s.reg == isa::sreg::exec_lo || s.reg == isa::sreg::exec_hi;
      const bool select = lane_access && i == 1;
      const char* rule = select ? "selects a lane by a scalar register written by VALU"
                         : exec ? "reads EXEC as data, written by VALU"
                                : "reads a scalar register written by VALU";
      for (unsigned r = s.reg; r < static_cast<unsigned>(s.reg) + s.width && r < scalar_.size(); ++r)
        need(w, inst, scalar_[r], select ? 4 : 2, rule);
    }
  }
  if (inst.op == Opcode::v_div_fmas_f32)
    need(w, inst, scalar_[isa::sreg::vcc_lo], 4, "v_div_fmas reads VCC written by VALU");
  const bool uses_m0 = inst.pipe == Pipe::vmem && inst.sread.test(isa::sreg::m0);
  if (uses_m0) need(w, inst, scalar_[isa::sreg::m0], 5, "vector memory reads M0 written by VALU");
}

void Gfx9Hazards::exec_users(Wave& w, const Inst& inst) {
  const Event& exec = scalar_[isa::sreg::exec_lo];
  if (exec.slot == 0) return;
  if (uses_dpp(inst)) need(w, inst, exec, 5, "DPP after VALU has written EXEC");
  if (is_readlane(inst.op) || inst.op == Opcode::v_writelane_b32 || is_row_swap(inst.op))
    need(w, inst, exec, 4, "crosses lanes after VALU has written EXEC");
  if (inst.pipe == Pipe::matrix) need(w, inst, exec, 4, "matrix instruction after VALU has written EXEC");
}

void Gfx9Hazards::vector_sources(Wave& w, const Inst& inst) {
  const bool valu = plain_valu(inst);
  if (!valu && !memory(inst)) return;
  const Source& first = inst.src[0];
  if (valu && uses_dpp(inst) && first.kind == Source::Kind::vgpr)
    need(w, inst, vector_[first.reg].valu, 2, "DPP reads a register written by VALU");
  each(inst.vread, [&](unsigned r) {
    const VectorMarks& m = vector_[r];
    if (m.mfma.slot != 0)
      need(w, inst, m.mfma, result_slots(w, m.passes), "uses a matrix instruction's result");
    if (m.valu.slot == 0) return;
    const bool same_accumulator = inst.op == m.op && inst.src[2].kind == Source::Kind::vgpr &&
                                  inst.src[2].reg == r &&
                                  !(inst.src[0].kind == Source::Kind::vgpr && inst.src[0].reg == r) &&
                                  !(inst.src[1].kind == Source::Kind::vgpr && inst.src[1].reg == r);
    const bool same_tied = inst.op == m.op && inst.has_dst && inst.dst == r && inst.src_count == 2;
    if (m.dot && !same_accumulator && !same_tied) need(w, inst, m.valu, 3, "uses a dot product's result");
    if (!valu) return;
    if (is_readlane(inst.op)) need(w, inst, m.valu, 1, "reads a lane of a register written by VALU");
    if (is_row_swap(inst.op)) need(w, inst, m.valu, 2, "swaps rows of a register written by VALU");
    if (m.trans && inst.pipe != Pipe::trans) need(w, inst, m.valu, 1, "uses a transcendental result");
    if (m.shifted) need(w, inst, m.valu, 1, "uses a result that was put into part of its register");
  });
}

void Gfx9Hazards::matrix_sources(Wave& w, const Inst& inst) {
  for (unsigned i = 0; i < 3; ++i) {
    const Source& s = inst.src[i];
    if (s.kind != Source::Kind::vgpr) continue;
    for (unsigned r = s.reg; r < static_cast<unsigned>(s.reg) + s.width; ++r) {
      const VectorMarks& m = vector_[r];
      need(w, inst, m.valu, m.dot ? 3 : 2, "matrix instruction reads a register written by VALU");
      if (m.mfma.slot == 0) continue;
      if (i < 2) {
        need(w, inst, m.mfma, result_slots(w, m.passes), "reads a matrix instruction's result as A or B");
      } else if (m.first == s.reg && m.count == s.width && m.passes == passes_of(inst)) {
        need(w, inst, m.mfma, m.passes <= 2 ? 2 : 0, "reads a matrix instruction's result as C");
      } else {
        need(w, inst, m.mfma, overlap_slots(w, m.passes), "reads part of a matrix instruction's result as C");
      }
    }
  }
}

void Gfx9Hazards::destinations(Wave& w, const Inst& inst) {
  const bool valu = plain_valu(inst);
  each(inst.vwrite, [&](unsigned r) {
    const VectorMarks& m = vector_[r];
    const unsigned earlier = m.early_store ? 1 : 0;
    need(w, inst, m.store, (any_valu(inst) ? 2U : 1U) - earlier, "overwrites the data of a wide store");
    if (inst.pipe == Pipe::matrix) return;
    need(w, inst, m.mfma, result_slots(w, m.passes), "overwrites a matrix instruction's result");
    need(w, inst, m.mfma_c, c_read_slots(m.c_passes), "overwrites what a matrix instruction reads as C");
    const bool same_dot = inst.op == m.op;
    if (valu && m.dot && !same_dot) need(w, inst, m.valu, 3, "overwrites a dot product's result");
  });
}

void Gfx9Hazards::m0_and_mode(Wave& w, const Inst& inst) {
  const bool dma = inst.mods.lds || isa::info(inst.op).has(isa::flag::to_lds);
  if (dma || inst.op == Opcode::s_sendmsg) need(w, inst, m0_, 1, "uses M0 written by SALU");
  const bool sets = inst.op == Opcode::s_setreg_b32 || inst.op == Opcode::s_setreg_imm32_b32;
  if (!sets && inst.op != Opcode::s_getreg_b32) return;
  const std::uint32_t id = static_cast<std::uint32_t>(inst.src[0].value) & 63;
  if (id == mode_register_) need(w, inst, mode_, 2, "accesses a hardware register written by s_setreg");
  if (sets) {
    mode_ = now(inst);
    mode_register_ = id;
  }
}

void Gfx9Hazards::note_matrix(const Inst& inst) {
  const unsigned passes = passes_of(inst);
  const Source& c = inst.src[2];
  if (c.kind == Source::Kind::vgpr) {
    for (unsigned r = c.reg; r < static_cast<unsigned>(c.reg) + c.width; ++r) {
      vector_[r].mfma_c = now(inst);
      vector_[r].c_passes = static_cast<std::uint8_t>(passes);
    }
  }
  for (unsigned r = inst.dst; r < static_cast<unsigned>(inst.dst) + inst.dst_width; ++r) {
    VectorMarks& m = vector_[r];
    m.valu = {};
    m.trans = m.shifted = m.dot = false;
    m.mfma = now(inst);
    m.first = inst.dst;
    m.count = inst.dst_width;
    m.passes = static_cast<std::uint8_t>(passes);
  }
}

void Gfx9Hazards::note(const Inst& inst) {
  if (inst.pipe == Pipe::matrix) return note_matrix(inst);
  if (plain_valu(inst)) {
    each(inst.vwrite, [&](unsigned r) {
      VectorMarks m;
      m.valu = now(inst);
      m.trans = inst.pipe == Pipe::trans;
      m.dot = inst.pipe == Pipe::dot;
      m.shifted = shifts_result(inst);
      m.op = inst.op;
      vector_[r] = m;
    });
    for (unsigned r = 0; r < detail::scalar_registers; ++r)
      if (inst.swrite.test(r)) scalar_[r] = now(inst);
    return;
  }
  if (memory(inst)) {
    each(inst.vwrite, [&](unsigned r) { vector_[r] = {}; });
    if (const Source* data = late_store_data(inst)) {
      for (unsigned r = data->reg; r < static_cast<unsigned>(data->reg) + data->width; ++r) {
        vector_[r].store = now(inst);
        vector_[r].early_store = stores_by_scalar_offset(inst);
      }
    }
    return;
  }
  // A scalar write ends the hazards of what VALU had written there.
  for (unsigned r = 0; r < detail::scalar_registers; ++r)
    if (inst.swrite.test(r)) scalar_[r] = {};
  if (inst.pipe == Pipe::salu && inst.swrite.test(isa::sreg::m0)) m0_ = now(inst);
}

void Gfx9Hazards::check(Wave& w, const Inst& inst) {
  scalar_sources(w, inst);
  exec_users(w, inst);
  vector_sources(w, inst);
  if (inst.pipe == Pipe::matrix) matrix_sources(w, inst);
  destinations(w, inst);
  m0_and_mode(w, inst);
  note(inst);
  slot_ += slots_of(inst);
}

}  // namespace wavejit::sim
