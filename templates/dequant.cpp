// SPDX-License-Identifier: MIT
#include "templates/dequant.hpp"

#include "templates/dequant_policies.hpp"
#include "templates/round.hpp"

namespace wavejit::templates {
namespace {

using isa::imm;
using enum isa::Opcode;

/// Technique 1 switched off, for either type: mask, subtract, convert, multiply in f32, round, pack.
class Plain final : public Dequantiser {
 public:
  Plain(DataType type, bool packed_zeros) : type_(type), packed_zeros_(packed_zeros), rounder_(type, false) {}

  void setup(ir::Builder& b) override { rounder_.setup(b); }

  ColumnTerms terms(ir::Builder& b, const ColumnSource& source) override {
    ColumnTerms column{.scale = b.vgpr("scale_f32"), .zero = {}};
    if (type_ == DataType::bf16) {
      b.emit(v_lshlrev_b32, {column.scale}, {imm(16), source.scale});
    } else {
      b.emit(v_cvt_f32_f16, {column.scale}, {source.scale});
    }
    if (packed_zeros_) column.zero[0] = zero_point(b, source);
    return column;
  }

  void weights(ir::Builder& b, const isa::Operand& word, const ColumnTerms& column,
               const isa::Operand& quad) override {
    for (unsigned p = 0; p < 4; ++p) {
      const isa::Operand low = weight(b, word, column, 4 * p);
      const isa::Operand high = weight(b, word, column, 4 * p + 16);
      rounder_.round(b, low, high, quad.slice(p));
    }
  }

  [[nodiscard]] std::string_view describe() const override {
    return "mask, subtract, convert, multiply in f32, round to nearest even, pack";
  }

 private:
  isa::Operand weight(ir::Builder& b, const isa::Operand& word, const ColumnTerms& column, unsigned bit) {
    const isa::Operand q = b.vgpr("q"), centred = b.vgpr("centred"), f = b.vgpr("f"), w = b.vgpr("w");
    b.emit(v_bfe_u32, {q}, {word, imm(bit), imm(4)});
    if (packed_zeros_) {
      b.emit(v_sub_nc_u32, {centred}, {q, column.zero[0]});
    } else {
      b.emit(v_add_nc_u32, {centred}, {imm(-static_cast<std::int64_t>(zero_symmetric)), q});
    }
    b.emit(v_cvt_f32_i32, {f}, {centred});
    b.emit(v_mul_f32, {w}, {f, column.scale});
    return w;
  }

  DataType type_;
  bool packed_zeros_;
  PairRounder rounder_;
};

}  // namespace

isa::Operand shifted(ir::Builder& b, const isa::Operand& word, unsigned bits) {
  if (bits == 0) return word;
  const isa::Operand t = b.vgpr("nibbles" + std::to_string(bits / 4));
  b.emit(v_lshrrev_b32, {t}, {imm(bits), word});
  return t;
}

isa::Operand zero_point(ir::Builder& b, const ColumnSource& source) {
  const isa::Operand zero = b.vgpr("zero");
  b.note("zero point of the column").emit(v_bfe_u32, {zero}, {source.zeros, source.zero_bit, imm(4)});
  return zero;
}

std::unique_ptr<Dequantiser> make_dequantiser(const Problem& problem, const Techniques& techniques) {
  const bool packed_zeros = problem.zero_points == ZeroPoints::packed;
  if (!techniques.magic_dequant) return std::make_unique<Plain>(problem.activation, packed_zeros);
  if (problem.activation == DataType::f16) return make_magic_f16(packed_zeros);
  return make_magic_bf16(packed_zeros, problem.rounding);
}

}  // namespace wavejit::templates
