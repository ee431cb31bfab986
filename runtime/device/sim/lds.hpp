// SPDX-License-Identifier: MIT
// Internal: a workgroup's LDS. Bytes, one defined bit per byte, and for each dword who wrote and who
// read it since the last barrier. A dword whose bytes have different histories (byte and 16-bit
// accesses) is tracked byte by byte.
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
  /// Bit i = byte address+i is defined; `bytes` <= 16.
  [[nodiscard]] std::uint32_t defined_bits(std::uint32_t address, unsigned bytes) const;
  void define(std::uint32_t address, unsigned bytes);
  void undefine(std::uint32_t address);  ///< one byte

  /// `epoch` counts the barriers that the wave has passed. `same_value`: a store that changes nothing does
  /// not clash with another store.
  Result on_read(unsigned wave, std::uint32_t epoch, std::uint32_t address, unsigned bytes);
  Result on_write(unsigned wave, std::uint32_t epoch, std::uint32_t address, unsigned bytes, bool same_value);
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
    bool mixed = false;  ///< look at the byte cells
    bool write_carried = false, read_carried = false, atomic = false;
  };
  template <class F>
  void each_cell(std::uint32_t address, unsigned bytes, F&& f);
  static void read_cell(Cell& c, unsigned wave, std::uint32_t epoch, Result& result);
  static void write_cell(Cell& c, unsigned wave, std::uint32_t epoch, bool may_meet_writer, Result& result);

  std::uint32_t size_ = 0;
  bool track_ = false;
  std::vector<std::uint8_t> data_, defined_;
  std::vector<Cell> dwords_, bytes_;
};

}  // namespace wavejit::sim
