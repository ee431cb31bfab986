// SPDX-License-Identifier: MIT
// Scalar loads. Any number of dwords, from a 4-byte aligned address, into consecutive SGPRs.
#include <fmt/format.h>

#include <cstring>

#include "runtime/device/sim/access.hpp"
#include "runtime/device/sim/handlers.hpp"
#include "runtime/device/sim/wave.hpp"

namespace wavejit::sim {
namespace {

using detail::Inst;
using isa::Opcode;

/// Reads one dword; undefined or absent memory says so in the register's definedness.
void load_dword(Wave& w, const Inst& inst, std::uint64_t address, unsigned reg) {
  const Allocation* a = w.worker->memory->find(address);
  std::uint32_t value = 0;
  bool defined = true;
  if (a == nullptr || !a->contains(address, 4)) {
    report(w, inst, FaultKind::out_of_bounds, 0, address,
           [&] { return fmt::format("scalar load: {}", w.worker->memory->describe(address)); });
  } else {
    std::memcpy(&value, a->data + (address - a->base), 4);
    defined = a->defined_bits(address - a->base, 4) == 0xF;
  }
  w.set_scalar(reg, value);
  if (defined) {
    w.sundefined.reset(reg);
  } else {
    w.sundefined.set(reg);
  }
}

void check_alignment(Wave& w, const Inst& inst, std::uint64_t address) {
  if ((address & 3) == 0) return;
  report(w, inst, FaultKind::misaligned, 0, address,
         [] { return std::string("a scalar load ignores the low two address bits; they must be 0"); });
}

void finish(Wave& w, const Inst& inst) {
  const bool discarded = inst.dst == isa::sreg::null;
  add_pending(w, scalar_queue(w),
              {.type = Pending::Type::scalar_load,
               .to_sgpr = true,
               .reg = inst.dst,
               .count = static_cast<std::uint16_t>(discarded ? 0 : inst.dst_width),
               .inst = inst.index});
  w.worker->bytes[inst.index] += std::uint64_t{4} * inst.dst_width;
}

/// Byte offset: immediate (as an operand or a modifier) plus SGPR.
std::int64_t offset_of(const Wave& w, const Inst& inst) {
  const detail::Source& s = inst.src[1];
  const std::int64_t operand = s.kind == detail::Source::Kind::constant
                                   ? static_cast<std::int32_t>(s.value)
                                   : static_cast<std::int64_t>(w.scalar(s));
  return operand + inst.mods.offset;
}

void load(Wave& w, const Inst& inst) {
  const std::uint64_t address = w.scalar64(inst.src[0]) + static_cast<std::uint64_t>(offset_of(w, inst));
  check_alignment(w, inst, address);
  for (unsigned d = 0; d < inst.dst_width; ++d) {
    if (inst.dst != isa::sreg::null) load_dword(w, inst, (address & ~std::uint64_t{3}) + 4 * d, inst.dst + d);
  }
  finish(w, inst);
}

/// Through a descriptor: dwords past num_records read 0.
void buffer_load(Wave& w, const Inst& inst) {
  const std::uint64_t base =
      w.scalar(inst.src[0], 0) | (std::uint64_t{w.scalar(inst.src[0].reg + 1U)} & 0xFFFF) << 32;
  const std::uint32_t records = w.scalar(inst.src[0].reg + 2U);
  const std::int64_t offset = offset_of(w, inst);
  check_alignment(w, inst, base + static_cast<std::uint64_t>(offset));
  for (unsigned d = 0; d < inst.dst_width; ++d) {
    const std::int64_t at = (offset & ~std::int64_t{3}) + 4 * d;
    if (inst.dst == isa::sreg::null) break;
    if (at < 0 || at + 4 > static_cast<std::int64_t>(records)) {
      w.set_scalar(inst.dst + d, 0);
      w.sundefined.reset(inst.dst + d);
    } else {
      load_dword(w, inst, base + static_cast<std::uint64_t>(at), inst.dst + d);
    }
  }
  finish(w, inst);
}

/// gfx12: one byte or two, extended.
template <unsigned Bytes, bool Signed>
void load_narrow(Wave& w, const Inst& inst) {
  const std::uint64_t address = w.scalar64(inst.src[0]) + static_cast<std::uint64_t>(offset_of(w, inst));
  if (address % Bytes != 0) {
    report(w, inst, FaultKind::misaligned, 0, address,
           [] { return fmt::format("a scalar load of {} bytes needs {}-byte alignment", Bytes, Bytes); });
  }
  const Allocation* a = w.worker->memory->find(address);
  std::uint32_t value = 0;
  bool defined = true;
  if (a == nullptr || !a->contains(address, Bytes)) {
    report(w, inst, FaultKind::out_of_bounds, 0, address,
           [&] { return fmt::format("scalar load: {}", w.worker->memory->describe(address)); });
  } else {
    std::memcpy(&value, a->data + (address - a->base), Bytes);
    defined = a->defined_bits(address - a->base, Bytes) == (1U << Bytes) - 1;
  }
  constexpr unsigned up = 32 - 8 * Bytes;
  if (Signed) value = static_cast<std::uint32_t>(static_cast<std::int32_t>(value << up) >> up);
  w.set_scalar(inst.dst, value);
  if (inst.dst != isa::sreg::null) defined ? w.sundefined.reset(inst.dst) : w.sundefined.set(inst.dst);
  finish(w, inst);
}

}  // namespace

void add_scalar_memory(Handlers& h) {
  for (const Opcode op : {Opcode::s_load_b32, Opcode::s_load_b64, Opcode::s_load_b96, Opcode::s_load_b128,
                          Opcode::s_load_b256, Opcode::s_load_b512}) {
    h.set(op, load);
  }
  for (const Opcode op :
       {Opcode::s_buffer_load_b32, Opcode::s_buffer_load_b64, Opcode::s_buffer_load_b96,
        Opcode::s_buffer_load_b128, Opcode::s_buffer_load_b256, Opcode::s_buffer_load_b512}) {
    h.set(op, buffer_load);
  }
  h.set(Opcode::s_load_u8, load_narrow<1, false>);
  h.set(Opcode::s_load_i8, load_narrow<1, true>);
  h.set(Opcode::s_load_u16, load_narrow<2, false>);
  h.set(Opcode::s_load_i16, load_narrow<2, true>);
}

}  // namespace wavejit::sim
