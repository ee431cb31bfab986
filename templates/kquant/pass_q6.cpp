// SPDX-License-Identifier: MIT
// Q6_K: x = d * sc * (q - 32). A superblock of 210 bytes is ql[128], qh[64], int8 sc[16], d (f16). In half h
// of it, low nibbles of ql[64h + 32t + l] are elements 128h + 32t + l (t = 0, 1) and high nibbles those 64
// further on; qh[32h + l] has two upper bits of each, at 2t and 4 + 2t; 16 elements share a scale
// (shared/domain.md §2.1).
//
// 210 is 2 modulo 4, so every other superblock starts in the middle of a dword. Runs of dwords are read from
// the aligned address below, together with the dword that the run's last bytes lie in, and shifted into
// place; where a run is aligned that last dword is its own, so nothing beyond the superblock is ever read. A
// pass of four superblocks is a multiple of 4 bytes: the shift of a lane is the same in all.
#include "templates/kquant/pass_types.hpp"

namespace wavejit::templates::kquant {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

namespace {
constexpr std::int64_t block = 210;
constexpr std::int64_t high_at = 128, scales_at = 192, d_at = 208;
}  // namespace

PassQ6::Addresses PassQ6::addresses(const Operand& phase) {
  Addresses a;
  const auto at = [&](const char* name, std::int64_t constant, std::initializer_list<Term> terms) {
    const Operand address = linear(name, first_ * block + constant, terms);
    if (group_.is_reg()) b_.emit(v_mad_u32_u24, {address}, {group_, factor(block), address});
    add(phase, address);
    return address;
  };
  a.low = place_run(at("low_at", 0, {{index_, lane_bytes()}}), width_);
  a.high = place_run(at("high_at", high_at, {{half_, 32}, {byte_, 1}}), width_);
  const Operand sixteenth = binary(v_lshrrev_b32, "sixteenth", imm(4), byte_);
  a.scales = existing(at("scales_at", scales_at, {{half_, 8}, {quarter_, 2}, {sixteenth, 1}}));
  a.d = existing(at("d_at", d_at, {}));
  return a;
}

void PassQ6::setup() {
  geometry();
  half_ = binary(v_lshrrev_b32, "half", imm(1), chunk_);
  quarter_ = binary(v_and_b32, "quarter", imm(1), chunk_);
  high_low_ = binary(v_lshlrev_b32, "bits_of_low", imm(1), quarter_);
  high_high_ = binary(v_add_nc_u32, "bits_of_high", imm(4), high_low_);
  for (const Operand& phase : phases()) addresses_.push_back(addresses(phase));
  const std::int64_t base = first_ * activation_block_bytes;
  x_address_ = existing(
      linear("x_at", base, {{group_, activation_block_bytes}, {half_, 128}, {quarter_, 32}, {byte_, 1}}));
  d_address_ = existing(
      linear("d_of_x_at", base + superblock, {{group_, activation_block_bytes}, {half_, 32}, {quarter_, 8}}));
}

void PassQ6::load(const Operand& weights, const Operand& activations) {
  for (auto* list : {&scale_low_, &scale_high_, &scale_, &d_, &d_high_}) list->clear();
  low_.clear();
  high_.clear();
  for (unsigned r = 0; r < c_.rows.size(); ++r) {
    const Addresses& a = of_row(r);
    const Operand& row = c_.rows[r];
    low_.push_back(fetch_run(a.low, width_, row, weights));
    high_.push_back(fetch_run(a.high, width_, row, weights));
    scale_low_.push_back(fetch(buffer_load_i8, "scale_low", 1, a.scales, row, weights));
    scale_high_.push_back(fetch(buffer_load_i8, "scale_high", 1, a.scales, row, weights, 4));
    scale_.push_back(fetch(buffer_load_u16, "d", 1, a.d, row, weights));
  }
  load_activations(activations, 64);
  for (const Operand& column : c_.columns) {
    d_.push_back(fetch(buffer_load_b32, "d_low", 1, d_address_, column, activations));
    d_high_.push_back(fetch(buffer_load_b32, "d_high", 1, d_address_, column, activations, 16));
  }
}

void PassQ6::multiply(const std::vector<Operand>& acc) {
  const std::size_t columns = c_.columns.size();
  // -32 times the sum of the activations, where each dot product starts.
  std::vector<std::array<Operand, 2>> bias(columns);
  for (std::size_t m = 0; m < columns; ++m)
    for (unsigned half = 0; half < 2; ++half) {
      Operand sum = imm(0);
      for (unsigned i = 0; i < width_; ++i)
        sum = dot(true, c_.constant(0xE0E0E0E0), (half == 0 ? x_low_ : x_high_)[m].slice(i), sum);
      bias[m][half] = sum;
    }
  for (unsigned r = 0; r < c_.rows.size(); ++r) {
    const Operand d = f16("d", scale_[r]);
    std::array<std::vector<Operand>, 2> q;
    for (unsigned i = 0; i < width_; ++i) {
      const Operand low = dword(low_[r], i), high = dword(high_[r], i);
      for (unsigned half = 0; half < 2; ++half) {
        const Operand nibbles = half == 0 ? low : binary(v_lshrrev_b32, "high", imm(4), low);
        q[half].push_back(binary(v_and_b32, "nibbles", c_.constant(0x0F0F0F0F), nibbles));
        const Operand bits = binary(v_lshrrev_b32, "upper", half == 0 ? high_low_ : high_high_, high);
        b_.emit(v_and_b32, {bits}, {c_.constant(0x03030303), bits});
        b_.emit(v_lshl_or_b32, {q[half].back()}, {bits, imm(4), q[half].back()});
      }
    }
    for (unsigned half = 0; half < 2; ++half) {
      const Operand scale = unary(v_cvt_f32_i32, "scale", half == 0 ? scale_low_[r] : scale_high_[r]);
      b_.emit(v_mul_f32, {scale}, {d, scale});
      for (std::size_t m = 0; m < columns; ++m) {
        Operand integer = bias[m][half];
        for (unsigned i = 0; i < width_; ++i)
          integer = dot(false, q[half][i], (half == 0 ? x_low_ : x_high_)[m].slice(i), integer);
        const Operand value = unary(v_cvt_f32_i32, "value", integer);
        b_.emit(v_mul_f32, {value}, {half == 0 ? d_[m] : d_high_[m], value});
        accumulate(acc[r * columns + m], scale, value);
      }
    }
  }
}

}  // namespace wavejit::templates::kquant
