// SPDX-License-Identifier: MIT
// What a wave still has in flight, as far as a wait can be needed for it: for each counter and each
// register (or purpose) the number of operations that the counter took up after the latest one that
// matters. That number, the age, is the count an s_waitcnt must ask for; a smaller age is stricter,
// so joining two paths takes the smaller. Order rules: hardware.md §4.2.
#pragma once

#include <array>
#include <cstdint>

#include "generator/ir/kernel.hpp"
#include "generator/passes/passes.hpp"
#include "generator/passes/register_set.hpp"

namespace wavejit::passes {

/// vm: vector loads; vs: vector stores; lgkm: LDS, and scalar loads and messages with it where the target
/// has no counter of their own; km: scalar loads and messages where it has (gfx12).
enum class Counter : std::uint8_t { vm, vs, lgkm, km };
inline constexpr unsigned counter_count = 4;
inline constexpr std::array all_counters{Counter::vm, Counter::vs, Counter::lgkm, Counter::km};

/// The counts a wait asks for; `none` = does not wait on that counter.
struct Need {
  static constexpr std::uint8_t none = 0xFF;
  std::array<std::uint8_t, counter_count> count{none, none, none, none};

  [[nodiscard]] bool any() const {
    return count != std::array<std::uint8_t, counter_count>{none, none, none, none};
  }
  [[nodiscard]] std::uint8_t operator[](Counter c) const { return count[static_cast<unsigned>(c)]; }
  std::uint8_t& operator[](Counter c) { return count[static_cast<unsigned>(c)]; }
  /// Whether waiting for *this is enough where `other` is needed.
  [[nodiscard]] bool covers(const Need& other) const;
  void tighten(const Need& other);
  friend bool operator==(const Need&, const Need&) = default;
};

class Pending {
 public:
  Pending() : Pending(nullptr, {}) {}
  Pending(const ir::Kernel* kernel, WaitOptions options);

  /// What must be waited for before `inst` may issue.
  [[nodiscard]] Need required(const ir::Instruction& inst) const;
  /// Takes up `inst`: a wait retires, a memory operation becomes the youngest of its counter.
  void issue(const ir::Instruction& inst);
  /// The effect of a wait.
  void retire(const Need& wait);
  /// Joins another path's state; true if *this changed.
  bool merge(const Pending& other);

  /// Any operation of the counter that may be in flight.
  [[nodiscard]] bool outstanding(Counter c) const { return age(c, any_operation) != absent; }

 private:
  static constexpr unsigned stages = 3;
  // Purposes other than a register; they share the age tables.
  enum Slot : unsigned {
    lds_access = unit::count,  ///< LDS memory read or written by this wave
    lds_dma,                   ///< vector loads that write LDS, outside rings
    ring_dma,                  ///< … a ring's current buffer, one slot for each pipeline stage
    ring_dma_end = ring_dma + stages,
    shared_global = ring_dma_end,  ///< global memory that other waves use behind a barrier
    unordered,                     ///< scalar loads and messages: only a wait for 0 says anything
    any_operation,
    slot_count,
  };
  static constexpr std::uint8_t absent = 0xFF;
  using Ages = std::array<std::uint8_t, slot_count>;

  [[nodiscard]] std::uint8_t age(Counter c, unsigned slot) const {
    return ages_[static_cast<unsigned>(c)][slot];
  }
  void require(Need& need, Counter c, unsigned slot) const;
  void retire(Counter c, std::uint8_t count);
  void advance(Counter c);
  void mark(Counter c, unsigned slot) { ages_[static_cast<unsigned>(c)][slot] = 0; }
  [[nodiscard]] Counter vector_counter(const isa::Instruction& inst) const;
  [[nodiscard]] bool is_shared_global(const ir::MemoryTag& tag) const;

  const ir::Kernel* kernel_;
  WaitOptions options_;
  std::array<Ages, counter_count> ages_;
};

/// Reads the waits of one instruction (s_waitcnt, s_waitcnt_vscnt, s_wait_*cnt); empty for any other.
Need wait_of(const isa::Instruction& inst, const target::Target& target);

}  // namespace wavejit::passes
