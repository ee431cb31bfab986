// SPDX-License-Identifier: MIT
// Private to the skinny family: one pass of a workgroup over K, each lane taking `width` words (8 weights
// each) of every row, and what it loads and computes.
#pragma once

#include <array>
#include <vector>

#include "generator/ir/builder.hpp"
#include "templates/dequant.hpp"
#include "templates/skinny/skinny.hpp"

namespace wavejit::templates::skinny {

/// What all passes of a kernel share.
struct Context {
  ir::Builder& b;
  const Problem& p;
  const Config& c;
  isa::Operand item;                                       ///< VGPR: work-item of the workgroup
  isa::Operand activations, weights, scales, zero_points;  ///< exact descriptors
  std::array<std::int16_t, 4> arguments{};  ///< their positions, for memory tags, in that order
  std::vector<isa::Operand> zero_bits;      ///< SGPR per row: place of its zero point in a word
  isa::Operand outside;                     ///< SGPR: an offset that no descriptor covers
  isa::Operand low_nibbles, high_nibbles, magic, sixteenth, ones, offset;  ///< SGPRs, see setup()
  isa::Operand spread;                                                     ///< SGPR, f16 with zero points
  std::vector<isa::Operand> whole_scales;  ///< f32 per row, where all of K is one group
  isa::Operand whole_zeros;                ///< word, likewise

  Context(ir::Builder& builder, const Problem& problem, const Config& config)
      : b(builder), p(problem), c(config) {}
  /// Constants of the arithmetic.
  void setup();
  [[nodiscard]] bool bf16() const { return p.activation == DataType::bf16; }
  [[nodiscard]] bool packed_zeros() const { return p.zero_points == ZeroPoints::packed; }
  [[nodiscard]] bool one_group() const { return p.group == p.k; }
  /// A buffer load of `dwords`, or of 16 bits for 0, of argument `which` (an index into `arguments`).
  /// `data`: the registers to load, else new ones.
  isa::Operand fetch(const char* name, unsigned which, unsigned dwords, const isa::Operand& address,
                     const isa::Operand& soffset, std::int32_t immediate = 0, const isa::Operand& data = {});
  /// VGPR = value + constant; `value` itself for 0.
  isa::Operand plus(const char* name, const isa::Operand& value, std::int64_t constant);
  /// f32 of the low 16 bits of a loaded scale or bias.
  isa::Operand widen(const char* name, const isa::Operand& half);
};

class Pass {
 public:
  /// Lanes start at element `first`; those at or beyond K idle where `masked`. `trips`: passes of a loop, in
  /// which each wave goes through a part of K of its own from end to end; 0 = alone. `late`: activations are
  /// loaded where they are needed, word by word, so that not all of them take registers at once.
  Pass(Context& context, unsigned width, std::int64_t first, std::int64_t trips, bool masked, bool late)
      : c_(context),
        b_(context.b),
        width_(width),
        first_(first),
        trips_(trips),
        masked_(masked),
        late_(late) {}

  /// Addresses, in VGPRs.
  void setup();
  /// Loop variables that the loads read, all starting at 0. Late activations are loaded in stage
  /// `late_stage`.
  std::vector<ir::Induction> inductions(std::uint8_t late_stage);
  /// Weights with their scales and zero points; activations unless late.
  void load();
  /// acc[row * bm + m] += this lane's part. `exact`: bf16 from n - zero.
  void multiply(const std::vector<isa::Operand>& acc, Dequantiser* exact);

 private:
  /// Elements that a wave takes at once.
  [[nodiscard]] std::int64_t stretch() const { return std::int64_t{256} * width_; }
  [[nodiscard]] bool looping() const { return trips_ > 0; }
  /// Whether a pass further means the same number of groups further for every lane.
  [[nodiscard]] bool even_groups() const { return !looping() || stretch() % c_.p.group == 0; }
  isa::Operand first_units();
  isa::Operand groups_of(const isa::Operand& units);
  isa::Operand masked(const isa::Operand& address);
  std::vector<isa::Operand> row_addresses(const char* name, const isa::Operand& address, std::int64_t stride,
                                          unsigned rows);
  void load_scales();
  void load_activations(unsigned word);
  /// What a row's weights of this pass have in common.
  struct Terms {
    isa::Operand scale;  ///< f32
    isa::Operand zero;   ///< bf16: 128 + zero in f32; f16: offsets of both nibbles; exact: none
    ColumnTerms exact;
  };
  Terms terms(unsigned row, Dequantiser* exact);
  std::vector<isa::Operand> pairs(const isa::Operand& word, const Terms& terms, Dequantiser* exact);
  isa::Operand dot(const isa::Operand& weights, const isa::Operand& x, const isa::Operand& sum);

  Context& c_;
  ir::Builder& b_;
  unsigned width_;
  std::int64_t first_, trips_;
  bool masked_, late_;
  isa::Operand lane_units_;  ///< K / 8 of the lane's first weight in the first pass
  isa::Operand inside_;      ///< lanes before K, where masked
  std::vector<isa::Operand> w_at_, x_at_, s_at_;
  isa::Operand z_at_;
  isa::Operand w_offset_, x_offset_, s_offset_, z_offset_, units_;  ///< SGPRs of a loop
  std::vector<isa::Operand> words_, scales_;                        ///< loaded, per row
  isa::Operand zeros_;
  std::vector<isa::Operand> x_;  ///< loaded: quads, [word * bm + m]; late words take turns with few
};

}  // namespace wavejit::templates::skinny
