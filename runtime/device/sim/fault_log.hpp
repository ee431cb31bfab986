// SPDX-License-Identifier: MIT
// Internal: one thread's faults, by kind and instruction.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "runtime/device/sim/fault.hpp"

namespace wavejit::sim {

class FaultLog {
 public:
  void limit(std::uint32_t max_described) { max_described_ = max_described; }

  /// Counts one occurrence. True when it should be described: the first of its kind at this
  /// instruction, or one earlier in launch order than the one described.
  bool count(FaultKind kind, std::uint32_t inst, std::uint64_t workgroup, std::uint32_t wave);
  /// `when`: instructions that the wave had executed.
  void describe(Fault fault, std::uint64_t workgroup, std::uint64_t when);

  void merge(FaultLog&& other);
  [[nodiscard]] std::uint64_t distinct() const { return entries_.size(); }
  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] const std::array<std::uint64_t, fault_kinds>& totals() const { return totals_; }
  /// Described faults in launch order of their first occurrence.
  [[nodiscard]] std::vector<Fault> take();

 private:
  struct Entry {
    std::uint64_t count = 0;
    std::uint64_t workgroup = ~std::uint64_t{0};
    std::uint32_t wave = 0;
    std::uint64_t when = 0;
    bool described = false;
    Fault fault;
  };
  std::map<std::pair<FaultKind, std::uint32_t>, Entry> entries_;
  std::array<std::uint64_t, fault_kinds> totals_{};
  std::uint64_t total_ = 0;
  std::uint32_t max_described_ = 64;
};

}  // namespace wavejit::sim
