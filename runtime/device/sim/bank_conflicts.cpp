// SPDX-License-Identifier: MIT
#include "runtime/device/sim/bank_conflicts.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace wavejit::sim {
namespace {

constexpr unsigned max_banks = 64;

/// A group whose lanes each cover whole aligned units of `unit` bytes is free of conflicts when all
/// units differ modulo the banks: one bit per unit decides.
bool all_units_differ(std::span<const std::uint32_t> address, std::uint64_t active, unsigned unit,
                      unsigned banks) {
  const unsigned units = banks * 4 / unit;
  std::uint64_t seen = 0;
  for (std::uint64_t lanes = active; lanes != 0; lanes &= lanes - 1) {
    const std::uint32_t a = address[static_cast<unsigned>(std::countr_zero(lanes))];
    if (a % unit != 0) return false;
    seen |= std::uint64_t{1} << (a / unit % units);
  }
  return std::popcount(seen) == std::popcount(active);
}

/// Most distinct dwords that one bank has to serve.
unsigned group_clocks(std::span<const std::uint32_t> address, std::uint64_t active, unsigned bytes,
                      unsigned banks) {
  struct Bank {
    std::array<std::uint32_t, 64> dwords;
    unsigned count = 0;
  };
  std::array<Bank, max_banks> use;
  for (unsigned b = 0; b < banks; ++b) use[b].count = 0;
  unsigned worst = 1;
  for (std::uint64_t lanes = active; lanes != 0; lanes &= lanes - 1) {
    const std::uint32_t a = address[static_cast<unsigned>(std::countr_zero(lanes))];
    for (std::uint32_t d = a / 4; d <= (a + bytes - 1) / 4; ++d) {
      Bank& b = use[d % banks];
      if (std::find(b.dwords.begin(), b.dwords.begin() + b.count, d) != b.dwords.begin() + b.count) continue;
      if (b.count < b.dwords.size()) b.dwords[b.count++] = d;
      worst = std::max(worst, b.count);
    }
  }
  return worst;
}

}  // namespace

unsigned conflict_cycles(std::span<const std::uint32_t> address, std::uint64_t active, unsigned lanes,
                         unsigned bytes, unsigned banks) {
  if (banks == 0 || banks > max_banks) return 0;
  const unsigned unit = bytes <= 4 ? 4 : bytes == 12 ? 16 : bytes;
  const unsigned group = std::min(lanes, banks * 4 / unit);
  const std::uint64_t group_mask = group >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << group) - 1;
  unsigned extra = 0;
  for (unsigned first = 0; first < lanes; first += group) {
    const std::uint64_t mask = active & group_mask << first;
    if (mask == 0 || (bytes >= 4 && bytes != 12 && all_units_differ(address, mask, unit, banks))) continue;
    extra += group_clocks(address, mask, bytes, banks) - 1;
  }
  return extra;
}

bool ConflictMemo::same(std::span<const std::uint32_t> address, std::uint64_t active, unsigned lanes,
                        unsigned bytes) const {
  if (bytes_ != bytes || active_ != active) return false;
  const std::uint32_t shift = address[0] - address_[0];
  std::uint32_t differs = shift & 3;
  for (unsigned base = 0; base < lanes; base += 32) {
    const std::uint32_t* now = address.data() + base;
    const std::uint32_t* then = address_.data() + base;
    for (unsigned i = 0; i < 32; ++i) differs |= (now[i] - then[i]) ^ shift;
  }
  return differs == 0;
}

unsigned ConflictMemo::cycles(std::span<const std::uint32_t> address, std::uint64_t active, unsigned lanes,
                              unsigned bytes, unsigned banks) {
  if (same(address, active, lanes, bytes)) return cycles_;
  active_ = active;
  bytes_ = bytes;
  cycles_ = conflict_cycles(address, active, lanes, bytes, banks);
  std::copy_n(address.begin(), lanes, address_.begin());
  return cycles_;
}

}  // namespace wavejit::sim
