// SPDX-License-Identifier: MIT
// The simulated device's address space. Allocations are byte-exact: the first byte past the end
// belongs to nobody, and at least 8 GiB of nobody's addresses lie between two allocations, so that a
// 32-bit offset from one can never land in another. A base has exactly the alignment asked for and
// not one bit more. Every byte is defined or undefined; fresh memory is undefined unless asked
// otherwise. Host memory is reserved, not touched, so allocations over 4 GiB cost what is written.
// Not thread-safe among host calls; a run may use it from its own threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "generator/support/error.hpp"

namespace wavejit::sim {

/// What a fresh allocation holds.
enum class Contents : std::uint8_t {
  undefined,  ///< reading it is not an error, using what was read is
  zero,       ///< defined zeros, lazily
};

struct Allocation {
  std::uint64_t base = 0;  ///< simulated address
  std::uint64_t size = 0;  ///< bytes
  std::string name;
  bool read_only = false;  ///< a kernel's store faults
  bool all_defined = false;
  std::uint8_t* data = nullptr;  ///< host copy, `size` bytes
  std::atomic<std::uint8_t>* defined =
      nullptr;  ///< bit i%8 of byte i/8 = byte i is defined; unused if all_defined
  std::atomic<std::uint64_t>* writers =
      nullptr;                       ///< per 2 bytes: who wrote last in this run (global_order.hpp)
  std::atomic<bool> written{false};  ///< a kernel has stored here in this run

  Allocation() = default;
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation();

  [[nodiscard]] bool contains(std::uint64_t address, std::uint64_t bytes) const {
    return address >= base && bytes <= size && address - base <= size - bytes;
  }
  /// Bit i set = byte `offset + i` is defined; `bytes` <= 16.
  [[nodiscard]] std::uint32_t defined_bits(std::uint64_t offset, unsigned bytes) const;
  /// Whether defined_bits are all set; one or two loads where `offset` is a multiple of 8.
  [[nodiscard]] bool is_defined(std::uint64_t offset, unsigned bytes) const {
    if (all_defined) return true;
    if (offset % 8 != 0 || bytes % 8 != 0 || bytes > 16)
      return defined_bits(offset, bytes) == (1U << bytes) - 1;
    const unsigned first = defined[offset / 8].load(std::memory_order_relaxed);
    const unsigned last = defined[offset / 8 + bytes / 8 - 1].load(std::memory_order_relaxed);
    return (first & last) == 0xFF;
  }
  void define(std::uint64_t offset, std::uint64_t bytes);
  void undefine(std::uint64_t offset, std::uint64_t bytes);

 private:
  friend class Memory;
  std::uint64_t data_reserved_ = 0, defined_reserved_ = 0, writers_reserved_ = 0;
};

class Memory {
 public:
  /// `alignment`: a power of two. Errors: invalid_argument (size 0, alignment, address space used
  /// up), io (host refuses the reservation).
  Result<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t alignment, std::string name,
                                 Contents contents = Contents::undefined);
  /// `address` must be an allocation's base.
  Result<void> release(std::uint64_t address);
  Result<void> set_read_only(std::uint64_t address, bool read_only);

  /// Copies in and defines. Errors: invalid_argument when any byte is outside an allocation.
  Result<void> write(std::uint64_t address, std::span<const std::byte> bytes);
  /// Copies out; undefined bytes come as they are (ask undefined_bytes).
  Result<void> read(std::uint64_t address, std::span<std::byte> bytes) const;
  Result<void> fill(std::uint64_t address, std::uint64_t bytes, std::byte value);
  Result<void> poison(std::uint64_t address, std::uint64_t bytes);
  /// How many of the bytes are undefined.
  Result<std::uint64_t> undefined_bytes(std::uint64_t address, std::uint64_t bytes) const;

  /// nullptr when no allocation holds the byte.
  [[nodiscard]] const Allocation* find(std::uint64_t address) const;
  [[nodiscard]] Allocation* find(std::uint64_t address);
  /// "12 bytes past the end of 'weights' [0x…, 0x…)": for reports. Empty space says so.
  [[nodiscard]] std::string describe(std::uint64_t address) const;

  /// Forgets who wrote what; called at the start of each run.
  void begin_run();

 private:
  [[nodiscard]] Allocation* locate(std::uint64_t address, std::uint64_t bytes) const;

  std::vector<std::unique_ptr<Allocation>> allocations_;  ///< by base
  std::uint64_t next_ = 0x10'0000'0000;
};

}  // namespace wavejit::sim
