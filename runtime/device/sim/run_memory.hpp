// SPDX-License-Identifier: MIT
// Internal: what a launch puts into memory itself, given back whatever happens.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "runtime/device/sim/code.hpp"
#include "runtime/device/sim/simulator.hpp"

namespace wavejit::sim {

/// The kernel arguments and the dispatch packet, read-only allocations.
class RunMemory {
 public:
  RunMemory(Memory& memory, const detail::Code& code, const LaunchParams& launch);
  RunMemory(const RunMemory&) = delete;
  RunMemory& operator=(const RunMemory&) = delete;
  ~RunMemory();

  [[nodiscard]] Result<void> error() const;
  [[nodiscard]] std::uint64_t kernarg() const { return kernarg_.value_or(0); }
  [[nodiscard]] std::uint64_t packet() const { return packet_.value_or(0); }

 private:
  Result<std::uint64_t> make(std::span<const std::byte> bytes, std::uint64_t alignment, std::string name);

  Memory& memory_;
  Result<std::uint64_t> kernarg_ = 0;
  Result<std::uint64_t> packet_ = 0;
};

}  // namespace wavejit::sim
