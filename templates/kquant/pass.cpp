// SPDX-License-Identifier: MIT
#include "templates/kquant/pass.hpp"

#include <bit>

#include "templates/kquant/pass_types.hpp"

namespace wavejit::templates::kquant {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

Operand Context::constant(std::uint32_t value) {
  for (const auto& [known, reg] : constants)
    if (known == value) return reg;
  const Operand reg = b.sgpr("constant");
  ir::Instruction set;
  set.mi.op = s_mov_b32;
  set.mi.dst_count = set.mi.src_count = 1;
  set.mi.dst[0] = reg;
  set.mi.src[0] = imm(value);
  b.kernel().blocks[constants_at].insts.push_back(std::move(set));
  constants.emplace_back(value, reg);
  return reg;
}

Operand Pass::linear(const char* name, std::int64_t constant, std::initializer_list<Term> terms) {
  const Operand sum = b_.vgpr(name);
  b_.emit(v_mov_b32, {sum}, {imm(constant)});
  for (const Term& t : terms) {
    if (!t.reg.is_reg()) continue;
    b_.emit(v_mad_u32_u24, {sum}, {t.reg, factor(t.factor), sum});
  }
  return sum;
}

Operand Pass::factor(std::int64_t value) {
  if (b_.kernel().target->vop3_literal || isa::is_inline_integer(value)) return imm(value);
  return c_.constant(static_cast<std::uint32_t>(value));
}

Operand Pass::existing(const Operand& address) {
  if (!half_pass_) return address;
  if (!missing_.is_reg()) missing_ = binary(v_lshrrev_b32, "missing", imm(5), c_.lane);
  b_.emit(v_lshl_or_b32, {address}, {missing_, imm(31), address});
  return address;
}

/// A superblock's 128 bytes of low quants are 32 dwords: 32 / width lanes take it.
void Pass::geometry() {
  const unsigned lanes = 32 / width_, per_chunk = 8 / width_;
  const bool one = lanes == wave_size();
  index_ = one ? c_.lane : binary(v_and_b32, "index", imm(lanes - 1), c_.lane);
  if (!one) group_ = binary(v_lshrrev_b32, "group", imm(std::countr_zero(lanes)), c_.lane);
  chunk_ = binary(v_lshrrev_b32, "chunk", imm(std::countr_zero(per_chunk)), index_);
  byte_ = binary(v_and_b32, "byte", imm(per_chunk - 1), index_);
  b_.emit(v_lshlrev_b32, {byte_}, {imm(std::countr_zero(4 * width_)), byte_});
}

Operand Pass::fetch(isa::Opcode op, const char* name, unsigned dwords, const Operand& address,
                    const Operand& descriptor, const Operand& offset, std::int32_t immediate) {
  const Operand data = b_.vgpr(name, dwords);
  ir::Instruction& inst = b_.emit(op, {data}, {address, descriptor, offset});
  inst.mi.mods.offen = true;
  inst.mi.mods.offset = immediate;
  bool is_row = false;
  for (const Operand& row : c_.rows) is_row = is_row || row == descriptor;
  inst.mem = {ir::MemoryTag::Space::global, static_cast<std::int16_t>(is_row ? 1 : 0), false};
  return data;
}

isa::Opcode Pass::wide_load(unsigned dwords) {
  return dwords == 4 ? buffer_load_b128 : dwords == 2 ? buffer_load_b64 : buffer_load_b32;
}

Pass::RunPlace Pass::place_run(const Operand& address, unsigned dwords) {
  RunPlace place;
  existing(address);
  place.shift = binary(v_and_b32, "shift_bytes", imm(2), address);
  place.last = binary(v_add_nc_u32, "last_at", imm(4 * dwords - 2), address);
  b_.emit(v_and_b32, {place.last}, {imm(-4), place.last});
  place.first = binary(v_and_b32, "run_at", imm(-4), address);
  return place;
}

/// Only the last dword's lower half is wanted. Its upper half is beyond the row, and the dword out of bounds,
/// where a row of blocks of 32 ends in the middle of a dword.
Pass::Run Pass::fetch_run(const RunPlace& place, unsigned dwords, const Operand& descriptor,
                          const Operand& offset, std::int32_t immediate) {
  const bool half = block_elements(c_.p.type) != superblock && row_bytes(c_.p) % 4 != 0;
  return {
      fetch(wide_load(dwords), "quants", dwords, place.first, descriptor, offset, immediate),
      fetch(half ? buffer_load_u16 : buffer_load_b32, "last", 1, place.last, descriptor, offset, immediate),
      place.shift};
}

std::vector<Operand> Pass::phases() const {
  bool differ = false;
  for (const Operand& phase : c_.phases) differ = differ || phase.is_reg();
  return differ ? c_.phases : std::vector{Operand{}};
}

void Pass::add(const Operand& phase, const Operand& address) {
  if (phase.is_reg()) b_.emit(v_add_nc_u32, {address}, {phase, address});
}

Operand Pass::dword(const Run& run, unsigned i) {
  const Operand upper = i + 1 < run.dwords.width ? run.dwords.slice(i + 1) : run.last;
  const Operand aligned = b_.vgpr("aligned");
  b_.emit(v_alignbyte_b32, {aligned}, {upper, run.dwords.slice(i), run.shift});
  return aligned;
}

void Pass::load_activations(const Operand& offset, std::int32_t second_half) {
  x_low_.clear();
  x_high_.clear();
  for (const Operand& column : c_.columns) {
    x_low_.push_back(fetch(wide_load(), "x_low", width_, x_address_, column, offset));
    x_high_.push_back(fetch(wide_load(), "x_high", width_, x_address_, column, offset, second_half));
  }
}

/// Four products of bytes; `x` is signed. gfx11 and later say so in neg_lo: without it a byte is unsigned,
/// whatever the mnemonic. gfx9 takes both as signed, which quants that are not are below 128 for.
Operand Pass::dot(bool first_signed, const Operand& quants, const Operand& x, const Operand& sum) {
  const Operand next = b_.vgpr("dot");
  if (b_.kernel().target->generation == target::Generation::gfx9) {
    b_.emit(v_dot4_i32_i8, {next}, {quants, x, sum});
    return next;
  }
  b_.emit(v_dot4_i32_iu8, {next}, {quants, x, sum}).mi.mods.neg_lo = first_signed ? 3 : 2;
  return next;
}

Operand Pass::f16(const char* name, const Operand& bits) { return unary(v_cvt_f32_f16, name, bits); }

Operand Pass::unary(isa::Opcode op, const char* name, const Operand& a) {
  const Operand result = b_.vgpr(name);
  b_.emit(op, {result}, {a});
  return result;
}

Operand Pass::binary(isa::Opcode op, const char* name, const Operand& a, const Operand& b) {
  const Operand result = b_.vgpr(name);
  b_.emit(op, {result}, {a, b});
  return result;
}

void Pass::accumulate(const Operand& acc, const Operand& a, const Operand& b) {
  b_.emit(v_fma_f32, {acc}, {a, b, acc});
}

std::unique_ptr<Pass> make_pass(Context& context, unsigned width, std::int64_t first, bool half) {
  if (context.p.type == Type::q6_k) return std::make_unique<PassQ6>(context, width, first, half);
  if (context.p.type == Type::q8_0) return std::make_unique<PassQ8>(context, width, first, half);
  if (context.p.type == Type::q4_0) return std::make_unique<PassQ4>(context, width, first, half);
  return std::make_unique<PassQ45>(context, width, first, half);
}

}  // namespace wavejit::templates::kquant
