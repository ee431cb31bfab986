// SPDX-License-Identifier: MIT
// A launch's tensors on the simulated device. Each is an allocation of its own, exactly as long as
// the tensor, aligned as asked and not one bit more, with nobody's addresses around it: any access
// before its first or past its last byte is a fault. Padding between rows, and rows that no chosen
// tile needs, stay undefined: a kernel may load them, but a result made of them is a fault.
// Inputs are read-only to kernels. The output starts as undefined bytes of 0xFF (a NaN): a byte that
// is defined afterwards was stored by the kernel. The stages of a Config share their tensors by name;
// the workspace between them starts like the output, and like it is the kernels' own to define.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/device/sim/memory.hpp"
#include "templates/kernel.hpp"
#include "tests/harness/tiles.hpp"
#include "tests/oracle/problem.hpp"

namespace wavejit::harness {

/// The oracle's view of a normalised problem.
oracle::Shape oracle_shape(const templates::Problem& problem);

/// A tensor's rows as somebody else packed them; bytes between the rows are not looked at.
struct PackedRows {
  std::vector<std::byte> bytes;  ///< rows lie as far apart as the launch says
  std::int64_t rows = 0, row_bytes = 0;
};

class Tensors {
 public:
  /// Allocates every buffer of `launches` (one per stage) once and fills the rows that `tiles` need.
  /// `alignment` overrides what the launches ask for, `packed` the tensor's content, both by argument name;
  /// `group_rows` are the sizes of a grouped problem's groups. Errors: those of sim::Memory, unsupported for
  /// an argument that no filler knows, invalid_argument for one whose size two stages state differently (but
  /// for the workspace: its size is the largest).
  static Result<Tensors> create(const templates::Problem& problem,
                                std::span<const templates::Launch> launches, const std::vector<Tile>& tiles,
                                const oracle::Values& values,
                                const std::map<std::string, std::uint32_t>& alignment,
                                const std::map<std::string, PackedRows>& packed = {},
                                std::span<const std::int64_t> group_rows = {});

  [[nodiscard]] sim::Memory& memory() { return memory_; }
  /// A stage's kernarg segment: addresses and scalars at their offsets, other bytes 0xA5.
  [[nodiscard]] const std::vector<std::byte>& kernarg(std::size_t stage) const {
    return stages_[stage].kernarg;
  }
  /// Device addresses of a stage's buffer arguments, in order.
  [[nodiscard]] const std::vector<std::uint64_t>& addresses(std::size_t stage) const {
    return stages_[stage].addresses;
  }

  /// Bits of the output's block, row-major, and how many of its bytes the kernel never stored.
  struct Output {
    std::vector<std::uint16_t> bits;
    std::uint64_t unwritten_bytes = 0;
  };
  [[nodiscard]] Result<Output> read_output(const oracle::Block& block) const;
  /// Bytes of the whole output allocation that the kernel stored, padding and all.
  [[nodiscard]] Result<std::uint64_t> written_output_bytes() const;

 private:
  Result<void> fill(const templates::Argument& argument, std::uint64_t address, const oracle::Shape& shape,
                    const std::vector<Tile>& tiles, const oracle::Values& values,
                    std::span<const std::int64_t> group_rows);
  Result<void> fill_group_major(const templates::Argument& argument, std::uint64_t address,
                                const oracle::Shape& shape, const std::vector<Tile>& tiles,
                                const oracle::FloatRow& source);

  struct Stage {
    std::vector<std::byte> kernarg;
    std::vector<std::uint64_t> addresses;
  };

  sim::Memory memory_;
  std::vector<Stage> stages_;
  std::uint64_t output_address_ = 0, output_bytes_ = 0, output_row_stride_ = 0;
};

}  // namespace wavejit::harness
