// SPDX-License-Identifier: MIT
// Global memory by 64-bit address, and scratch (private memory of each lane).
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/device/sim/access.hpp"
#include "runtime/device/sim/handlers.hpp"
#include "runtime/device/sim/wave.hpp"

namespace wavejit::sim {
namespace {

using detail::Inst;
using detail::Source;
using isa::Opcode;

bool has_base(const Source& s) { return s.kind == Source::Kind::sgpr && s.reg != isa::sreg::null; }

/// SGPR base + 32-bit VGPR offset, or a 64-bit VGPR address; plus the immediate, which is signed.
GlobalAccess global_access(const Wave& w, const Inst& inst, const Source& address, const Source& base,
                           unsigned bytes) {
  GlobalAccess a;
  a.bytes = bytes;
  a.lanes = w.exec();
  const std::uint32_t* low = address.kind == Source::Kind::vgpr ? w.row(address.reg) : nullptr;
  const auto immediate = static_cast<std::uint64_t>(std::int64_t{inst.mods.offset});
  if (has_base(base)) {
    const std::uint64_t start = w.scalar64(base) + immediate;
    for (unsigned l = 0; l < w.lanes; ++l) a.address[l] = start + (low != nullptr ? low[l] : 0);
  } else if (low != nullptr && address.width == 2) {
    const std::uint32_t* high = w.row(address.reg + 1U);
    for (unsigned l = 0; l < w.lanes; ++l) a.address[l] = (low[l] | std::uint64_t{high[l]} << 32) + immediate;
  } else {
    for (unsigned l = 0; l < w.lanes; ++l) a.address[l] = immediate;  // no address at all: faults
  }
  return a;
}

void load(Wave& w, const Inst& inst) {
  const MemoryShape shape = memory_shape(inst.op);
  load_global(w, inst, global_access(w, inst, inst.src[0], inst.src[1], shape.bytes),
              {.reg = inst.dst, .sign_extend = shape.sign_extend, .halves = shape.halves});
}

void store(Wave& w, const Inst& inst) {
  const MemoryShape shape = memory_shape(inst.op);
  store_global(w, inst, global_access(w, inst, inst.src[0], inst.src[2], shape.bytes), inst.src[1].reg,
               shape.halves == detail::high_half);
}

void atomic(Wave& w, const Inst& inst) {
  atomic_global(w, inst, global_access(w, inst, inst.src[0], inst.src[2], 4), inst.src[1].reg);
}

void atomic64(Wave& w, const Inst& inst) {
  atomic_add64(w, inst, global_access(w, inst, inst.src[0], inst.src[2], 8), inst.src[1].reg);
}

/// Flat: a 64-bit address, no base. Only global addresses exist here: the apertures of LDS and scratch
/// are not simulated, so their addresses fault. Counts in lgkmcnt as well as vmcnt.
constexpr Source no_base{.kind = Source::Kind::sgpr, .reg = isa::sreg::null};

void flat_load(Wave& w, const Inst& inst) {
  const MemoryShape shape = memory_shape(inst.op);
  load_global(w, inst, global_access(w, inst, inst.src[0], no_base, shape.bytes),
              {.reg = inst.dst, .sign_extend = shape.sign_extend, .halves = shape.halves});
  add_pending(w, w.lgkm,
              {.type = Pending::Type::message,
               .reg = inst.dst,
               .count = static_cast<std::uint16_t>(std::max(1U, shape.bytes / 4)),
               .inst = inst.index});
}

void flat_store(Wave& w, const Inst& inst) {
  const MemoryShape shape = memory_shape(inst.op);
  store_global(w, inst, global_access(w, inst, inst.src[0], no_base, shape.bytes), inst.src[1].reg, false);
  add_pending(w, w.lgkm, {.type = Pending::Type::message, .inst = inst.index});
}

// ---- scratch: byte `address` of lane l is scratch[l * private_bytes + address]

class ScratchAccess {
 public:
  ScratchAccess(Wave& w, const Inst& inst, const Source& address, const Source& base)
      : w_(w), inst_(inst), bytes_(memory_shape(inst.op).bytes) {
    row_ = address.kind == Source::Kind::vgpr ? w.row(address.reg) : nullptr;
    start_ = has_base(base) ? w.scalar(base) : 0;
    start_ += inst.mods.offset;
  }

  /// Calls f(lane, index into scratch) for lanes whose access lies in their private segment.
  template <class F>
  void each(F&& f) {
    const std::int64_t size = w_.code->private_bytes;
    for (std::uint64_t lanes = w_.exec(); lanes != 0; lanes &= lanes - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(lanes));
      const std::int64_t at = start_ + (row_ != nullptr ? row_[l] : 0);
      if (at < 0 || at + bytes_ > size) {
        report(w_, inst_, FaultKind::out_of_bounds, std::uint64_t{1} << l, static_cast<std::uint64_t>(at),
               [&] {
                 return fmt::format("scratch access of {} bytes; the private segment has {}", bytes_, size);
               });
        continue;
      }
      if ((at & 3) != 0) {
        report(w_, inst_, FaultKind::misaligned, std::uint64_t{1} << l, static_cast<std::uint64_t>(at),
               [] { return std::string("a scratch access needs 4-byte alignment"); });
      }
      f(l, static_cast<std::size_t>(l) * static_cast<std::size_t>(size) + static_cast<std::size_t>(at));
    }
  }

 private:
  Wave& w_;
  const Inst& inst_;
  std::int64_t bytes_;
  const std::uint32_t* row_ = nullptr;
  std::int64_t start_ = 0;
};

void scratch_load(Wave& w, const Inst& inst) {
  const unsigned dwords = memory_shape(inst.op).bytes / 4;
  for (unsigned d = 0; d < dwords; ++d) {
    ScratchAccess access(w, inst, inst.src[0], inst.src[1]);
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    // The address register may be the destination: gather first.
    std::array<std::uint32_t, detail::max_lanes> value{};
    std::uint64_t read = 0;
    access.each([&](unsigned l, std::size_t at) {
      const std::size_t from = at + std::size_t{4} * d;
      std::memcpy(&value[l], w.scratch.data() + from, 4);
      const std::uint64_t bit = std::uint64_t{1} << l;
      read |= bit;
      if (w.scratch_defined[from] == 0 || w.scratch_defined[from + 1] == 0) low |= bit;
      if (w.scratch_defined[from + 2] == 0 || w.scratch_defined[from + 3] == 0) high |= bit;
    });
    w.scratch_staging[d] = {value, read, low, high};
  }
  for (unsigned d = 0; d < dwords; ++d) {
    const Wave::Staged& s = w.scratch_staging[d];
    for (std::uint64_t lanes = s.lanes; lanes != 0; lanes &= lanes - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(lanes));
      w.row(inst.dst + d)[l] = s.value[l];
    }
    set_undefined(w, inst.dst + d, s.lanes, s.low, s.high, detail::both_halves);
  }
  add_pending(w, w.vm,
              {.type = Pending::Type::vector_load,
               .reg = inst.dst,
               .count = static_cast<std::uint16_t>(dwords),
               .inst = inst.index});
}

void scratch_store(Wave& w, const Inst& inst) {
  const unsigned dwords = memory_shape(inst.op).bytes / 4;
  ScratchAccess access(w, inst, inst.src[0], inst.src[2]);
  access.each([&](unsigned l, std::size_t at) {
    for (unsigned d = 0; d < dwords; ++d) {
      std::memcpy(w.scratch.data() + at + std::size_t{4} * d, &w.row(inst.src[1].reg + d)[l], 4);
    }
    std::memset(w.scratch_defined.data() + at, 1, std::size_t{4} * dwords);
  });
  const bool own_counter = w.code->target->waits.vscnt != 0;
  add_pending(w, own_counter ? w.vs : w.vm, {.type = Pending::Type::vector_store, .inst = inst.index});
}

}  // namespace

GlobalAccess resolve_global(const Wave& w, const Inst& inst, unsigned bytes) {
  return global_access(w, inst, inst.src[0], inst.src[1], bytes);
}

void add_global(Handlers& h) {
  for (const Opcode op :
       {Opcode::global_load_u8, Opcode::global_load_i8, Opcode::global_load_u16, Opcode::global_load_i16,
        Opcode::global_load_b32, Opcode::global_load_b64, Opcode::global_load_b96, Opcode::global_load_b128,
        Opcode::global_load_d16_b16, Opcode::global_load_d16_hi_b16, Opcode::global_load_d16_u8,
        Opcode::global_load_d16_i8, Opcode::global_load_d16_hi_u8, Opcode::global_load_d16_hi_i8}) {
    h.set(op, load);
  }
  for (const Opcode op : {Opcode::global_store_b8, Opcode::global_store_b16, Opcode::global_store_d16_hi_b16,
                          Opcode::global_store_d16_hi_b8, Opcode::global_store_b32, Opcode::global_store_b64,
                          Opcode::global_store_b96, Opcode::global_store_b128}) {
    h.set(op, store);
  }
  for (const Opcode op :
       {Opcode::global_atomic_add_u32, Opcode::global_atomic_sub_u32, Opcode::global_atomic_swap_b32,
        Opcode::global_atomic_cmpswap_b32, Opcode::global_atomic_min_i32, Opcode::global_atomic_max_i32,
        Opcode::global_atomic_min_u32, Opcode::global_atomic_max_u32, Opcode::global_atomic_and_b32,
        Opcode::global_atomic_or_b32, Opcode::global_atomic_xor_b32, Opcode::global_atomic_add_f32,
        Opcode::global_atomic_pk_add_f16, Opcode::global_atomic_pk_add_bf16}) {
    h.set(op, atomic);
  }
  h.set(Opcode::global_atomic_add_u64, atomic64);
  for (const Opcode op :
       {Opcode::flat_load_u8, Opcode::flat_load_i8, Opcode::flat_load_u16, Opcode::flat_load_i16,
        Opcode::flat_load_b32, Opcode::flat_load_b64, Opcode::flat_load_b96, Opcode::flat_load_b128}) {
    h.set(op, flat_load);
  }
  for (const Opcode op : {Opcode::flat_store_b8, Opcode::flat_store_b16, Opcode::flat_store_b32,
                          Opcode::flat_store_b64, Opcode::flat_store_b96, Opcode::flat_store_b128}) {
    h.set(op, flat_store);
  }
  for (const Opcode op : {Opcode::scratch_load_b32, Opcode::scratch_load_b64, Opcode::scratch_load_b96,
                          Opcode::scratch_load_b128}) {
    h.set(op, scratch_load);
  }
  for (const Opcode op : {Opcode::scratch_store_b32, Opcode::scratch_store_b64, Opcode::scratch_store_b96,
                          Opcode::scratch_store_b128}) {
    h.set(op, scratch_store);
  }
}

}  // namespace wavejit::sim
