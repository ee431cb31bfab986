// SPDX-License-Identifier: MIT
// Raw buffer accesses: base + soffset + voffset + immediate, checked against the descriptor by the
// target's rule and, separately, against the allocations.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "runtime/device/sim/access.hpp"
#include "runtime/device/sim/handlers.hpp"
#include "runtime/device/sim/wave.hpp"

namespace wavejit::sim {
namespace {

using detail::Inst;
using detail::Source;
using isa::Opcode;
using target::Generation;

struct Descriptor {
  std::uint64_t base;
  std::uint32_t stride, swizzle, records, word3;
};

Descriptor read_descriptor(const Wave& w, const Source& s) {
  const unsigned r = s.reg;
  const std::uint32_t w1 = w.scalar(r + 1);
  return {.base = w.scalar(r) | std::uint64_t{w1 & 0xFFFF} << 32,
          .stride = w1 >> 16 & 0x3FFF,
          .swizzle = w1 >> 30,
          .records = w.scalar(r + 2),
          .word3 = w.scalar(r + 3)};
}

/// What a raw access needs of its descriptor (hardware.md §6); empty when it is fine.
std::string malformed(const Descriptor& d, const target::Target& target) {
  if (d.word3 >> 30 != 0) return fmt::format("word 3 is 0x{:08x}: type [31:30] must be 0 (buffer)", d.word3);
  if (d.stride != 0) return fmt::format("stride is {}: a raw buffer has stride 0", d.stride);
  if (d.swizzle != 0) return fmt::format("swizzle bits [31:30] of word 1 are {}: must be 0", d.swizzle);
  if ((d.word3 >> 23 & 1) != 0) return fmt::format("word 3 is 0x{:08x}: add_tid (bit 23) must be 0", d.word3);
  if (target.generation == Generation::gfx9) {
    constexpr std::uint32_t data_format = 0xFU << 15, reserved = 7U << 24 | 3U << 28;
    if ((d.word3 & data_format) == 0)
      return fmt::format("word 3 is 0x{:08x}: DATA_FORMAT [18:15] must not be 0", d.word3);
    if ((d.word3 & reserved) != 0)
      return fmt::format("word 3 is 0x{:08x}: bits [29:28] and [26:24] are reserved on gfx9", d.word3);
    return {};
  }
  const std::uint32_t format_bits = target.generation == Generation::gfx12 ? 0x3F : 0x7F;
  if ((d.word3 >> 12 & format_bits) == 0)
    return fmt::format("word 3 is 0x{:08x}: FORMAT must not be 0", d.word3);
  const std::uint32_t wanted = target.buffer_word3 >> 28 & 3;
  if ((d.word3 >> 28 & 3) != wanted) {
    return fmt::format("word 3 is 0x{:08x}: OOB_SELECT [29:28] is {}, a raw buffer needs {}", d.word3,
                       d.word3 >> 28 & 3, wanted);
  }
  return {};
}

/// Whether [offset, offset + bytes) is in bounds; `offset` may exceed 32 bits.
bool in_bounds(const Descriptor& d, const target::Target& target, std::uint64_t offset, unsigned bytes) {
  if (target.straddle == target::StraddleRule::per_dword) return offset < d.records;
  switch (d.word3 >> 28 & 3) {
    case 0:  // structured: index 0 of num_records, offset within the stride
      return d.records != 0 && offset + bytes <= d.stride;
    case 1:
    case 2:
      return d.records != 0;
    default:
      return offset + bytes <= d.records;
  }
}

/// The access of one buffer instruction, bounds applied.
class BufferAccess {
 public:
  BufferAccess(Wave& w, const Inst& inst, const Source& address, const Source& descriptor,
               const Source& soffset, unsigned bytes)
      : w_(w), inst_(inst), target_(*w.code->target), d_(read_descriptor(w, descriptor)) {
    access.bytes = bytes;
    if (const std::string what = malformed(d_, target_); !what.empty()) {
      report(w, inst, FaultKind::descriptor, 0, d_.base, [&] { return what; });
    }
    soffset_ = w.scalar(soffset);
    const std::uint32_t* voffset =
        inst.mods.offen && address.kind == Source::Kind::vgpr ? w.row(address.reg) : nullptr;
    if (all_inside(voffset)) return;
    for (std::uint64_t lanes = w.exec(); lanes != 0; lanes &= lanes - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(lanes));
      lane(l, (voffset != nullptr ? voffset[l] : 0) + static_cast<std::uint64_t>(inst.mods.offset));
    }
    report_disputed();
  }

  GlobalAccess access;

 private:
  /// All lanes on and in bounds whether or not soffset counts: the common case, decided by the greatest
  /// offset.
  bool all_inside(const std::uint32_t* voffset) {
    const bool by_bytes = target_.straddle == target::StraddleRule::per_dword || (d_.word3 >> 28 & 3) == 3;
    if (voffset == nullptr || w_.exec() != w_.all_lanes() || !by_bytes || inst_.mods.offset < 0) return false;
    std::uint32_t greatest = 0;
    for (unsigned l = 0; l < w_.lanes; ++l) greatest = std::max(greatest, voffset[l]);
    const auto immediate = static_cast<std::uint64_t>(inst_.mods.offset);
    if (greatest + immediate + soffset_ + access.bytes > d_.records) return false;
    const std::uint64_t start = d_.base + soffset_ + immediate;
    for (unsigned l = 0; l < w_.lanes; ++l) access.address[l] = start + voffset[l];
    access.lanes = w_.all_lanes();
    return true;
  }

  void lane(unsigned l, std::uint64_t offset) {
    const std::uint64_t bit = std::uint64_t{1} << l;
    const bool without = whole(offset, 0);
    const bool with = whole(offset, soffset_);
    const SoffsetRule rule = w_.worker->soffset;
    if (rule == SoffsetRule::both && with != without) {
      disputed_ |= bit;
      disputed_offset_ = offset;
    }
    if (target_.straddle == target::StraddleRule::per_dword && access.bytes > 4) {
      cut(l, offset + (rule == SoffsetRule::excluded ? 0 : soffset_));
      return;
    }
    if (rule == SoffsetRule::included ? with : without) {
      access.lanes |= bit;
      access.address[l] = d_.base + soffset_ + offset;
    } else {
      access.zero_lanes |= bit;
    }
  }

  [[nodiscard]] bool whole(std::uint64_t offset, std::uint64_t soffset) const {
    return in_bounds(d_, target_, offset + soffset, access.bytes);
  }

  /// Per-dword rule: the leading dwords that are in bounds.
  void cut(unsigned l, std::uint64_t checked_offset) {
    unsigned count = 0;
    while (count < access.bytes / 4 && in_bounds(d_, target_, checked_offset + std::uint64_t{4} * count, 4))
      ++count;
    access.dwords[l] = static_cast<std::uint8_t>(count);
    const std::uint64_t bit = std::uint64_t{1} << l;
    if (count < access.bytes / 4) access.cut = true;
    if (count == 0) {
      access.zero_lanes |= bit;
      return;
    }
    access.lanes |= bit;
    const std::uint64_t added = w_.worker->soffset == SoffsetRule::excluded ? soffset_ : 0;
    access.address[l] = d_.base + checked_offset + added;
  }

  void report_disputed() {
    if (disputed_ == 0) return;
    report(w_, inst_, FaultKind::soffset_dependent, disputed_, d_.base + soffset_ + disputed_offset_, [&] {
      return fmt::format(
          "offset {} + soffset {} of {} bytes against num_records {}: in bounds or not depending on whether "
          "soffset "
          "counts, on which sources disagree",
          disputed_offset_, soffset_, access.bytes, d_.records);
    });
  }

  Wave& w_;
  const Inst& inst_;
  const target::Target& target_;
  Descriptor d_;
  std::uint64_t soffset_ = 0, disputed_ = 0, disputed_offset_ = 0;
};

void load(Wave& w, const Inst& inst) {
  const MemoryShape shape = memory_shape(inst.op);
  const BufferAccess b(w, inst, inst.src[0], inst.src[1], inst.src[2], shape.bytes);
  load_global(w, inst, b.access, {.reg = inst.dst, .sign_extend = shape.sign_extend, .halves = shape.halves});
}

void store(Wave& w, const Inst& inst) {
  const MemoryShape shape = memory_shape(inst.op);
  const BufferAccess b(w, inst, inst.src[1], inst.src[2], inst.src[3], shape.bytes);
  store_global(w, inst, b.access, inst.src[0].reg, shape.halves == detail::high_half);
}

void atomic(Wave& w, const Inst& inst) {
  const BufferAccess b(w, inst, inst.src[1], inst.src[2], inst.src[3], 4);
  atomic_global(w, inst, b.access, inst.src[0].reg);
}

}  // namespace

GlobalAccess resolve_buffer(Wave& w, const Inst& inst, unsigned bytes) {
  return BufferAccess(w, inst, inst.src[0], inst.src[1], inst.src[2], bytes).access;
}

void add_buffer(Handlers& h) {
  for (const Opcode op :
       {Opcode::buffer_load_u8, Opcode::buffer_load_i8, Opcode::buffer_load_u16, Opcode::buffer_load_i16,
        Opcode::buffer_load_b32, Opcode::buffer_load_b64, Opcode::buffer_load_b96, Opcode::buffer_load_b128,
        Opcode::buffer_load_d16_b16, Opcode::buffer_load_d16_hi_b16, Opcode::buffer_load_d16_u8,
        Opcode::buffer_load_d16_i8, Opcode::buffer_load_d16_hi_u8, Opcode::buffer_load_d16_hi_i8}) {
    h.set(op, load);
  }
  for (const Opcode op : {Opcode::buffer_store_b8, Opcode::buffer_store_b16, Opcode::buffer_store_d16_hi_b16,
                          Opcode::buffer_store_d16_hi_b8, Opcode::buffer_store_b32, Opcode::buffer_store_b64,
                          Opcode::buffer_store_b96, Opcode::buffer_store_b128}) {
    h.set(op, store);
  }
  h.set(Opcode::buffer_atomic_add_u32, atomic);
  h.set(Opcode::buffer_atomic_add_f32, atomic);
  h.set(Opcode::buffer_atomic_pk_add_f16, atomic);
  h.set(Opcode::buffer_atomic_pk_add_bf16, atomic);
}

}  // namespace wavejit::sim
