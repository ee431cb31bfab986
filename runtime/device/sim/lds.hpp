// SPDX-License-Identifier: MIT
// Internal: a workgroup's LDS. Bytes, one defined bit per byte, and for each block of 16 bytes who wrote and
// who read it since the last barrier. A block whose dwords have different histories (narrower accesses) is
// tracked dword by dword, and such a dword (byte and 16-bit accesses) byte by byte.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace wavejit::sim {

class Lds {
 public:
  enum class Clash : std::uint8_t { none, race, unwaited };
  struct Result {
    Clash clash = Clash::none;
    std::uint8_t other = 0;  ///< the other wave
    bool other_wrote = false;
  };

  void reset(std::uint32_t bytes, bool track_races);

  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] std::uint8_t* data() { return data_.data(); }
  [[nodiscard]] bool tracks() const { return track_; }
  /// Bit i = byte address+i is defined; `bytes` <= 16.
  [[nodiscard]] std::uint32_t defined_bits(std::uint32_t address, unsigned bytes) const;
  void define(std::uint32_t address, unsigned bytes);
  /// 16 bytes at a multiple of 16.
  void define_block(std::uint32_t address) { defined_[address / 8] = defined_[address / 8 + 1] = 0xFF; }
  void undefine(std::uint32_t address);  ///< one byte

  /// `epoch` counts the barriers that the wave has passed. `same_value`: a store that changes nothing does
  /// not clash with another store.
  Result on_read(unsigned wave, std::uint32_t epoch, std::uint32_t address, unsigned bytes);
  Result on_write(unsigned wave, std::uint32_t epoch, std::uint32_t address, unsigned bytes, bool same_value);
  /// `count` accesses of 16 bytes of one wave at addresses that are multiples of 16, noted as by on_read and
  /// on_write. False, and nothing is noted, if that has to be done one by one: one clashes, or its block is
  /// tracked by dwords.
  bool read_blocks(unsigned wave, std::uint32_t epoch, const std::uint32_t* address, unsigned count);
  bool write_blocks(unsigned wave, std::uint32_t epoch, const std::uint32_t* address, unsigned count);
  /// Whether the `bytes` (up to 16) at each of the addresses are all defined.
  [[nodiscard]] bool all_defined(const std::uint32_t* address, unsigned count, unsigned bytes) const;
  /// Atomics of several waves do not clash with each other.
  Result on_atomic(unsigned wave, std::uint32_t epoch, std::uint32_t address);
  /// An access of `wave` that a barrier did not wait for counts as made in the new `epoch` as well.
  void carry_over(unsigned wave, std::uint32_t epoch, std::uint32_t address, unsigned bytes, bool store);

 private:
  struct Cell {
    std::uint32_t write_epoch = 0;  ///< epoch + 1; 0 = never
    std::uint32_t read_epoch = 0;
    std::uint32_t readers = 0;  ///< bit per wave, in read_epoch
    std::uint8_t writer = 0;
    bool mixed = false;  ///< look at the next smaller cells
    bool write_carried = false, read_carried = false, atomic = false;
  };
  void split(Cell& block, std::uint32_t address);
  template <class F>
  void each_cell(std::uint32_t address, unsigned bytes, F&& f);
  static void read_cell(Cell& c, unsigned wave, std::uint32_t epoch, Result& result);
  static void write_cell(Cell& c, unsigned wave, std::uint32_t epoch, bool may_meet_writer, Result& result);

  std::uint32_t size_ = 0;
  bool track_ = false;
  std::vector<std::uint8_t> data_, defined_;
  std::vector<Cell> blocks_;
  std::vector<Cell> dwords_, bytes_;  ///< valid below cells that are mixed; made on first use
};

}  // namespace wavejit::sim
