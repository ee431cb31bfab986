// SPDX-License-Identifier: MIT
#include "runtime/device/sim/access.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <string_view>

#include "runtime/device/sim/atomics.hpp"
#include "runtime/device/sim/gather.hpp"
#include "runtime/device/sim/global_order.hpp"

namespace wavejit::sim {
namespace {

using detail::Inst;

template <class F>
void each_set(std::uint64_t lanes, F&& f) {
  for (; lanes != 0; lanes &= lanes - 1) f(static_cast<unsigned>(std::countr_zero(lanes)));
}

/// All lanes inside one allocation, aligned: the common case, decided once.
Allocation* common_allocation(Wave& w, const Inst& inst, const GlobalAccess& a, bool store) {
  if (a.lanes == 0 || a.cut) return nullptr;
  std::uint64_t low = ~std::uint64_t{0};
  std::uint64_t high = 0;
  std::uint64_t bits = 0;
  each_set(a.lanes, [&](unsigned l) {
    low = std::min(low, a.address[l]);
    high = std::max(high, a.address[l]);
    bits |= a.address[l];
  });
  const std::uint64_t alignment = std::min<std::uint64_t>(a.bytes & -a.bytes, 4);
  if ((bits & (alignment - 1)) != 0) return nullptr;
  if (high > ~std::uint64_t{0} - a.bytes) return nullptr;
  Allocation*& last = w.worker->last_allocation[inst.index];
  if (last == nullptr || !last->contains(low, high - low + a.bytes)) last = w.worker->memory->find(low);
  if (last == nullptr || !last->contains(low, high - low + a.bytes) || (store && last->read_only))
    return nullptr;
  return last;
}

std::uint32_t load_bytes(const std::uint8_t* p, unsigned bytes) {
  std::uint32_t value = 0;
  std::memcpy(&value, p, bytes);
  return value;
}

std::uint32_t extend(std::uint32_t value, unsigned bytes, bool is_signed) {
  if (!is_signed) return value;
  return bytes == 1 ? static_cast<std::uint32_t>(static_cast<std::int8_t>(value))
                    : static_cast<std::uint32_t>(static_cast<std::int16_t>(value));
}

/// Writes one dword (or half) of a loaded value and returns it as the register will hold it.
void put(std::uint32_t& reg, std::uint32_t value, std::uint8_t halves) {
  if (halves == detail::both_halves) {
    reg = value;
  } else if (halves == detail::high_half) {
    reg = (reg & 0xFFFF) | value << 16;
  } else {
    reg = (reg & 0xFFFF0000) | (value & 0xFFFF);
  }
}

/// Definedness of a load's destination: per dword, lanes whose low and high halves came undefined.
struct Undefined {
  std::array<std::uint64_t, 4> low{}, high{};
  void note(unsigned lane, unsigned bytes, std::uint32_t defined, std::uint8_t halves) {
    const std::uint64_t bit = std::uint64_t{1} << lane;
    if (bytes < 4) {  // extension makes both halves of whole-register loads depend on the bytes
      if (defined == (1U << bytes) - 1) return;
      if ((halves & detail::low_half) != 0) low[0] |= bit;
      if ((halves & detail::high_half) != 0) high[0] |= bit;
      return;
    }
    for (unsigned d = 0; d < bytes / 4; ++d) {
      if ((defined >> (4 * d) & 3) != 3) low[d] |= bit;
      if ((defined >> (4 * d) & 12) != 12) high[d] |= bit;
    }
  }
};

void load_lane(Wave& w, const Allocation& a, std::uint64_t address, unsigned lane, const GlobalAccess& access,
               const LoadShape& shape, Undefined& undefined) {
  const std::uint64_t offset = address - a.base;
  const std::uint8_t* p = a.data + offset;
  if (access.bytes < 4) {
    put(w.row(shape.reg)[lane], extend(load_bytes(p, access.bytes), access.bytes, shape.sign_extend),
        shape.halves);
  } else {
    const unsigned in = access.lane_bytes(lane) / 4;
    for (unsigned d = 0; d < access.bytes / 4; ++d) {
      w.row(shape.reg + d)[lane] = d < in ? load_bytes(p + std::size_t{4} * d, 4) : 0;
    }
  }
  const unsigned bytes = access.lane_bytes(lane);
  if (!a.all_defined) undefined.note(lane, bytes, a.defined_bits(offset, bytes), shape.halves);
}

/// Whether load_fast can do it: whole dwords of one allocation, every byte defined.
bool loads_plainly(const Allocation* a, const GlobalAccess& access) {
  if (a == nullptr || access.bytes < 4) return false;
  bool defined = true;
  if (!a->all_defined) {
    each_set(access.lanes, [&](unsigned l) {
      defined = defined && a->is_defined(access.address[l] - a->base, access.bytes);
    });
  }
  return defined;
}

/// Gathers them.
void load_fast(Wave& w, const Allocation& a, const GlobalAccess& access, const LoadShape& shape) {
  const unsigned dwords = access.bytes / 4;
  std::uint32_t* row = w.row(shape.reg);
  if (access.lanes == w.all_lanes()) {
    gather_rows(row, w.lanes, w.lanes, dwords,
                [&](unsigned l) { return a.data + (access.address[l] - a.base); });
    return;
  }
  each_set(access.lanes, [&](unsigned l) {
    std::uint32_t value[4];
    std::memcpy(value, a.data + (access.address[l] - a.base), access.bytes);
    for (unsigned d = 0; d < dwords; ++d) row[std::size_t{d} * w.lanes + l] = value[d];
  });
}

void count_traffic(Wave& w, const Inst& inst, const GlobalAccess& access, bool store) {
  w.worker->bytes[inst.index] += std::uint64_t{count_lanes(w, access.lanes)} * access.bytes;
  if (!w.worker->launch->options.count_memory_lines) return;
  constexpr unsigned line_bits = 7;
  std::array<std::uint64_t, 2 * std::size_t{detail::max_lanes}> lines{};
  std::size_t count = 0;
  each_set(access.lanes, [&](unsigned l) {
    lines[count++] = access.address[l] >> line_bits;
    lines[count++] = (access.address[l] + access.bytes - 1) >> line_bits;
  });
  const auto used = std::span(lines).first(count);
  std::ranges::sort(used);
  const auto distinct = used.first(count - std::ranges::unique(used).size());
  if (store || w.worker->launch->options.kept_lines == 0) {
    w.worker->lines[inst.index] += distinct.size();
    return;
  }
  for (const std::uint64_t line : distinct)
    if (!w.worker->kept_lines.touch(line)) ++w.worker->lines[inst.index];
}

}  // namespace

Allocation* check_global(Wave& w, const Inst& inst, unsigned lane, std::uint64_t address, unsigned bytes,
                         bool store) {
  Allocation* a = w.worker->memory->find(address);
  const std::uint64_t bit = std::uint64_t{1} << lane;
  if (a == nullptr || !a->contains(address, bytes)) {
    report(w, inst, FaultKind::out_of_bounds, bit, address, [&] {
      return fmt::format("{} of {} bytes: {}", store ? "store" : "load", bytes,
                         w.worker->memory->describe(address));
    });
    return nullptr;
  }
  if (store && a->read_only) {
    report(w, inst, FaultKind::out_of_bounds, bit, address,
           [&] { return fmt::format("store to read-only '{}'", a->name); });
    return nullptr;
  }
  const std::uint64_t alignment = std::min<std::uint64_t>(bytes & -bytes, 4);
  if ((address & (alignment - 1)) != 0 && !w.worker->launch->options.global_unaligned_mode) {
    report(w, inst, FaultKind::misaligned, bit, address,
           [&] { return fmt::format("an access of {} bytes needs {}-byte alignment", bytes, alignment); });
  }
  return a;
}

void load_global(Wave& w, const Inst& inst, const GlobalAccess& access, const LoadShape& shape) {
  const unsigned registers = std::max(1U, access.bytes / 4);
  Undefined undefined;
  count_traffic(w, inst, access, false);
  Allocation* a = common_allocation(w, inst, access, false);
  if (loads_plainly(a, access)) {
    load_fast(w, *a, access, shape);
  } else {
    each_set(access.lanes, [&](unsigned l) {
      const Allocation* from =
          a != nullptr ? a : check_global(w, inst, l, access.address[l], access.lane_bytes(l), false);
      if (from != nullptr) {
        load_lane(w, *from, access.address[l], l, access, shape, undefined);
      } else {
        for (unsigned d = 0; d < registers; ++d) put(w.row(shape.reg + d)[l], 0, shape.halves);
      }
    });
  }
  if (a != nullptr && a->written.load(std::memory_order_relaxed)) check_global_reads(w, inst, *a, access);
  each_set(access.zero_lanes, [&](unsigned l) {
    for (unsigned d = 0; d < registers; ++d) put(w.row(shape.reg + d)[l], 0, shape.halves);
  });
  const std::uint64_t written = access.lanes | access.zero_lanes;
  const bool some_undefined = std::ranges::any_of(undefined.low, [](auto x) { return x != 0; }) ||
                              std::ranges::any_of(undefined.high, [](auto x) { return x != 0; });
  for (unsigned d = 0; d < registers; ++d) {
    if (some_undefined || w.partial.test(shape.reg + d)) {
      set_undefined(w, shape.reg + d, written, undefined.low[d], undefined.high[d], shape.halves);
    }
  }
  add_pending(w, w.vm,
              {.type = Pending::Type::vector_load,
               .reg = shape.reg,
               .count = static_cast<std::uint16_t>(registers),
               .inst = inst.index});
}

void store_global(Wave& w, const Inst& inst, const GlobalAccess& access, unsigned reg, bool high) {
  count_traffic(w, inst, access, true);
  Allocation* common = common_allocation(w, inst, access, true);
  each_set(access.lanes, [&](unsigned l) {
    const unsigned bytes = access.lane_bytes(l);
    Allocation* a = common != nullptr ? common : check_global(w, inst, l, access.address[l], bytes, true);
    if (a == nullptr) return;
    std::uint8_t value[16];
    if (access.bytes < 4) {
      const std::uint32_t x = w.row(reg)[l] >> (high ? 16 : 0);
      std::memcpy(value, &x, access.bytes);
    } else {
      for (unsigned d = 0; d < access.bytes / 4; ++d)
        std::memcpy(value + std::size_t{4} * d, &w.row(reg + d)[l], 4);
    }
    const std::uint64_t offset = access.address[l] - a->base;
    check_global_write(w, inst, *a, offset, bytes, l, value);
    std::memcpy(a->data + offset, value, bytes);
    a->define(offset, bytes);
  });
  const bool own_counter = w.code->target->waits.vscnt != 0;
  add_pending(w, own_counter ? w.vs : w.vm, {.type = Pending::Type::vector_store, .inst = inst.index});
}

namespace {

/// Old values to the destination, if there is one, of one or two dwords; then the counter.
void finish_atomic(Wave& w, const Inst& inst, const GlobalAccess& access,
                   std::span<const std::array<std::uint32_t, detail::max_lanes>> before) {
  if (!inst.has_dst) {
    const bool own_counter = w.code->target->waits.vscnt != 0;
    add_pending(w, own_counter ? w.vs : w.vm, {.type = Pending::Type::vector_store, .inst = inst.index});
    return;
  }
  const std::uint64_t written = access.lanes | access.zero_lanes;
  for (unsigned d = 0; d < before.size(); ++d) {
    each_set(written, [&](unsigned l) { w.row(inst.dst + d)[l] = before[d][l]; });
    if (w.partial.test(inst.dst + d)) set_undefined(w, inst.dst + d, written, 0, 0, detail::both_halves);
  }
  add_pending(w, w.vm,
              {.type = Pending::Type::vector_load,
               .reg = inst.dst,
               .count = static_cast<std::uint16_t>(before.size()),
               .inst = inst.index});
}

/// The allocation of an aligned, defined cell of `bytes`; nullptr when the lane cannot work on it.
Allocation* atomic_cell(Wave& w, const Inst& inst, unsigned lane, std::uint64_t address, unsigned bytes) {
  Allocation* a = check_global(w, inst, lane, address, bytes, true);
  if (a == nullptr) return nullptr;
  const std::uint64_t offset = address - a->base;
  const std::uint64_t bit = std::uint64_t{1} << lane;
  if (a->defined_bits(offset, bytes) != (1U << bytes) - 1) {
    report(w, inst, FaultKind::undefined_value, bit, address,
           [] { return std::string("an atomic works on memory that nothing has written"); });
  }
  if ((offset & 3) != 0) return nullptr;  // misaligned: reported, and not possible atomically
  if ((offset & (bytes - 1)) != 0) {
    report(w, inst, FaultKind::misaligned, bit, address,
           [&] { return fmt::format("an atomic of {} bytes needs {}-byte alignment", bytes, bytes); });
    return nullptr;
  }
  return a;
}

/// What other waves may see of it.
void published(Allocation& a, std::uint64_t offset, unsigned bytes) {
  a.written.store(true, std::memory_order_relaxed);
  for (unsigned b = 0; b < bytes; b += 4) note_atomic(a, offset + b);
  a.define(offset, bytes);
}

}  // namespace

void atomic_global(Wave& w, const Inst& inst, const GlobalAccess& access, unsigned data_reg) {
  const AtomicOp op = atomic_op(inst.op).value_or(AtomicOp::add);
  w.worker->bytes[inst.index] += std::uint64_t{count_lanes(w, access.lanes)} * access.bytes;
  std::array<std::array<std::uint32_t, detail::max_lanes>, 1> old{};
  auto& before = old[0];
  each_set(access.lanes, [&](unsigned l) {
    Allocation* a = atomic_cell(w, inst, l, access.address[l], 4);
    if (a == nullptr) return;
    const std::uint64_t offset = access.address[l] - a->base;
    const std::atomic_ref<std::uint32_t> shared(*reinterpret_cast<std::uint32_t*>(a->data + offset));
    const std::uint32_t operand = w.row(data_reg)[l];
    const std::uint32_t compare = op == AtomicOp::compare_swap ? w.row(data_reg + 1)[l] : 0;
    before[l] = shared.load();
    while (!shared.compare_exchange_weak(before[l], atomic_result(op, before[l], operand, compare))) {
    }
    published(*a, offset, 4);
  });
  finish_atomic(w, inst, access, old);
}

void atomic_add64(Wave& w, const Inst& inst, const GlobalAccess& access, unsigned data_reg) {
  w.worker->bytes[inst.index] += std::uint64_t{count_lanes(w, access.lanes)} * access.bytes;
  std::array<std::array<std::uint32_t, detail::max_lanes>, 2> before{};
  each_set(access.lanes, [&](unsigned l) {
    Allocation* a = atomic_cell(w, inst, l, access.address[l], 8);
    if (a == nullptr) return;
    const std::uint64_t offset = access.address[l] - a->base;
    const std::atomic_ref<std::uint64_t> shared(*reinterpret_cast<std::uint64_t*>(a->data + offset));
    const std::uint64_t old =
        shared.fetch_add(w.row(data_reg)[l] | std::uint64_t{w.row(data_reg + 1)[l]} << 32);
    before[0][l] = static_cast<std::uint32_t>(old);
    before[1][l] = static_cast<std::uint32_t>(old >> 32);
    published(*a, offset, 8);
  });
  finish_atomic(w, inst, access, before);
}

namespace {

MemoryShape shape_by_name(std::string_view n) {
  MemoryShape shape;
  const auto has = [&](std::string_view part) { return n.find(part) != std::string_view::npos; };
  if (has("_b64_tr_")) {  // what follows is the size of an element
    shape.bytes = 8;
    return shape;
  }
  if (has("_d16_hi")) shape.halves = detail::high_half;
  if (has("_d16") && !has("_d16_hi") && has("_load")) shape.halves = detail::low_half;
  if (n.ends_with("b64")) shape.bytes = 8;
  if (n.ends_with("b96")) shape.bytes = 12;
  if (n.ends_with("b128")) shape.bytes = 16;
  if (has("_u16") || has("_i16") || has("b16")) shape.bytes = 2;
  if (has("_u8") || has("_i8") || has("b8")) shape.bytes = 1;
  shape.sign_extend = has("_i16") || has("_i8");
  return shape;
}

}  // namespace

MemoryShape memory_shape(isa::Opcode op) {
  static const auto table = [] {
    std::array<MemoryShape, static_cast<std::size_t>(isa::Opcode::count_)> shapes;
    for (std::size_t i = 0; i < shapes.size(); ++i)
      shapes[i] = shape_by_name(isa::info(static_cast<isa::Opcode>(i)).name);
    return shapes;
  }();
  return table[static_cast<std::size_t>(op)];
}

}  // namespace wavejit::sim
