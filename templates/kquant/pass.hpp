// SPDX-License-Identifier: MIT
// Private to the K-quant family: one pass over neighbouring superblocks of a row, `width` of them in wave32
// and twice as many in wave64, each lane taking `width` dwords of their quants, and what a pass of each type
// loads and computes.
#pragma once

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "generator/ir/builder.hpp"
#include "templates/kquant/kquant.hpp"

namespace wavejit::templates::kquant {

/// What all passes of a kernel share.
struct Context {
  ir::Builder& b;
  const Problem& p;
  isa::Operand lane;
  std::vector<isa::Operand> rows;     ///< descriptors, one per row of weights
  std::vector<isa::Operand> phases;   ///< SGPR per row: bytes from the descriptor's base to the row; or none
  std::vector<isa::Operand> columns;  ///< descriptors, one per row of activations
  std::vector<std::pair<std::uint32_t, isa::Operand>> constants;  ///< SGPRs that hold them
  std::size_t constants_at = 0;                                   ///< block that sets them

  /// An SGPR that holds `value`: set once, in block `constants_at`.
  isa::Operand constant(std::uint32_t value);
};

class Pass {
 public:
  /// `first`: the superblock that lane 0 starts with. `half`: of a pass over two, the second does not exist.
  Pass(Context& context, unsigned width, std::int64_t first, bool half)
      : c_(context), b_(context.b), width_(width), first_(first), half_pass_(half) {}
  virtual ~Pass() = default;
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  /// Lane constants and addresses.
  virtual void setup() = 0;
  /// Loads at uniform offsets from those addresses (SGPRs or constants).
  virtual void load(const isa::Operand& weights, const isa::Operand& activations) = 0;
  /// acc[row * m + column] += this lane's part of what load() loaded.
  virtual void multiply(const std::vector<isa::Operand>& acc) = 0;

 protected:
  struct Term {
    isa::Operand reg;
    std::int64_t factor;
  };
  /// constant + sum of reg * factor, in a VGPR; registers and factors below 2^24.
  isa::Operand linear(const char* name, std::int64_t constant, std::initializer_list<Term> terms);
  /// An instruction's constant factor.
  isa::Operand factor(std::int64_t value);
  void geometry();
  /// The address, which in a half pass lies beyond every descriptor for the lanes of the superblock that does
  /// not exist: they load zeros, which add nothing.
  isa::Operand existing(const isa::Operand& address);
  [[nodiscard]] unsigned wave_size() const { return b_.kernel().target->wave_size; }
  isa::Operand fetch(isa::Opcode op, const char* name, unsigned dwords, const isa::Operand& address,
                     const isa::Operand& descriptor, const isa::Operand& offset, std::int32_t immediate = 0);
  /// Of the rows, whose addresses differ where their phases do: one entry, or one per row.
  [[nodiscard]] std::vector<isa::Operand> phases() const;
  /// Adds a phase, if it is one.
  void add(const isa::Operand& phase, const isa::Operand& address);
  [[nodiscard]] std::int64_t lane_bytes() const { return std::int64_t{4} * width_; }
  static isa::Opcode wide_load(unsigned dwords);
  [[nodiscard]] isa::Opcode wide_load() const { return wide_load(width_); }
  /// A run of dwords whose first byte may lie in the middle of the first one (see pass_q6.cpp).
  struct RunPlace {
    isa::Operand first, last, shift;  ///< aligned addresses; bytes to shift by, 0 or 2
  };
  struct Run {
    isa::Operand dwords, last, shift;
  };
  /// A block's f16 d and the run that a lane takes of its quants (Q8_0, Q4_0).
  struct BlockPlace {
    RunPlace quants;
    isa::Operand scale;
  };
  [[nodiscard]] const BlockPlace& of_row(std::size_t row) const {
    return places_[places_.size() == 1 ? 0 : row];
  }
  /// `address`: of the run's first byte, a multiple of 2.
  RunPlace place_run(const isa::Operand& address, unsigned dwords);
  Run fetch_run(const RunPlace& place, unsigned dwords, const isa::Operand& descriptor,
                const isa::Operand& offset, std::int32_t immediate = 0);
  /// Dword i of the run, from its first byte on.
  isa::Operand dword(const Run& run, unsigned i);
  void load_activations(const isa::Operand& offset, std::int32_t second_half);
  isa::Operand dot(bool first_signed, const isa::Operand& quants, const isa::Operand& x,
                   const isa::Operand& sum);
  isa::Operand f16(const char* name, const isa::Operand& bits);
  isa::Operand unary(isa::Opcode op, const char* name, const isa::Operand& a);
  isa::Operand binary(isa::Opcode op, const char* name, const isa::Operand& a, const isa::Operand& b);
  void accumulate(const isa::Operand& acc, const isa::Operand& a, const isa::Operand& b);

  Context& c_;
  ir::Builder& b_;
  unsigned width_;
  std::int64_t first_;
  bool half_pass_;
  isa::Operand missing_;        ///< of a half pass: 1 in the lanes of what does not exist
  isa::Operand index_, group_;  ///< lane's place in its superblock's lanes; which superblock (none if one)
  isa::Operand chunk_, byte_;   ///< of the lane's first quant byte p: p / 32, p % 32
  isa::Operand x_address_, d_address_;
  std::vector<BlockPlace> places_;                ///< as phases()
  std::vector<isa::Operand> x_low_, x_high_, d_;  ///< per row of activations
};

std::unique_ptr<Pass> make_pass(Context& context, unsigned width, std::int64_t first, bool half = false);

}  // namespace wavejit::templates::kquant
