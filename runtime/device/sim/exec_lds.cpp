// SPDX-License-Identifier: MIT
// LDS loads, stores and lane permutes.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/device/sim/access.hpp"
#include "runtime/device/sim/atomics.hpp"
#include "runtime/device/sim/bank_conflicts.hpp"
#include "runtime/device/sim/gather.hpp"
#include "runtime/device/sim/handlers.hpp"
#include "runtime/device/sim/lds_access.hpp"
#include "runtime/device/sim/wave.hpp"

namespace wavejit::sim {

namespace {

using detail::Inst;
using isa::Opcode;

template <class F>
void each_set(std::uint64_t lanes, F&& f) {
  for (; lanes != 0; lanes &= lanes - 1) f(static_cast<unsigned>(std::countr_zero(lanes)));
}

/// Alignment that LDS asks of an access (hardware.md §7).
unsigned alignment_of(const Wave& w, unsigned bytes) {
  if (bytes >= 8 && w.worker->launch->options.lds_unaligned_mode) return 4;
  return bytes == 12 ? 16 : bytes;
}

/// All lanes on, in bounds and aligned: the common case, decided in one sweep. False if it is not.
bool resolve_all(const Wave& w, const std::uint32_t* row, std::uint32_t offset, LdsAccess& a) {
  const std::uint32_t size = w.group->lds.size();
  if (a.lanes != w.all_lanes() || offset + a.bytes > size || (a.bytes & (a.bytes - 1)) != 0) return false;
  const std::uint32_t last = size - a.bytes - offset;
  std::uint32_t sign = 0;  // set where a row's value exceeds `last`, which has no sign
  std::uint32_t bits = 0;
  for (unsigned base = 0; base < w.lanes; base += 32) {
    const std::uint32_t* in = row + base;
    std::uint32_t* out = a.address.data() + base;
    for (unsigned i = 0; i < 32; ++i) {
      sign |= in[i] | (last - in[i]);
      bits |= in[i] + offset;
      out[i] = in[i] + offset;
    }
  }
  a.aligned = (bits & (a.bytes - 1)) == 0;
  return sign >> 31 == 0 && a.aligned;
}

/// Addresses and checks. Lanes out of bounds or misaligned are reported; the former drop out.
LdsAccess resolve(Wave& w, const Inst& inst, std::uint32_t offset, unsigned bytes) {
  LdsAccess a;
  a.bytes = bytes;
  a.lanes = w.exec();
  if (resolve_all(w, w.row(inst.src[0].reg), offset, a)) [[likely]] {
    if (w.dma_in_flight != 0) check_lds_dma(w, inst, a);
    return a;
  }
  a.aligned = false;
  const std::uint32_t* row = w.row(inst.src[0].reg);
  const std::uint32_t size = w.group->lds.size();
  const std::uint32_t alignment = alignment_of(w, bytes);
  std::uint64_t outside = 0;
  std::uint32_t low_bits = 0;
  for (unsigned l = 0; l < w.lanes; ++l) {
    const std::uint64_t at = std::uint64_t{row[l]} + offset;
    a.address[l] = static_cast<std::uint32_t>(at);
    const bool active = (a.lanes >> l & 1) != 0;
    if (active && (at > size || size - at < bytes)) outside |= std::uint64_t{1} << l;
    if (active) low_bits |= static_cast<std::uint32_t>(at);
  }
  if (outside != 0) {
    const auto first = static_cast<unsigned>(std::countr_zero(outside));
    report(w, inst, FaultKind::out_of_bounds, outside, std::uint64_t{row[first]} + offset, [&] {
      return fmt::format("LDS access of {} bytes; the workgroup has {} bytes of LDS", bytes, size);
    });
    a.lanes &= ~outside;
  }
  if ((low_bits & (alignment - 1)) != 0) {
    std::uint64_t bad = 0;
    each_set(a.lanes, [&](unsigned l) {
      if ((a.address[l] & (alignment - 1)) != 0) bad |= std::uint64_t{1} << l;
    });
    if (bad != 0) {
      report(
          w, inst, FaultKind::misaligned, bad, a.address[static_cast<unsigned>(std::countr_zero(bad))],
          [&] { return fmt::format("an LDS access of {} bytes needs {}-byte alignment", bytes, alignment); });
    }
  }
  if (w.dma_in_flight != 0) check_lds_dma(w, inst, a);
  return a;
}

/// One operation for the counter, of one address or two.
void add_lds_pending(Wave& w, const Inst& inst, const LdsAccess& a, const LdsAccess* b, bool store,
                     unsigned reg, unsigned count) {
  const std::uint32_t first = record_lds(w, a, store);
  add_pending(w, w.lgkm,
              {.type = Pending::Type::lds,
               .reg = static_cast<std::uint16_t>(reg),
               .count = static_cast<std::uint16_t>(count),
               .inst = inst.index,
               .lds_record = first,
               .lds_record2 = b != nullptr ? record_lds(w, *b, store) : ~0U});
}

void count_conflicts(Wave& w, const Inst& inst, const LdsAccess& a) {
  w.worker->bytes[inst.index] += std::uint64_t{count_lanes(w, a.lanes)} * a.bytes;
  if (!w.worker->launch->options.count_bank_conflicts) return;
  w.worker->conflicts[inst.index] += w.worker->conflict_memo[inst.index].cycles(
      a.address, a.lanes, w.lanes, a.bytes, w.code->target->lds_banks);
}

/// Lanes that have addresses of their own: lanes 16 and up may repeat those below, as WMMA operands do.
unsigned distinct_lanes(const LdsAccess& a, unsigned lanes) {
  constexpr unsigned half = 16;
  if (lanes != 2 * half) return lanes;
  std::uint32_t differs = 0;
  for (unsigned l = 0; l < half; ++l) differs |= a.address[l] ^ a.address[l + half];
  return differs == 0 ? half : lanes;
}

void note_reads(Wave& w, const Inst& inst, const LdsAccess& a, unsigned distinct) {
  Lds& lds = w.group->lds;
  if (!lds.tracks()) return;
  const bool blocks = a.bytes == 16 && a.aligned && w.signals == w.passed;
  if (blocks && lds.read_blocks(w.id, w.passed, a.address.data(), distinct)) return;
  each_set(a.lanes, [&](unsigned l) {
    const std::uint32_t at = a.address[l];
    const Lds::Result r =
        in_epochs(w, [&](std::uint32_t epoch) { return lds.on_read(w.id, epoch, at, a.bytes); });
    if (r.clash != Lds::Clash::none) report_lds_clash(w, inst, l, at, false, r);
  });
}

/// All lanes on, every byte defined, whole dwords. False if it is not so.
bool load_plain(Wave& w, const LdsAccess& a, unsigned reg, unsigned distinct) {
  Lds& lds = w.group->lds;
  if (!a.aligned || a.bytes < 4 || !lds.all_defined(a.address.data(), distinct, a.bytes)) return false;
  const unsigned dwords = a.bytes / 4;
  std::uint32_t* rows = w.row(reg);
  const std::uint8_t* data = lds.data();
  gather_rows(rows, w.lanes, distinct, dwords, [&](unsigned l) { return data + a.address[l]; });
  if (distinct != w.lanes) {
    for (unsigned d = 0; d < dwords; ++d) {
      std::uint32_t* row = rows + std::size_t{d} * w.lanes;
      std::copy_n(row, distinct, row + distinct);
    }
  }
  for (unsigned d = 0; d < dwords; ++d)
    if (w.partial.test(reg + d)) set_undefined(w, reg + d, w.all_lanes(), 0, 0, detail::both_halves);
  return true;
}

/// Loads `a` into registers from `reg` on; the caller makes them pending.
void load_into(Wave& w, const Inst& inst, const LdsAccess& a, unsigned reg, const MemoryShape& shape) {
  Lds& lds = w.group->lds;
  const unsigned distinct = a.aligned ? distinct_lanes(a, w.lanes) : w.lanes;
  if (w.worker->on(FaultKind::lds_race)) note_reads(w, inst, a, distinct);
  if (load_plain(w, a, reg, distinct)) return;
  const unsigned registers = std::max(1U, a.bytes / 4);
  std::array<std::uint64_t, 4> low{}, high{};
  std::uint64_t any = 0;
  each_set(w.exec(), [&](unsigned l) {
    const std::uint64_t bit = std::uint64_t{1} << l;
    std::uint32_t value[4]{};
    if ((a.lanes & bit) != 0) {
      const std::uint32_t at = a.address[l];
      std::memcpy(value, lds.data() + at, a.bytes);
      const std::uint32_t missing = ~lds.defined_bits(at, a.bytes) & ((1U << a.bytes) - 1);
      any |= missing;
      for (unsigned d = 0; missing != 0 && d < registers; ++d) {
        const std::uint32_t dword = missing >> (4 * d) & 15;
        const bool narrow = a.bytes < 4;
        if (narrow ? dword != 0 : (dword & 3) != 0) low[d] |= bit;
        if (narrow ? dword != 0 : (dword & 12) != 0) high[d] |= bit;
      }
    }
    if (a.bytes < 4 && shape.sign_extend) {
      value[0] = a.bytes == 1 ? static_cast<std::uint32_t>(static_cast<std::int8_t>(value[0]))
                              : static_cast<std::uint32_t>(static_cast<std::int16_t>(value[0]));
    }
    for (unsigned d = 0; d < registers; ++d) {
      std::uint32_t& r = w.row(reg + d)[l];
      r = shape.halves == detail::both_halves ? value[d]
          : shape.halves == detail::high_half ? (r & 0xFFFF) | value[d] << 16
                                              : (r & 0xFFFF0000) | (value[d] & 0xFFFF);
    }
  });
  for (unsigned d = 0; d < registers; ++d) {
    if (any != 0 || w.partial.test(reg + d))
      set_undefined(w, reg + d, w.exec(), low[d], high[d], shape.halves);
  }
}

/// All lanes on, 16 bytes each, nothing to report. False if it is not so.
bool store_plain(Wave& w, const LdsAccess& a, unsigned reg, bool races) {
  Lds& lds = w.group->lds;
  if (!a.aligned || a.bytes != 16) return false;
  if (races && lds.tracks() &&
      (w.signals != w.passed || !lds.write_blocks(w.id, w.passed, a.address.data(), w.lanes))) {
    return false;
  }
  std::uint8_t* data = lds.data();
  scatter_rows(w.row(reg), w.lanes, w.lanes, 4, [&](unsigned l) { return data + a.address[l]; });
  for (unsigned l = 0; l < w.lanes; ++l) lds.define_block(a.address[l]);
  return true;
}

/// Stores dwords (or the named part of one) from `reg` on.
void store_from(Wave& w, const Inst& inst, const LdsAccess& a, unsigned reg, bool high) {
  Lds& lds = w.group->lds;
  const bool races = w.worker->on(FaultKind::lds_race);
  if (store_plain(w, a, reg, races)) return;
  each_set(a.lanes, [&](unsigned l) {
    std::uint32_t value[4]{};
    for (unsigned d = 0; d < std::max(1U, a.bytes / 4); ++d) value[d] = w.row(reg + d)[l];
    if (high) value[0] >>= 16;
    const std::uint32_t at = a.address[l];
    if (races) {
      const bool same = std::memcmp(lds.data() + at, value, a.bytes) == 0 &&
                        lds.defined_bits(at, a.bytes) == (1U << a.bytes) - 1;
      const Lds::Result r =
          in_epochs(w, [&](std::uint32_t epoch) { return lds.on_write(w.id, epoch, at, a.bytes, same); });
      if (r.clash != Lds::Clash::none) report_lds_clash(w, inst, l, at, true, r);
    }
    std::memcpy(lds.data() + at, value, a.bytes);
    lds.define(at, a.bytes);
  });
}

void load(Wave& w, const Inst& inst) {
  const MemoryShape shape = memory_shape(inst.op);
  const LdsAccess a = resolve(w, inst, static_cast<std::uint32_t>(inst.mods.offset), shape.bytes);
  count_conflicts(w, inst, a);
  load_into(w, inst, a, inst.dst, shape);
  add_lds_pending(w, inst, a, nullptr, false, inst.dst, std::max(1U, shape.bytes / 4));
}

/// gfx950: 8 bytes a lane, the 16-bit elements transposed among 16 lanes.
void load_transposed(Wave& w, const Inst& inst) {
  if (w.exec() != w.all_lanes()) {
    report(w, inst, FaultKind::partial_exec, w.all_lanes() & ~w.exec(), std::nullopt,
           [] { return std::string("a transposing read needs EXEC all ones; these lanes are off"); });
  }
  load(w, inst);
  transpose16(w, inst.dst);
}

void store(Wave& w, const Inst& inst) {
  const MemoryShape shape = memory_shape(inst.op);
  const LdsAccess a = resolve(w, inst, static_cast<std::uint32_t>(inst.mods.offset), shape.bytes);
  count_conflicts(w, inst, a);
  store_from(w, inst, a, inst.src[1].reg, shape.halves == detail::high_half);
  add_lds_pending(w, inst, a, nullptr, true, 0, 0);
}

/// Two accesses of `Bytes`, their offsets counted in elements (or in 64 elements).
template <unsigned Bytes, unsigned Stride>
void load2(Wave& w, const Inst& inst) {
  const MemoryShape shape{.bytes = Bytes};
  const LdsAccess a = resolve(w, inst, inst.mods.offset0 * Bytes * Stride, Bytes);
  const LdsAccess b = resolve(w, inst, inst.mods.offset1 * Bytes * Stride, Bytes);
  count_conflicts(w, inst, a);
  count_conflicts(w, inst, b);
  load_into(w, inst, a, inst.dst, shape);
  load_into(w, inst, b, inst.dst + Bytes / 4, shape);
  add_lds_pending(w, inst, a, &b, false, inst.dst, 2 * (Bytes / 4));
}

template <unsigned Bytes, unsigned Stride>
void store2(Wave& w, const Inst& inst) {
  const LdsAccess a = resolve(w, inst, inst.mods.offset0 * Bytes * Stride, Bytes);
  const LdsAccess b = resolve(w, inst, inst.mods.offset1 * Bytes * Stride, Bytes);
  count_conflicts(w, inst, a);
  count_conflicts(w, inst, b);
  store_from(w, inst, a, inst.src[1].reg, false);
  store_from(w, inst, b, inst.src[2].reg, false);
  add_lds_pending(w, inst, a, &b, true, 0, 0);
}

/// Lane by lane, in lane order; old values go to the destination if there is one.
void atomic(Wave& w, const Inst& inst) {
  const AtomicOp op = atomic_op(inst.op).value_or(AtomicOp::add);
  const LdsAccess a = resolve(w, inst, static_cast<std::uint32_t>(inst.mods.offset), 4);
  count_conflicts(w, inst, a);
  Lds& lds = w.group->lds;
  std::array<std::uint32_t, detail::max_lanes> before{};
  each_set(a.lanes, [&](unsigned l) {
    const std::uint32_t at = a.address[l];
    if (lds.defined_bits(at, 4) != 0xF) {
      report(w, inst, FaultKind::undefined_value, std::uint64_t{1} << l, at,
             [] { return std::string("an atomic works on LDS bytes that nothing has written"); });
    }
    if (w.worker->on(FaultKind::lds_race)) {
      const Lds::Result r = in_epochs(w, [&](std::uint32_t epoch) { return lds.on_atomic(w.id, epoch, at); });
      if (r.clash != Lds::Clash::none) report_lds_clash(w, inst, l, at, true, r);
    }
    std::memcpy(&before[l], lds.data() + at, 4);
    const std::uint32_t next = atomic_result(op, before[l], w.row(inst.src[1].reg)[l], 0);
    std::memcpy(lds.data() + at, &next, 4);
    lds.define(at, 4);
  });
  if (!inst.has_dst) return add_lds_pending(w, inst, a, nullptr, true, 0, 0);
  each_set(w.exec(), [&](unsigned l) { w.row(inst.dst)[l] = before[l]; });
  if (w.partial.test(inst.dst)) set_undefined(w, inst.dst, w.exec(), 0, 0, detail::both_halves);
  add_lds_pending(w, inst, a, nullptr, true, inst.dst, 1);
}

// ---- permutes: they use the LDS crossbar, not its memory, and count in lgkmcnt

void finish_permute(Wave& w, const Inst& inst, const std::array<std::uint32_t, detail::max_lanes>& out) {
  each_set(w.exec(), [&](unsigned l) { w.row(inst.dst)[l] = out[l]; });
  if (w.partial.test(inst.dst)) set_undefined(w, inst.dst, w.exec(), 0, 0, detail::both_halves);
  add_pending(w, w.lgkm, {.type = Pending::Type::lds, .reg = inst.dst, .count = 1, .inst = inst.index});
}

/// Lane l reads data of lane (address/4) mod lanes; an inactive lane gives 0.
void bpermute(Wave& w, const Inst& inst) {
  std::array<std::uint32_t, detail::max_lanes> out{};
  const std::uint32_t* address = w.row(inst.src[0].reg);
  const std::uint32_t* data = w.row(inst.src[1].reg);
  each_set(w.exec(), [&](unsigned l) {
    const std::uint32_t from = (address[l] + static_cast<std::uint32_t>(inst.mods.offset)) / 4 % w.lanes;
    out[l] = (w.exec() >> from & 1) != 0 ? data[from] : 0;
  });
  finish_permute(w, inst, out);
}

/// Lane l sends its data to lane (address/4) mod lanes; the highest sender wins; others get 0.
void permute(Wave& w, const Inst& inst) {
  std::array<std::uint32_t, detail::max_lanes> out{};
  const std::uint32_t* address = w.row(inst.src[0].reg);
  const std::uint32_t* data = w.row(inst.src[1].reg);
  each_set(w.exec(), [&](unsigned l) {
    out[(address[l] + static_cast<std::uint32_t>(inst.mods.offset)) / 4 % w.lanes] = data[l];
  });
  finish_permute(w, inst, out);
}

/// offset[15] = 1: quads by four 2-bit selectors; else in 32 lanes: ((l & and) | or) ^ xor.
void swizzle(Wave& w, const Inst& inst) {
  std::array<std::uint32_t, detail::max_lanes> out{};
  const std::uint32_t* data = w.row(inst.src[0].reg);
  const auto mode = static_cast<std::uint32_t>(inst.mods.offset);
  each_set(w.exec(), [&](unsigned l) {
    unsigned from = 0;
    if ((mode & 0x8000) != 0) {
      from = (l & ~3U) | (mode >> (2 * (l & 3)) & 3);
    } else {
      from = (l & 32U) | ((((l & 31) & (mode & 31)) | (mode >> 5 & 31)) ^ (mode >> 10 & 31));
    }
    out[l] = (w.exec() >> from & 1) != 0 ? data[from] : 0;
  });
  finish_permute(w, inst, out);
}

}  // namespace

void add_lds(Handlers& h) {
  for (const Opcode op : {Opcode::ds_load_b32, Opcode::ds_load_b64, Opcode::ds_load_b96, Opcode::ds_load_b128,
                          Opcode::ds_load_u8, Opcode::ds_load_i8, Opcode::ds_load_u16, Opcode::ds_load_i16,
                          Opcode::ds_load_u16_d16, Opcode::ds_load_u16_d16_hi, Opcode::ds_load_u8_d16,
                          Opcode::ds_load_i8_d16, Opcode::ds_load_u8_d16_hi, Opcode::ds_load_i8_d16_hi}) {
    h.set(op, load);
  }
  for (const Opcode op :
       {Opcode::ds_store_b8, Opcode::ds_store_b16, Opcode::ds_store_b16_d16_hi, Opcode::ds_store_b8_d16_hi,
        Opcode::ds_store_b32, Opcode::ds_store_b64, Opcode::ds_store_b96, Opcode::ds_store_b128}) {
    h.set(op, store);
  }
  h.set(Opcode::ds_read_b64_tr_b16, load_transposed);
  h.set(Opcode::ds_load_2addr_b32, load2<4, 1>);
  h.set(Opcode::ds_load_2addr_b64, load2<8, 1>);
  h.set(Opcode::ds_load_2addr_stride64_b32, load2<4, 64>);
  h.set(Opcode::ds_load_2addr_stride64_b64, load2<8, 64>);
  h.set(Opcode::ds_store_2addr_b32, store2<4, 1>);
  h.set(Opcode::ds_store_2addr_b64, store2<8, 1>);
  h.set(Opcode::ds_store_2addr_stride64_b32, store2<4, 64>);
  h.set(Opcode::ds_store_2addr_stride64_b64, store2<8, 64>);
  for (const Opcode op :
       {Opcode::ds_add_u32, Opcode::ds_sub_u32, Opcode::ds_min_i32, Opcode::ds_max_i32, Opcode::ds_min_u32,
        Opcode::ds_max_u32, Opcode::ds_and_b32, Opcode::ds_or_b32, Opcode::ds_xor_b32, Opcode::ds_add_f32,
        Opcode::ds_add_rtn_u32, Opcode::ds_sub_rtn_u32, Opcode::ds_min_rtn_i32, Opcode::ds_max_rtn_i32,
        Opcode::ds_min_rtn_u32, Opcode::ds_max_rtn_u32, Opcode::ds_add_rtn_f32}) {
    h.set(op, atomic);
  }
  h.set(Opcode::ds_bpermute_b32, bpermute);
  h.set(Opcode::ds_permute_b32, permute);
  h.set(Opcode::ds_swizzle_b32, swizzle);
}

}  // namespace wavejit::sim
