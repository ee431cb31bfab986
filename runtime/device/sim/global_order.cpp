// SPDX-License-Identifier: MIT
#include "runtime/device/sim/global_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace wavejit::sim {
namespace {

constexpr std::uint64_t atomic_bit = 4;

struct Writer {
  std::uint64_t cell;
  [[nodiscard]] std::uint64_t wave() const { return cell >> 32; }
  [[nodiscard]] std::uint32_t epoch() const { return cell >> 8 & 0xFFFFFF; }
  [[nodiscard]] bool atomic() const { return (cell & atomic_bit) != 0; }
  [[nodiscard]] unsigned bytes() const { return cell & 3; }
};

std::uint64_t wave_number(const Wave& w) { return w.group->linear * w.group->waves.size() + w.id + 1; }

/// Whether `w` may rely on having come after that writer.
bool ordered(const Wave& w, const Writer& writer) {
  if (writer.wave() == 0 || writer.wave() == wave_number(w)) return true;
  const std::uint64_t waves = w.group->waves.size();
  const bool same_group = (writer.wave() - 1) / waves == w.group->linear;
  return same_group && writer.epoch() < (w.passed & 0xFFFFFF);
}

void report_race(Wave& w, const detail::Inst& inst, const Allocation& a, std::uint64_t offset, unsigned lane,
                 const Writer& writer, std::string_view what) {
  report(w, inst, FaultKind::global_race, std::uint64_t{1} << lane, a.base + offset, [&] {
    const std::uint64_t waves = w.group->waves.size();
    return fmt::format("{} byte {} of '{}', which wave {} of workgroup {} wrote; nothing orders the two",
                       what, offset, a.name, (writer.wave() - 1) % waves, (writer.wave() - 1) / waves);
  });
}

unsigned mask_in_pair(std::uint64_t pair, std::uint64_t offset, unsigned bytes) {
  unsigned mask = 0;
  for (unsigned b = 0; b < 2; ++b) {
    const std::uint64_t at = 2 * pair + b;
    if (at >= offset && at < offset + bytes) mask |= 1U << b;
  }
  return mask;
}

}  // namespace

void check_global_write(Wave& w, const detail::Inst& inst, Allocation& a, std::uint64_t offset,
                        unsigned bytes, unsigned lane, const std::uint8_t* value) {
  if (!w.worker->on(FaultKind::global_race)) return;
  if (!a.written.load(std::memory_order_relaxed)) a.written.store(true, std::memory_order_relaxed);
  const std::uint64_t mine = wave_number(w) << 32 | std::uint64_t{w.signals & 0xFFFFFF} << 8;
  for (std::uint64_t pair = offset / 2; pair <= (offset + bytes - 1) / 2; ++pair) {
    const unsigned mask = mask_in_pair(pair, offset, bytes);
    const Writer before{a.writers[pair].exchange(mine | mask, std::memory_order_relaxed)};
    if (before.cell == 0 || (before.bytes() & mask) == 0 || ordered(w, before)) continue;
    for (unsigned b = 0; b < 2; ++b) {
      const std::uint64_t at = 2 * pair + b;
      if ((before.bytes() & mask & 1U << b) == 0 || a.data[at] == value[at - offset]) continue;
      report_race(w, inst, a, at, lane, before, "writes another value to");
      return;
    }
  }
}

void check_global_reads(Wave& w, const detail::Inst& inst, const Allocation& a, const GlobalAccess& access) {
  if (!w.worker->on(FaultKind::global_race)) return;
  for (std::uint64_t lanes = access.lanes; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    const std::uint64_t offset = access.address[lane] - a.base;
    for (std::uint64_t pair = offset / 2; pair <= (offset + access.bytes - 1) / 2; ++pair) {
      const Writer writer{a.writers[pair].load(std::memory_order_relaxed)};
      const unsigned mask = mask_in_pair(pair, offset, access.bytes);
      if (writer.cell == 0 || writer.atomic() || (writer.bytes() & mask) == 0 || ordered(w, writer)) continue;
      report_race(w, inst, a, offset, lane, writer, "reads");
      return;
    }
  }
}

void note_atomic(Allocation& a, std::uint64_t offset) {
  for (std::uint64_t pair = offset / 2; pair <= offset / 2 + 1; ++pair) {
    a.writers[pair].store(atomic_bit, std::memory_order_relaxed);
  }
}

}  // namespace wavejit::sim
