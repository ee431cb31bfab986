// SPDX-License-Identifier: MIT
// Q4_K and Q5_K: x = d * sc * q - dmin * m. A superblock is d, dmin (f16), 12 bytes of six-bit sc and m, for
// Q5_K 32 bytes of fifth bits, then four chunks of 32 bytes whose low nibbles belong to sub-block 2c and
// whose high nibbles to 2c + 1 (shared/domain.md §2.1).
#include "templates/kquant/pass_types.hpp"

namespace wavejit::templates::kquant {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

void PassQ45::setup() {
  geometry();
  const std::int64_t bytes = block_bytes(c_.p.type), base = first_ * bytes,
                     x_base = first_ * activation_block_bytes;
  header_address_ = existing(linear("header_at", base, {{group_, bytes}}));
  quant_address_ =
      existing(linear("quants_at", base + (five() ? 48 : 16), {{group_, bytes}, {index_, lane_bytes()}}));
  if (five()) fifth_address_ = existing(linear("fifth_bits_at", base + 16, {{group_, bytes}, {byte_, 1}}));
  x_address_ = existing(linear("x_at", x_base, {{group_, activation_block_bytes}, {chunk_, 64}, {byte_, 1}}));
  d_address_ =
      existing(linear("d_at", x_base + superblock, {{group_, activation_block_bytes}, {chunk_, 16}}));

  // The lane wants sc and m of sub-blocks 2c and 2c + 1: two neighbouring bytes of the twelve, in the lower
  // half of a dword for even c, in the upper for odd. For c >= 2 they are put together of nibbles and the
  // top bits of the first eight bytes; masks and shifts per lane do both with the same instructions.
  const Operand odd = binary(v_and_b32, "odd_chunk", imm(1), chunk_);
  const Operand upper = binary(v_lshrrev_b32, "upper_chunks", imm(1), chunk_);
  nibble_shift_ = binary(v_lshlrev_b32, "nibble_shift", imm(4), odd);
  minimum_shift_ = binary(v_add_nc_u32, "minimum_shift", imm(4), nibble_shift_);
  bits_shift_ = linear("bits_shift", 0, {{odd, 16}, {upper, 2}});
  nibble_mask_ = linear("nibble_mask", 0, {{upper, 0x0F0F}});
  bits_mask_ = binary(v_sub_nc_u32, "bits_mask", imm(0x3F3F), nibble_mask_);
  if (!five()) return;
  fifth_low_ = binary(v_lshlrev_b32, "fifth_low", imm(1), chunk_);
  fifth_high_ = binary(v_add_nc_u32, "fifth_high", imm(1), fifth_low_);
}

void PassQ45::load(const Operand& weights, const Operand& activations) {
  headers_.clear();
  quants_.clear();
  fifths_.clear();
  d_.clear();
  for (const Operand& row : c_.rows) {
    headers_.push_back(fetch(buffer_load_b128, "header", 4, header_address_, row, weights));
    if (five()) fifths_.push_back(fetch(wide_load(), "fifths", width_, fifth_address_, row, weights));
    quants_.push_back(fetch(wide_load(), "quants", width_, quant_address_, row, weights));
  }
  load_activations(activations, 32);
  for (const Operand& column : c_.columns)
    d_.push_back(fetch(buffer_load_b128, "d_and_s", 4, d_address_, column, activations));
}

/// d * sc of both sub-blocks, and -dmin * m times the lane's share of a sub-block.
PassQ45::Scales PassQ45::scales(const Operand& header) {
  const auto unpack = [&](const Operand& bits, const Operand& shift) {
    const Operand low = binary(v_lshrrev_b32, "scale_bits", bits_shift_, bits);
    b_.emit(v_and_b32, {low}, {bits_mask_, low});
    const Operand packed = binary(v_lshrrev_b32, "scales", shift, header.slice(3));
    b_.emit(v_and_or_b32, {packed}, {packed, nibble_mask_, low});
    return packed;
  };
  const Operand sc = unpack(header.slice(1), nibble_shift_);
  const Operand m = unpack(header.slice(2), minimum_shift_);
  const Operand d = f16("d", header.slice(0));
  const Operand upper = binary(v_lshrrev_b32, "dmin_bits", imm(16), header.slice(0));
  const Operand dmin = f16("dmin", upper);
  // 8 / width lanes take a sub-block, and each adds the whole sub-block's sum times its share, exactly.
  const std::uint32_t share = width_ == 4 ? 0xBF000000 : width_ == 2 ? 0xBE800000 : 0xBE000000;
  b_.note(width_ == 4 ? "-1/2" : width_ == 2 ? "-1/4" : "-1/8").emit(v_mul_f32, {dmin}, {imm(share), dmin});
  const auto product = [&](isa::Opcode byte, const Operand& packed, const Operand& factor) {
    const Operand value = unary(byte, "scale", packed);
    b_.emit(v_mul_f32, {value}, {factor, value});
    return value;
  };
  return {{product(v_cvt_f32_ubyte0, sc, d), product(v_cvt_f32_ubyte1, sc, d)},
          {product(v_cvt_f32_ubyte0, m, dmin), product(v_cvt_f32_ubyte1, m, dmin)}};
}

/// Dword `i` of the lane's quants as four bytes, of sub-block 2c (half 0) or 2c + 1.
Operand PassQ45::bytes(unsigned row, unsigned i, unsigned half) {
  Operand q = quants_[row].slice(i);
  if (half == 1) q = binary(v_lshrrev_b32, "high", imm(4), q);
  q = binary(v_and_b32, "nibbles", c_.constant(0x0F0F0F0F), q);
  if (!five()) return q;
  const Operand bit =
      binary(v_lshrrev_b32, "fifth", half == 0 ? fifth_low_ : fifth_high_, fifths_[row].slice(i));
  b_.emit(v_and_b32, {bit}, {c_.constant(0x01010101), bit});
  b_.emit(v_lshl_or_b32, {q}, {bit, imm(4), q});
  return q;
}

void PassQ45::multiply(const std::vector<Operand>& acc) {
  const std::size_t columns = c_.columns.size();
  for (unsigned r = 0; r < c_.rows.size(); ++r) {
    const Scales s = scales(headers_[r]);
    std::array<std::vector<Operand>, 2> q;
    for (unsigned half = 0; half < 2; ++half)
      for (unsigned i = 0; i < width_; ++i) q[half].push_back(bytes(r, i, half));
    for (std::size_t m = 0; m < columns; ++m) {
      const Operand& sum = acc[r * columns + m];
      for (unsigned half = 0; half < 2; ++half) {
        const Operand& x = half == 0 ? x_low_[m] : x_high_[m];
        Operand integer = imm(0);
        for (unsigned i = 0; i < width_; ++i) integer = dot(false, q[half][i], x.slice(i), integer);
        const Operand value = unary(v_cvt_f32_i32, "value", integer);
        b_.emit(v_mul_f32, {value}, {d_[m].slice(2 * half), value});
        accumulate(sum, s.scale[half], value);
        accumulate(sum, s.minimum[half], d_[m].slice(2 * half + 1));
      }
    }
  }
}

}  // namespace wavejit::templates::kquant
