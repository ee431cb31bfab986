// SPDX-License-Identifier: MIT
// Loads that write LDS themselves (gfx940: one dword a lane; gfx950: three and four as well). Lane l writes
// its bytes at M0 + immediate + l * size, counted from the workgroup's first LDS byte; lanes that are off
// write nothing, lanes out of their descriptor's bounds write zeros (hardware.md §6). They count in vmcnt.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/device/sim/access.hpp"
#include "runtime/device/sim/global_order.hpp"
#include "runtime/device/sim/handlers.hpp"
#include "runtime/device/sim/lds_access.hpp"
#include "runtime/device/sim/wave.hpp"

namespace wavejit::sim {
namespace {

using detail::Inst;
using isa::Opcode;

/// Where each lane writes. Lanes past the end of the workgroup's LDS are reported and drop out.
LdsAccess slots(Wave& w, const Inst& inst, unsigned bytes) {
  constexpr std::uint32_t m0_address = 0x3FFFF;
  LdsAccess a;
  a.bytes = bytes;
  a.lanes = w.exec();
  const std::uint64_t start =
      (w.s[isa::sreg::m0] & m0_address) + static_cast<std::uint64_t>(inst.mods.offset);
  const std::uint64_t size = w.group->lds.size();
  std::uint64_t outside = 0;
  for (unsigned l = 0; l < w.lanes; ++l) {
    const std::uint64_t at = start + std::uint64_t{l} * bytes;
    a.address[l] = static_cast<std::uint32_t>(at);
    if ((a.lanes >> l & 1) != 0 && at + bytes > size) outside |= std::uint64_t{1} << l;
  }
  if (outside != 0) {
    report(w, inst, FaultKind::out_of_bounds, outside,
           a.address[static_cast<unsigned>(std::countr_zero(outside))], [&] {
             return fmt::format(
                 "a load to LDS writes {} bytes a lane from {} on (M0 and offset); the workgroup has {} "
                 "bytes of LDS",
                 bytes, start, size);
           });
    a.lanes &= ~outside;
  }
  if ((start & 3) != 0) {
    report(w, inst, FaultKind::misaligned, 0, start, [] {
      return std::string("the LDS address of a load to LDS (M0 and offset) must be a multiple of 4");
    });
    a.lanes = 0;
  }
  return a;
}

struct Value {
  std::array<std::uint8_t, 16> bytes{};
  std::uint32_t defined = 0xFFFF;
};

/// What lane `l` loads: its bytes of memory, zeros where the descriptor ends.
Value load_lane(Wave& w, const Inst& inst, const GlobalAccess& access, unsigned l) {
  Value v;
  if ((access.lanes >> l & 1) == 0) return v;
  const unsigned bytes = access.lane_bytes(l);
  const Allocation* a = check_global(w, inst, l, access.address[l], bytes, false);
  if (a == nullptr) return v;
  const std::uint64_t offset = access.address[l] - a->base;
  std::memcpy(v.bytes.data(), a->data + offset, bytes);
  if (a->written.load(std::memory_order_relaxed)) {
    GlobalAccess one = access;
    one.lanes = std::uint64_t{1} << l;
    check_global_reads(w, inst, *a, one);
  }
  if (!a->all_defined) v.defined = a->defined_bits(offset, bytes) | (0xFFFFU & ~((1U << bytes) - 1));
  return v;
}

void write_lane(Wave& w, const Inst& inst, const LdsAccess& slot, unsigned l, const Value& v) {
  Lds& lds = w.group->lds;
  const std::uint32_t at = slot.address[l];
  const std::uint32_t all = (1U << slot.bytes) - 1;
  if (w.worker->on(FaultKind::lds_race)) {
    const bool same = std::memcmp(lds.data() + at, v.bytes.data(), slot.bytes) == 0 &&
                      lds.defined_bits(at, slot.bytes) == all;
    const Lds::Result r =
        in_epochs(w, [&](std::uint32_t epoch) { return lds.on_write(w.id, epoch, at, slot.bytes, same); });
    if (r.clash != Lds::Clash::none) report_lds_clash(w, inst, l, at, true, r);
  }
  std::memcpy(lds.data() + at, v.bytes.data(), slot.bytes);
  lds.define(at, slot.bytes);
  for (unsigned b = 0; b < slot.bytes; ++b)
    if ((v.defined >> b & 1) == 0) lds.undefine(at + b);
}

void add_dma_pending(Wave& w, const Inst& inst, const LdsAccess& slot) {
  const std::uint32_t record = record_lds(w, slot, true);
  if (record != ~0U) {
    w.lds_records[record].dma = true;
    ++w.dma_in_flight;
  }
  add_pending(w, w.vm, {.type = Pending::Type::vector_load, .inst = inst.index, .lds_record = record});
}

}  // namespace

unsigned lds_dma_bytes(Opcode op) {
  switch (op) {
    case Opcode::buffer_load_b32:
    case Opcode::global_load_lds_b32:
      return 4;
    case Opcode::buffer_load_b96:
    case Opcode::global_load_lds_b96:
      return 12;
    case Opcode::buffer_load_b128:
    case Opcode::global_load_lds_b128:
      return 16;
    default:
      return 0;
  }
}

void lds_dma(Wave& w, const Inst& inst) {
  const unsigned bytes = lds_dma_bytes(inst.op);
  const bool buffer = isa::info(inst.op).has(isa::flag::buffer);
  const GlobalAccess access = buffer ? resolve_buffer(w, inst, bytes) : resolve_global(w, inst, bytes);
  const LdsAccess slot = slots(w, inst, bytes);
  if (w.dma_in_flight != 0) check_lds_dma(w, inst, slot);
  w.worker->bytes[inst.index] += static_cast<std::uint64_t>(std::popcount(access.lanes)) * bytes;
  for (std::uint64_t lanes = slot.lanes; lanes != 0; lanes &= lanes - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(lanes));
    write_lane(w, inst, slot, l, load_lane(w, inst, access, l));
  }
  add_dma_pending(w, inst, slot);
}

void add_lds_dma(Handlers& h) {
  for (const Opcode op :
       {Opcode::global_load_lds_b32, Opcode::global_load_lds_b96, Opcode::global_load_lds_b128}) {
    h.set(op, lds_dma);
  }
}

}  // namespace wavejit::sim
