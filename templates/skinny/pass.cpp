// SPDX-License-Identifier: MIT
#include "templates/skinny/pass.hpp"

#include <bit>
#include <cassert>

#include "templates/kquant/entry.hpp"
#include "templates/round.hpp"

namespace wavejit::templates::skinny {
namespace {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

enum Tensor : std::uint8_t { activations, weights, scales, zero_points };
constexpr unsigned half_word = 0;

unsigned log2u(std::int64_t value) {
  return static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(value)));
}

isa::Opcode wide_load(unsigned dwords) {
  switch (dwords) {
    case half_word:
      return buffer_load_u16;
    case 1:
      return buffer_load_b32;
    case 2:
      return buffer_load_b64;
    default:
      return buffer_load_b128;
  }
}

}  // namespace

/// bf16: 0x4300 | n is 128 + n. f16: 0x6400 | n is 1024 + n, 0x6400 | n << 4 is 1024 + 16 n (domain.md §3.1).
void Context::setup() {
  low_nibbles = scalar_constant(b, "low_nibbles", 0x000F000F);
  if (bf16()) {
    magic = scalar_constant(b, "magic", 0x43004300, "bf16 128: + nibble");
    ones = scalar_constant(b, "ones", 0x3F803F80, "bf16 (1, 1)");
    offset = packed_zeros() ? scalar_constant(b, "offset", 0x43000000, "128: + zero point in bits 16..19")
                            : scalar_constant(b, "offset", 0x43080000, "136");
    return;
  }
  high_nibbles = scalar_constant(b, "high_nibbles", 0x00F000F0);
  magic = scalar_constant(b, "magic", 0x64006400, "f16 1024: + nibble, or + 16 nibble");
  sixteenth = scalar_constant(b, "sixteenth", 0x2C002C00, "f16 1/16");
  constexpr std::uint32_t each = 1U << 20 | 1U, offsets = 0xD400E400;
  if (packed_zeros()) {
    spread = scalar_constant(b, "spread", each, "zero point to bits 0..3 and 20..23");
    offset = scalar_constant(b, "offsets", offsets, "f16 (-1024, -64)");
  } else {
    offset = scalar_constant(b, "offsets", offsets + 8 * each, "f16 (-1032, -72)");
  }
}

Operand Context::fetch(const char* name, unsigned which, unsigned dwords, const Operand& address,
                       const Operand& soffset, std::int32_t immediate, const Operand& given) {
  const std::array descriptors{&activations, &weights, &scales, &zero_points};
  const Operand data = given.is_reg() ? given : b.vgpr(name, std::max(dwords, 1U));
  ir::Instruction& inst = b.emit(wide_load(dwords), {data}, {address, *descriptors[which], soffset});
  inst.mi.mods.offen = true;
  inst.mi.mods.offset = immediate;
  if (which == Tensor::weights) {
    // Read once: no cache need keep them. gfx11 spells that slc dlc, gfx12 as a temporal hint.
    const bool hints = b.kernel().target->generation == target::Generation::gfx12;
    inst.mi.mods.th = hints ? 1 : 0;
    inst.mi.mods.slc = inst.mi.mods.dlc = !hints;
  }
  inst.mem = {ir::MemoryTag::Space::global, arguments[which], false};
  return data;
}

Operand Context::plus(const char* name, const Operand& value, std::int64_t constant) {
  if (constant == 0) return value;
  const Operand sum = b.vgpr(name);
  b.emit(v_add_nc_u32, {sum}, {imm(constant), value});
  return sum;
}

Operand Context::widen(const char* name, const Operand& half) {
  const Operand wide = b.vgpr(name);
  if (bf16()) {
    b.emit(v_lshlrev_b32, {wide}, {imm(16), half});
  } else {
    b.emit(v_cvt_f32_f16, {wide}, {half});
  }
  return wide;
}

/// units / (group / 8), for units below 2^31.
Operand Pass::groups_of(const Operand& units) {
  const std::int64_t d = c_.p.group / 8;
  const Operand group = b_.vgpr("group");
  if (std::has_single_bit(static_cast<std::uint64_t>(d))) {
    b_.emit(v_lshrrev_b32, {group}, {imm(log2u(d)), units});
    return group;
  }
  // As a product: m = ceil(2^(31+l) / d), l = ceil(log2 d), is below 2^32 and (units * m) >> (31 + l) is
  // exact for units below 2^31 (Granlund and Montgomery 1994, theorem 4.2).
  const auto l = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(d - 1)));
  const std::uint64_t m =
      ((std::uint64_t{1} << (31 + l)) + static_cast<std::uint64_t>(d) - 1) / static_cast<std::uint64_t>(d);
  b_.emit(v_mul_hi_u32, {group}, {imm(static_cast<std::int64_t>(m)), units});
  if (l > 1) b_.emit(v_lshrrev_b32, {group}, {imm(l - 1), group});
  return group;
}

/// An offset beyond every descriptor for lanes at or beyond K.
Operand Pass::masked(const Operand& address) {
  if (!masked_) return address;
  const Operand chosen = b_.vgpr("inside_or_out");
  b_.emit(v_cndmask_b32, {chosen}, {c_.outside, address, inside_});
  return chosen;
}

std::vector<Operand> Pass::row_addresses(const char* name, const Operand& address, std::int64_t stride,
                                         unsigned rows) {
  std::vector<Operand> all;
  all.reserve(rows);
  for (unsigned r = 0; r < rows; ++r) all.push_back(c_.plus(name, address, r * stride));
  return all;
}

/// K / 8 of the lane's first weight, from the pass's first element on.
Operand Pass::first_units() {
  Operand units = c_.item;
  if (width_ > 1) {
    units = b_.vgpr("lane_units");
    b_.emit(v_lshlrev_b32, {units}, {imm(log2u(width_)), c_.item});
  }
  if (!looping() || c_.c.waves == 1) return units;
  // So far each wave is a stretch behind the one before it: now as many as the loop has passes.
  const Operand wave = b_.vgpr("wave"), apart = b_.vgpr("lane_units");
  b_.emit(v_lshrrev_b32, {wave}, {imm(5), c_.item});
  b_.emit(v_mul_lo_u32, {wave}, {wave, imm((trips_ - 1) * stretch() / 8)});
  b_.emit(v_add_nc_u32, {apart}, {wave, units});
  return apart;
}

void Pass::setup() {
  const Problem& p = c_.p;
  lane_units_ = c_.plus("lane_units", first_units(), first_ / 8);
  if (masked_) {
    inside_ = b_.sgpr("inside");
    b_.note("lanes before the end of K").emit(v_cmp_gt_u32, {inside_}, {imm(p.k / 8), lane_units_});
  }
  const Operand w = b_.vgpr("w_at"), x = b_.vgpr("x_at");
  b_.emit(v_lshlrev_b32, {w}, {imm(2), lane_units_});
  b_.emit(v_lshlrev_b32, {x}, {imm(4), lane_units_});
  w_at_ = row_addresses("w_at", masked(w), p.weight_stride * 4, c_.c.bn);
  x_at_ = row_addresses("x_at", masked(x), p.activation_stride * 2, c_.c.bm);
  if (c_.one_group() || !even_groups()) return;
  const Operand group = groups_of(lane_units_), s = b_.vgpr("s_at");
  b_.emit(v_lshlrev_b32, {s}, {imm(1), group});
  s_at_ = row_addresses("s_at", masked(s), p.scale_stride * 2, c_.c.bn);
  if (!c_.packed_zeros()) return;
  const Operand z = b_.vgpr("z_at");
  b_.emit(v_lshlrev_b32, {z}, {imm(2), group});
  z_at_ = masked(z);
}

std::vector<ir::Induction> Pass::inductions(std::uint8_t late_stage) {
  std::vector<ir::Induction> all;
  const auto add = [&](Operand& reg, const char* name, std::int64_t step, std::uint8_t stage) {
    reg = b_.sgpr(name);
    all.push_back({reg, step, stage, 0});
  };
  add(w_offset_, "w_offset", stretch() / 2, 0);
  add(x_offset_, "x_offset", stretch() * 2, late_ ? late_stage : std::uint8_t{0});
  if (c_.one_group()) return all;
  if (!even_groups()) {
    add(units_, "k_units", stretch() / 8, 0);
    return all;
  }
  add(s_offset_, "s_offset", stretch() / c_.p.group * 2, 0);
  if (c_.packed_zeros()) add(z_offset_, "z_offset", stretch() / c_.p.group * 4, 0);
  return all;
}

void Pass::load_scales() {
  const Operand none = kquant::no_offset(b_);
  scales_.clear();
  if (c_.one_group()) {
    zeros_ = c_.whole_zeros;
    return;
  }
  std::vector<Operand> at = s_at_;
  Operand zeros_at = z_at_;
  if (!even_groups()) {
    const Operand units = b_.vgpr("units"), s = b_.vgpr("s_at");
    b_.emit(v_add_nc_u32, {units}, {units_, lane_units_});
    const Operand group = groups_of(units);
    b_.emit(v_lshlrev_b32, {s}, {imm(1), group});
    at = row_addresses("s_at", s, c_.p.scale_stride * 2, c_.c.bn);
    if (c_.packed_zeros()) {
      zeros_at = b_.vgpr("z_at");
      b_.emit(v_lshlrev_b32, {zeros_at}, {imm(2), group});
    }
  }
  const bool moving = looping() && even_groups();
  for (const Operand& a : at)
    scales_.push_back(c_.fetch("scale", scales, half_word, a, moving ? s_offset_ : none));
  if (c_.packed_zeros()) zeros_ = c_.fetch("zeros", zero_points, 1, zeros_at, moving ? z_offset_ : none);
}

void Pass::load() {
  load_scales();
  words_.clear();
  x_.clear();
  for (const Operand& at : w_at_)
    words_.push_back(c_.fetch("words", weights, width_, at, looping() ? w_offset_ : kquant::no_offset(b_)));
  for (unsigned word = 0; word < width_ && !late_; ++word) load_activations(word);
}

/// Late words take turns with one or two sets of registers: so they cannot be scheduled before their turn.
void Pass::load_activations(unsigned word) {
  const std::size_t columns = x_at_.size(), turns = columns <= 4 ? 2 : 1;
  for (std::size_t m = 0; m < columns; ++m) {
    const bool again = late_ && word >= turns;
    const Operand data = again ? x_[(word - turns) * columns + m] : Operand{};
    x_.push_back(c_.fetch("x", activations, 4, x_at_[m], looping() ? x_offset_ : kquant::no_offset(b_),
                          static_cast<std::int32_t>(16 * word), data));
  }
}

Pass::Terms Pass::terms(unsigned row, Dequantiser* exact) {
  Terms t;
  t.scale = c_.one_group() ? c_.whole_scales[row] : c_.widen("scale_f32", scales_[row]);
  if (exact != nullptr) {
    ColumnSource source;
    if (c_.packed_zeros()) {
      source.zeros = zeros_;
      source.zero_bit = c_.zero_bits[row];
    }
    t.exact = exact->terms(b_, source);
    t.exact.scale = c_.ones;  // exact differences; the scale comes later
    return t;
  }
  t.zero = c_.offset;
  if (!c_.packed_zeros()) return t;
  const Operand zero = b_.vgpr("zero");
  t.zero = b_.vgpr("zero_term");
  b_.emit(v_bfe_u32, {zero}, {zeros_, c_.zero_bits[row], imm(4)});
  if (c_.bf16()) {
    b_.note("128 + zero point").emit(v_lshl_or_b32, {t.zero}, {zero, imm(16), c_.offset});
  } else {
    b_.note("f16 (-1024 - zero, -64 - zero)").emit(v_mad_u32_u24, {t.zero}, {zero, c_.spread, c_.offset});
  }
  return t;
}

/// The word's eight weights in K order, two per register: 128 + n in bf16, else n - zero.
std::vector<Operand> Pass::pairs(const Operand& word, const Terms& terms, Dequantiser* exact) {
  std::vector<Operand> all;
  if (exact != nullptr) {
    const Operand quad = b_.vgpr("exact", 4);
    exact->weights(b_, word, terms.exact, quad);
    for (unsigned i = 0; i < 4; ++i) all.push_back(quad.slice(i));
    return all;
  }
  const auto shifted = [&](unsigned bits) {
    if (bits == 0) return word;
    const Operand t = b_.vgpr("nibbles");
    b_.emit(v_lshrrev_b32, {t}, {imm(bits), word});
    return t;
  };
  const auto magic = [&](const Operand& nibbles, const Operand& mask) {
    const Operand t = b_.vgpr("plus_magic");
    b_.emit(v_and_or_b32, {t}, {nibbles, mask, c_.magic});
    return t;
  };
  if (c_.bf16()) {
    for (unsigned i = 0; i < 4; ++i) all.push_back(magic(shifted(4 * i), c_.low_nibbles));
    return all;
  }
  // Which half of a source both results take: op_sel_hi without source 1's bit, op_sel with source 2's.
  constexpr std::uint8_t second_low = 0b101, third_high = 0b100;
  for (unsigned i = 0; i < 2; ++i) {
    const Operand nibbles = shifted(8 * i);
    const Operand low = b_.vgpr("pair"), high = b_.vgpr("pair");
    b_.emit(v_pk_add_f16, {low}, {magic(nibbles, c_.low_nibbles), terms.zero}).mi.mods.op_sel_hi = second_low;
    const Operand sixteen = magic(nibbles, c_.high_nibbles);
    b_.emit(v_pk_fma_f16, {high}, {sixteen, c_.sixteenth, terms.zero}).mi.mods.op_sel = third_high;
    all.push_back(low);
    all.push_back(high);
  }
  return all;
}

Operand Pass::dot(const Operand& w, const Operand& x, const Operand& sum) {
  const Operand next = b_.vgpr("dot");
  b_.emit(c_.bf16() ? v_dot2_f32_bf16 : v_dot2_f32_f16, {next}, {w, x, sum});
  return next;
}

void Pass::multiply(const std::vector<Operand>& acc, Dequantiser* exact) {
  const unsigned rows = c_.c.bn, columns = c_.c.bm;
  const bool through_sums = c_.bf16() && exact == nullptr;
  std::vector<Terms> of_row;
  of_row.reserve(rows);
  for (unsigned r = 0; r < rows; ++r) of_row.push_back(terms(r, exact));
  std::vector<Operand> sums(columns, imm(0)), dots(std::size_t{rows} * columns, imm(0));
  for (unsigned word = 0; word < width_; ++word) {
    if (late_) load_activations(word);
    const Operand* x = &x_[std::size_t{word} * columns];
    if (through_sums)
      for (unsigned m = 0; m < columns; ++m)
        for (unsigned i = 0; i < 4; ++i) sums[m] = dot(c_.ones, x[m].slice(i), sums[m]);
    for (unsigned r = 0; r < rows; ++r) {
      const std::vector<Operand> w = pairs(words_[r].slice(word), of_row[r], exact);
      for (unsigned m = 0; m < columns; ++m) {
        Operand& d = dots[std::size_t{r} * columns + m];
        for (unsigned i = 0; i < 4; ++i) d = dot(w[i], x[m].slice(i), d);
      }
    }
  }
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned m = 0; m < columns; ++m) {
      const std::size_t i = std::size_t{r} * columns + m;
      Operand value = dots[i];
      if (through_sums) {
        value = b_.vgpr("centred");
        b_.emit(v_fma_f32, {value}, {-of_row[r].zero, sums[m], dots[i]});
      }
      b_.emit(v_fma_f32, {acc[i]}, {of_row[r].scale, value, acc[i]});
    }
}

}  // namespace wavejit::templates::skinny
