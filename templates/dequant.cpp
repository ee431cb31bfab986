// SPDX-License-Identifier: MIT
#include "templates/dequant.hpp"

namespace wavejit::templates {
namespace {

using isa::imm;
using enum isa::Opcode;

constexpr std::uint32_t zero_symmetric = 8;

/// word shifted so that nibbles 2p, 2p+1 of K order lie at bits 0 and 16.
isa::Operand aligned_pair(ir::Builder& b, const isa::Operand& word, unsigned pair) {
  if (pair == 0) return word;
  const isa::Operand t = b.vgpr("nibbles" + std::to_string(pair));
  b.emit(v_lshrrev_b32, {t}, {imm(4 * pair), word});
  return t;
}

/// bf16 0x4300 | n is exactly 128 + n for n < 128 (domain.md §3.1), so a pair (128 + n, -136) times
/// (s, s) summed is (n - 8) * s. The products and the sum are exact in f32; only the last rounding
/// to bf16 is left. Even weights are taken from bits 0..3, odd ones from bits 16..19, where they
/// already stand in the high half.
class MagicPairs {
 public:
  void setup(ir::Builder& b) {
    constexpr std::uint32_t plus = 0x4300, minus = 0xC300 | (zero_symmetric);
    constexpr std::uint32_t even = minus << 16 | plus, odd = plus << 16 | minus;
    even_ = constant(b, "magic_even", even, "bf16 (128, -136): + nibble in bits 0..3 = (128 + n, -136)");
    odd_ = constant(b, "magic_odd", odd, "bf16 (-136, 128): + nibble in bits 16..19");
    odd_mask_ = constant(b, "mask_odd", 0x000F0000, {});
  }
  isa::Operand even(ir::Builder& b, const isa::Operand& nibbles) {
    const isa::Operand t = b.vgpr("even");
    b.emit(v_and_or_b32, {t}, {nibbles, imm(0xF), even_});
    return t;
  }
  isa::Operand odd(ir::Builder& b, const isa::Operand& nibbles) {
    const isa::Operand t = b.vgpr("odd");
    b.emit(v_and_or_b32, {t}, {nibbles, odd_mask_, odd_});
    return t;
  }
  static isa::Operand constant(ir::Builder& b, std::string name, std::uint32_t bits, std::string comment) {
    const isa::Operand s = b.sgpr(std::move(name));
    b.note(std::move(comment)).emit(s_mov_b32, {s}, {imm(bits)});
    return s;
  }
  /// The scale in both halves.
  static isa::Operand both_halves(ir::Builder& b, const isa::Operand& raw) {
    const isa::Operand s = b.vgpr("scale2");
    b.emit(v_lshl_or_b32, {s}, {raw, imm(16), raw});
    return s;
  }

 private:
  isa::Operand even_, odd_, odd_mask_;
};

/// One v_and_or_b32 and one v_dot2_bf16_bf16 per weight: offset, scale and packing fused. The dot's
/// own rounding applies (target.dot2_bf16).
class MagicBf16 final : public Dequantiser {
 public:
  void setup(ir::Builder& b) override { magic_.setup(b); }
  isa::Operand prepare_scale(ir::Builder& b, const isa::Operand& raw) override {
    return MagicPairs::both_halves(b, raw);
  }
  void weights(ir::Builder& b, const isa::Operand& word, const isa::Operand& scale,
               const isa::Operand& quad) override {
    for (unsigned p = 0; p < 4; ++p) {
      const isa::Operand nibbles = aligned_pair(b, word, p);
      const isa::Operand even = magic_.even(b, nibbles);
      b.emit(v_dot2_bf16_bf16, {quad.slice(p)}, {even, scale, imm(0)}).mi.dst[0].undef = true;
      const isa::Operand odd = magic_.odd(b, nibbles);
      b.emit(v_dot2_bf16_bf16, {quad.slice(p)}, {odd, scale, imm(0)}).mi.mods.op_sel = 0b1000;
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
class NearestBf16 final : public Dequantiser {
 public:
  void setup(ir::Builder& b) override {
    magic_.setup(b);
    round_up_ = MagicPairs::constant(b, "round_up", 0x7FFF, {});
    pack_ = MagicPairs::constant(b, "pack", pack_high_halves, {});
  }
  isa::Operand prepare_scale(ir::Builder& b, const isa::Operand& raw) override {
    return MagicPairs::both_halves(b, raw);
  }
  void weights(ir::Builder& b, const isa::Operand& word, const isa::Operand& scale,
               const isa::Operand& quad) override {
    for (unsigned p = 0; p < 4; ++p) {
      const isa::Operand nibbles = aligned_pair(b, word, p);
      const isa::Operand low = b.vgpr("low"), high = b.vgpr("high");
      b.emit(v_dot2_f32_bf16, {low}, {magic_.even(b, nibbles), scale, imm(0)});
      b.emit(v_dot2_f32_bf16, {high}, {magic_.odd(b, nibbles), scale, imm(0)});
      const isa::Operand rounded_low = round_to_bf16(b, low, round_up_);
      const isa::Operand rounded_high = round_to_bf16(b, high, round_up_);
      b.emit(v_perm_b32, {quad.slice(p)}, {rounded_high, rounded_low, pack_});
    }
  }
  [[nodiscard]] std::string_view describe() const override {
    return "v_and_or_b32 with a bf16 magic pair, v_dot2_f32_bf16 (exact), rounded to nearest even and packed";
  }

 private:
  MagicPairs magic_;
  isa::Operand round_up_, pack_;
};

/// Technique 1 switched off: mask, subtract, convert, multiply, round, pack.
class PlainBf16 final : public Dequantiser {
 public:
  void setup(ir::Builder& b) override {
    round_up_ = MagicPairs::constant(b, "round_up", 0x7FFF, {});
    pack_ = MagicPairs::constant(b, "pack", pack_high_halves, {});
  }
  isa::Operand prepare_scale(ir::Builder& b, const isa::Operand& raw) override {
    const isa::Operand s = b.vgpr("scale_f32");
    b.emit(v_lshlrev_b32, {s}, {imm(16), raw});
    return s;
  }
  void weights(ir::Builder& b, const isa::Operand& word, const isa::Operand& scale,
               const isa::Operand& quad) override {
    for (unsigned p = 0; p < 4; ++p) {
      const isa::Operand low = weight(b, word, scale, 4 * p);
      const isa::Operand high = weight(b, word, scale, 4 * p + 16);
      b.emit(v_perm_b32, {quad.slice(p)}, {high, low, pack_});
    }
  }
  [[nodiscard]] std::string_view describe() const override {
    return "mask, subtract, convert, multiply in f32, round to nearest even, pack";
  }

 private:
  isa::Operand weight(ir::Builder& b, const isa::Operand& word, const isa::Operand& scale, unsigned bit) {
    const isa::Operand q = b.vgpr("q"), centred = b.vgpr("centred"), f = b.vgpr("f"), w = b.vgpr("w");
    b.emit(v_bfe_u32, {q}, {word, imm(bit), imm(4)});
    b.emit(v_add_nc_u32, {centred}, {imm(-static_cast<std::int64_t>(zero_symmetric)), q});
    b.emit(v_cvt_f32_i32, {f}, {centred});
    b.emit(v_mul_f32, {w}, {f, scale});
    return round_to_bf16(b, w, round_up_);
  }
  isa::Operand round_up_, pack_;
};

}  // namespace

isa::Operand round_to_bf16(ir::Builder& b, const isa::Operand& value, const isa::Operand& round_up) {
  const isa::Operand odd = b.vgpr("lsb"), rounded = b.vgpr("rounded");
  b.emit(v_bfe_u32, {odd}, {value, imm(16), imm(1)});
  b.emit(v_add3_u32, {rounded}, {value, odd, round_up});
  return rounded;
}

std::unique_ptr<Dequantiser> make_dequantiser(const Problem& problem, const Techniques& techniques) {
  if (!techniques.magic_dequant) return std::make_unique<PlainBf16>();
  if (problem.rounding == WeightRounding::nearest) return std::make_unique<NearestBf16>();
  return std::make_unique<MagicBf16>();
}

}  // namespace wavejit::templates
