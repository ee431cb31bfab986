// SPDX-License-Identifier: MIT
// f16 by magic numbers, two weights an instruction (domain.md §3.1). ExLlama order puts the nibbles of a
// pair 16 bits apart, so one v_and_or_b32 makes two f16 of
//   1024 + n       from nibbles in bits 0..3, 0x6400 | n, or of
//   1024 + 16 n    from nibbles in bits 4..7, 0x6400 | n << 4, which spares a shift.
// Adding -(1024 + zero), or multiplying by 1/16 and adding -(64 + zero), gives n - zero exactly; one
// packed multiply by the scale rounds, to nearest even.
#include "templates/dequant_policies.hpp"
#include "templates/round.hpp"

namespace wavejit::templates {
namespace {

using enum isa::Opcode;

constexpr std::uint32_t minus_1024 = 0xE400, minus_64 = 0xD400;  // the zero point goes to bits 0..3 and 4..7

/// Both constants of a zero point, -(64 + zero) in the high half and -(1024 + zero) in the low one.
constexpr std::uint32_t spread = 1U << 20 | 1U, offsets = minus_64 << 16 | minus_1024;

class MagicF16 final : public Dequantiser {
 public:
  explicit MagicF16(bool packed_zeros) : packed_zeros_(packed_zeros) {}

  void setup(ir::Builder& b) override {
    low_mask_ = scalar_constant(b, "mask_low", 0x000F000F);
    high_mask_ = scalar_constant(b, "mask_high", 0x00F000F0);
    magic_ = scalar_constant(b, "magic", 0x64006400, "f16 1024: + nibble, or + 16 nibble");
    sixteenth_ = scalar_constant(b, "sixteenth", 0x2C002C00, "f16 1/16");
    if (packed_zeros_) {
      spread_ = scalar_constant(b, "spread", spread, "zero point to bits 0..3 and 20..23");
      offsets_ = scalar_constant(b, "offsets", offsets, "f16 (-1024, -64)");
    } else {
      offsets_ = scalar_constant(b, "offsets", offsets + zero_symmetric * spread, "f16 (-1032, -72)");
    }
  }

  ColumnTerms terms(ir::Builder& b, const ColumnSource& source) override {
    ColumnTerms column{.scale = source.scale, .zero = {offsets_, {}}};
    if (!packed_zeros_) return column;
    const isa::Operand zero = zero_point(b, source);
    column.zero[0] = b.vgpr("zero_offsets");
    b.note("f16 (-1024 - zero, -64 - zero)").emit(v_mad_u32_u24, {column.zero[0]}, {zero, spread_, offsets_});
    return column;
  }

  void weights(ir::Builder& b, const isa::Operand& word, const ColumnTerms& column,
               const isa::Operand& quad) override {
    for (unsigned half = 0; half < 2; ++half) {
      const isa::Operand nibbles = shifted(b, word, 8 * half);
      low_pair(b, nibbles, column, quad.slice(2 * half));
      high_pair(b, nibbles, column, quad.slice(2 * half + 1));
    }
  }

  [[nodiscard]] std::string_view describe() const override {
    return "v_and_or_b32 makes two f16 of 1024 + n or 1024 + 16 n, an exact packed add or fma takes offset "
           "and "
           "zero point off, one packed multiply by the scale rounds to nearest even";
  }

 private:
  /// Both weights from bits 0..3 of each half.
  void low_pair(ir::Builder& b, const isa::Operand& nibbles, const ColumnTerms& column,
                const isa::Operand& dst) const {
    const isa::Operand t = b.vgpr("plus1024"), centred = b.vgpr("centred");
    b.emit(v_and_or_b32, {t}, {nibbles, low_mask_, magic_});
    b.emit(v_pk_add_f16, {centred}, {t, column.zero[0]}).mi.mods.op_sel_hi = second_low;
    scale(b, centred, column, dst);
  }

  /// Both weights from bits 4..7 of each half.
  void high_pair(ir::Builder& b, const isa::Operand& nibbles, const ColumnTerms& column,
                 const isa::Operand& dst) const {
    const isa::Operand t = b.vgpr("plus1024"), centred = b.vgpr("centred");
    b.emit(v_and_or_b32, {t}, {nibbles, high_mask_, magic_});
    b.emit(v_pk_fma_f16, {centred}, {t, sixteenth_, column.zero[0]}).mi.mods.op_sel = third_high;
    scale(b, centred, column, dst);
  }

  static void scale(ir::Builder& b, const isa::Operand& centred, const ColumnTerms& column,
                    const isa::Operand& dst) {
    b.emit(v_pk_mul_f16, {dst}, {centred, column.scale}).mi.mods.op_sel_hi = second_low;
  }

  // Which half of a source both results take: op_sel_hi without source 1's bit, op_sel with source 2's.
  static constexpr std::uint8_t second_low = 0b101, third_high = 0b100;

  bool packed_zeros_;
  isa::Operand low_mask_, high_mask_, magic_, sixteenth_, spread_, offsets_;
};

}  // namespace

std::unique_ptr<Dequantiser> make_magic_f16(bool packed_zeros) {
  return std::make_unique<MagicF16>(packed_zeros);
}

}  // namespace wavejit::templates
