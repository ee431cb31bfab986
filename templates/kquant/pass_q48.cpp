// SPDX-License-Identifier: MIT
// Q8_0 and Q4_0: blocks of 32 elements behind an f16 d. Q8_0: x = d * int8[32]. Q4_0: 16 bytes whose low
// nibbles are elements 0..15 and whose high nibbles are 16..31, x = d * (q - 8) (shared/domain.md §2.1).
// Blocks of 34 and 18 bytes start in the middle of a dword every other time: runs of dwords as in
// pass_q6.cpp.
#include "templates/kquant/pass_types.hpp"

namespace wavejit::templates::kquant {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

void PassQ8::setup() {
  const unsigned parts = 8 / dwords(), shift = parts == 2 ? 1 : 2;  // lanes of a block
  const Operand block = binary(v_lshrrev_b32, "block", imm(shift), c_.lane);
  const Operand part = binary(v_and_b32, "part", imm(parts - 1), c_.lane);
  const Operand superblock_index = binary(v_lshrrev_b32, "superblock", imm(3), block);
  const Operand in_superblock = binary(v_and_b32, "block_in_superblock", imm(7), block);
  const std::int64_t base = first_ * block_bytes(Type::q8_0), x_base = first_ * activation_block_bytes;
  for (const Operand& phase : phases()) {
    const Operand scale = linear("scale_at", base, {{block, 34}}),
                  quants = linear("quants_at", base + 2, {{block, 34}, {part, read_bytes()}});
    add(phase, scale);
    add(phase, quants);
    places_.push_back({place_run(quants, dwords()), existing(scale)});
  }
  x_address_ = existing(
      linear("x_at", x_base,
             {{superblock_index, activation_block_bytes}, {in_superblock, 32}, {part, read_bytes()}}));
  d_address_ = existing(linear("d_of_x_at", x_base + superblock,
                               {{superblock_index, activation_block_bytes}, {in_superblock, 8}}));
}

void PassQ8::load(const Operand& weights, const Operand& activations) {
  for (auto* list : {&scales_, &x_, &d_}) list->clear();
  quants_.clear();
  for (std::size_t r = 0; r < c_.rows.size(); ++r)
    for (unsigned i = 0; i < reads(); ++i) {
      const auto at = static_cast<std::int32_t>(i * superblocks_per_read() * block_bytes(Type::q8_0));
      quants_.push_back(fetch_run(of_row(r).quants, dwords(), c_.rows[r], weights, at));
      scales_.push_back(fetch(buffer_load_u16, "d", 1, of_row(r).scale, c_.rows[r], weights, at));
    }
  for (const Operand& column : c_.columns)
    for (unsigned i = 0; i < reads(); ++i) {
      const auto at = static_cast<std::int32_t>(i * superblocks_per_read() * activation_block_bytes);
      x_.push_back(fetch(wide_load(dwords()), "x", dwords(), x_address_, column, activations, at));
      d_.push_back(fetch(buffer_load_b32, "d_of_x", 1, d_address_, column, activations, at));
    }
}

void PassQ8::multiply(const std::vector<Operand>& acc) {
  const std::size_t columns = c_.columns.size();
  for (std::size_t r = 0; r < c_.rows.size(); ++r)
    for (unsigned read = 0; read < reads(); ++read) {
      const Operand d = f16("d", scales_[r * reads() + read]);
      std::vector<Operand> q;
      q.reserve(dwords());
      for (unsigned i = 0; i < dwords(); ++i) q.push_back(dword(quants_[r * reads() + read], i));
      for (std::size_t m = 0; m < columns; ++m) {
        Operand integer = imm(0);
        for (unsigned i = 0; i < dwords(); ++i)
          integer = dot(true, q[i], x_[m * reads() + read].slice(i), integer);
        const Operand value = unary(v_cvt_f32_i32, "value", integer);
        b_.emit(v_mul_f32, {value}, {d_[m * reads() + read], value});
        accumulate(acc[r * columns + m], d, value);
      }
    }
}

void PassQ4::setup() {
  geometry();
  // A superblock's 128 bytes of quants are eight blocks' 16: half of a chunk of 32 each.
  const unsigned parts = 4 / width_;  // lanes of a block
  const Operand block = binary(v_lshrrev_b32, "block", imm(parts == 1 ? 0 : parts == 2 ? 1 : 2), index_);
  const Operand part = binary(v_and_b32, "part", imm(parts - 1), index_);
  const std::int64_t bytes = block_bytes(Type::q4_0), base = first_ * bytes,
                     x_base = first_ * activation_block_bytes;
  for (const Operand& phase : phases()) {
    const Operand scale = linear("scale_at", base, {{group_, bytes}, {block, 18}}),
                  quants =
                      linear("quants_at", base + 2, {{group_, bytes}, {block, 18}, {part, lane_bytes()}});
    add(phase, scale);
    add(phase, quants);
    places_.push_back({place_run(quants, width_), existing(scale)});
  }
  x_address_ =
      existing(linear("x_at", x_base, {{group_, activation_block_bytes}, {block, 32}, {part, lane_bytes()}}));
  d_address_ =
      existing(linear("d_of_x_at", x_base + superblock, {{group_, activation_block_bytes}, {block, 8}}));
}

void PassQ4::load(const Operand& weights, const Operand& activations) {
  for (auto* list : {&scales_, &d_}) list->clear();
  quants_.clear();
  for (std::size_t r = 0; r < c_.rows.size(); ++r) {
    quants_.push_back(fetch_run(of_row(r).quants, width_, c_.rows[r], weights));
    scales_.push_back(fetch(buffer_load_u16, "d", 1, of_row(r).scale, c_.rows[r], weights));
  }
  load_activations(activations, 16);
  for (const Operand& column : c_.columns)
    d_.push_back(fetch(buffer_load_b32, "d_of_x", 1, d_address_, column, activations));
}

void PassQ4::multiply(const std::vector<Operand>& acc) {
  const std::size_t columns = c_.columns.size();
  // -8 times the sum of the activations, where each dot product starts.
  std::vector<Operand> bias;
  for (std::size_t m = 0; m < columns; ++m) {
    Operand sum = imm(0);
    for (const Operand& x : {x_low_[m], x_high_[m]})
      for (unsigned i = 0; i < width_; ++i) sum = dot(true, c_.constant(0xF8F8F8F8), x.slice(i), sum);
    bias.push_back(sum);
  }
  for (std::size_t r = 0; r < c_.rows.size(); ++r) {
    const Operand d = f16("d", scales_[r]);
    std::vector<Operand> low, high;
    for (unsigned i = 0; i < width_; ++i) {
      const Operand both = dword(quants_[r], i);
      low.push_back(binary(v_and_b32, "low", c_.constant(0x0F0F0F0F), both));
      high.push_back(binary(v_lshrrev_b32, "high", imm(4), both));
      b_.emit(v_and_b32, {high.back()}, {c_.constant(0x0F0F0F0F), high.back()});
    }
    for (std::size_t m = 0; m < columns; ++m) {
      Operand integer = bias[m];
      for (unsigned i = 0; i < width_; ++i) integer = dot(false, low[i], x_low_[m].slice(i), integer);
      for (unsigned i = 0; i < width_; ++i) integer = dot(false, high[i], x_high_[m].slice(i), integer);
      const Operand value = unary(v_cvt_f32_i32, "value", integer);
      b_.emit(v_mul_f32, {value}, {d_[m], value});
      accumulate(acc[r * columns + m], d, value);
    }
  }
}

}  // namespace wavejit::templates::kquant
