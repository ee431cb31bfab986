// SPDX-License-Identifier: MIT
// bf16 by magic numbers. The bit pattern 0x4300 | n is exactly 128 + n for n < 128 (domain.md §3.1), so a
// pair (128 + n, -(128 + zero)) times (s, s), summed, is (n - zero) * s. The products and the sum are
// exact in f32; only the rounding to bf16 is left. Even weights are taken from bits 0..3, odd ones
// from bits 16..19, where they already stand in the high half. A zero point only changes the constant
// half of the pair, so it costs nothing per weight.
#include "templates/dequant_policies.hpp"
#include "templates/round.hpp"

namespace wavejit::templates {
namespace {

using isa::imm;
using enum isa::Opcode;

constexpr std::uint32_t plus = 0x4300, minus = 0xC300;  // 128 and -128; or-ing n in adds or subtracts n

/// The pairs; zero[0] of a column's terms is the even pattern, zero[1] the odd one.
class MagicPairs {
 public:
  explicit MagicPairs(bool packed_zeros) : packed_zeros_(packed_zeros) {}

  void setup(ir::Builder& b) {
    const std::uint32_t constant = packed_zeros_ ? minus : minus | zero_symmetric;
    const std::string half = packed_zeros_ ? "-128" : "-136";
    even_ = scalar_constant(b, "magic_even", constant << 16 | plus,
                            "bf16 (128, " + half + "): + nibble in bits 0..3 of the low half");
    odd_ = scalar_constant(b, "magic_odd", plus << 16 | constant,
                           "bf16 (" + half + ", 128): + nibble in bits 0..3 of the high half");
    odd_mask_ = scalar_constant(b, "mask_odd", 0x000F0000);
  }

  ColumnTerms terms(ir::Builder& b, const ColumnSource& source) const {
    ColumnTerms column{.scale = {}, .zero = {even_, odd_}};
    if (source.scale.is_reg()) {
      column.scale = b.vgpr("scale2");
      b.note("the scale in both halves")
          .emit(v_lshl_or_b32, {column.scale}, {source.scale, imm(16), source.scale});
    }
    if (!packed_zeros_) return column;
    const isa::Operand zero = zero_point(b, source);
    column.zero = {b.vgpr("zero_even"), b.vgpr("zero_odd")};
    b.note("(128, -128 - zero)").emit(v_lshl_or_b32, {column.zero[0]}, {zero, imm(16), even_});
    b.note("(-128 - zero, 128)").emit(v_or_b32, {column.zero[1]}, {odd_, zero});
    return column;
  }

  static isa::Operand even(ir::Builder& b, const isa::Operand& nibbles, const ColumnTerms& column) {
    const isa::Operand t = b.vgpr("even");
    b.emit(v_and_or_b32, {t}, {nibbles, imm(0xF), column.zero[0]});
    return t;
  }
  [[nodiscard]] isa::Operand odd(ir::Builder& b, const isa::Operand& nibbles,
                                 const ColumnTerms& column) const {
    const isa::Operand t = b.vgpr("odd");
    b.emit(v_and_or_b32, {t}, {nibbles, odd_mask_, column.zero[1]});
    return t;
  }

 private:
  bool packed_zeros_;
  isa::Operand even_, odd_, odd_mask_;
};

/// One v_and_or_b32 and one v_dot2_bf16_bf16 per weight: offset, scale and packing fused. The dot's
/// own rounding applies (target.dot2_bf16).
class Fastest final : public Dequantiser {
 public:
  explicit Fastest(bool packed_zeros) : magic_(packed_zeros) {}

  void setup(ir::Builder& b) override { magic_.setup(b); }
  ColumnTerms terms(ir::Builder& b, const ColumnSource& source) override { return magic_.terms(b, source); }
  void weights(ir::Builder& b, const isa::Operand& word, const ColumnTerms& column,
               const isa::Operand& quad) override {
    for (unsigned p = 0; p < 4; ++p) {
      const isa::Operand nibbles = shifted(b, word, 4 * p);
      const isa::Operand even = MagicPairs::even(b, nibbles, column);
      b.emit(v_dot2_bf16_bf16, {quad.slice(p)}, {even, column.scale, imm(0)}).mi.dst[0].undef = true;
      const isa::Operand odd = magic_.odd(b, nibbles, column);
      b.emit(v_dot2_bf16_bf16, {quad.slice(p)}, {odd, column.scale, imm(0)}).mi.mods.op_sel = 0b1000;
    }
  }
  [[nodiscard]] std::string_view describe() const override {
    return "v_and_or_b32 with a bf16 magic pair, v_dot2_bf16_bf16 fuses offset, scale and packing; the dot "
           "truncates to bf16 (weights biased by about -0.11 %)";
  }

 private:
  MagicPairs magic_;
};

/// The same exact pairs through v_dot2_f32_bf16, then round to nearest even.
class Nearest final : public Dequantiser {
 public:
  explicit Nearest(bool packed_zeros) : magic_(packed_zeros), rounder_(DataType::bf16, false) {}

  void setup(ir::Builder& b) override {
    magic_.setup(b);
    rounder_.setup(b);
  }
  ColumnTerms terms(ir::Builder& b, const ColumnSource& source) override { return magic_.terms(b, source); }
  void weights(ir::Builder& b, const isa::Operand& word, const ColumnTerms& column,
               const isa::Operand& quad) override {
    for (unsigned p = 0; p < 4; ++p) {
      const isa::Operand nibbles = shifted(b, word, 4 * p);
      const isa::Operand low = b.vgpr("low"), high = b.vgpr("high");
      b.emit(v_dot2_f32_bf16, {low}, {MagicPairs::even(b, nibbles, column), column.scale, imm(0)});
      b.emit(v_dot2_f32_bf16, {high}, {magic_.odd(b, nibbles, column), column.scale, imm(0)});
      rounder_.round(b, low, high, quad.slice(p));
    }
  }
  [[nodiscard]] std::string_view describe() const override {
    return "v_and_or_b32 with a bf16 magic pair, v_dot2_f32_bf16 (exact), rounded to nearest even and packed";
  }

 private:
  MagicPairs magic_;
  PairRounder rounder_;
};

}  // namespace

std::unique_ptr<Dequantiser> make_magic_bf16(bool packed_zeros, WeightRounding rounding) {
  if (rounding == WeightRounding::nearest) return std::make_unique<Nearest>(packed_zeros);
  return std::make_unique<Fastest>(packed_zeros);
}

}  // namespace wavejit::templates
