// SPDX-License-Identifier: MIT
// An infinity or NaN among the activations makes the sums of unpack.hpp infinite or NaN whatever the weights
// are, and their difference NaN. So a wave that ends with a sum that is not finite computes its part of K
// again from dequantised weights (templates/cdna/dequant.hpp), and takes over those sums that were not
// finite: the others keep their bits. That is rare, so its loop need not be fast: no LDS, which other waves
// are using, nothing loaded ahead; its code lies behind the kernel's end.
#include <fmt/format.h>

#include "templates/cdna/decode/emitter.hpp"

namespace wavejit::templates::cdna::decode {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

void Emitter::leave_when_not_finite() {
  Operand check = imm(0);
  for (const Operand& acc : acc_)
    for (unsigned v = 0; v < t_.used; ++v) {
      const Operand next = b_.vgpr("not_finite");
      b_.emit(v_fma_f32, {next}, {acc.slice(v), imm(0), check});
      check = next;
    }
  const Operand lanes = b_.sgpr("not_finite", 2), any = b_.sgpr("any");
  b_.note("0 times infinity or NaN is NaN").emit(v_cmp_u_f32, {lanes}, {check, check});
  b_.emit(s_or_b32, {any}, {lanes.slice(0), lanes.slice(1)});
  b_.emit(s_cmp_lg_u32, {}, {any, imm(0)});
  to_exact_ = {b_.kernel().blocks.size() - 1, b_.current().insts.size()};
  b_.emit(s_cbranch_scc1, {}, {isa::label(0)});
  finish_ = b_.block("finish", "sums over waves");
}

/// acc of `exact` += a block, activations straight from memory.
void Emitter::exact_block(unsigned block, const Dequantiser& dequant, const Operand& row_offset) {
  const Loaded l = load_block(block);
  const AlongK at = along_k(block2_[block]);
  const unsigned dwords = operand_dwords();
  const isa::Opcode op = matrix_opcode(t_.side, t_.depth, p_.activation);
  std::vector<Operand> terms;
  terms.reserve(t_.tiles_n);
  for (unsigned j = 0; j < t_.tiles_n; ++j)
    terms.push_back(dequant.terms(b_, {.scale = l.scales[j],
                                       .zero = has_zeros() ? l.zeros[j] : Operand{},
                                       .zero_bit = packed_zeros() ? zero_bits_[j] : Operand{}}));
  for (unsigned s = 0; s < 4; ++s) {
    const Operand rows = b_.vgpr("a_exact", 4);
    load(buffer_load_b128, rows, row_offset, at.k2, static_cast<std::int64_t>(s) * 16, at.outside,
         activation_desc_, "activations");
    for (unsigned j = 0; j < t_.tiles_n; ++j) {
      const Operand quad = b_.vgpr("w_exact", 4);
      dequant.weights(b_, l.weights[j].slice(s), terms[j], quad);
      for (unsigned part = 0; part < 4; part += dwords)
        b_.emit(op, {exact_[j]}, {rows.slice(part, dwords), quad.slice(part, dwords), exact_[j]});
    }
  }
}

/// acc = acc where that is finite.
void Emitter::keep_finite() {
  for (std::size_t t = 0; t < acc_.size(); ++t)
    for (unsigned v = 0; v < t_.used; ++v) {
      const Operand check = b_.vgpr("not_finite"), is = b_.sgpr("is_not_finite", 2), acc = acc_[t].slice(v);
      b_.emit(v_mul_f32, {check}, {imm(0), acc});
      b_.emit(v_cmp_u_f32, {is}, {check, check});
      b_.emit(v_cndmask_b32, {acc}, {acc, exact_[t].slice(v), is});
    }
}

void Emitter::again_exactly() {
  const std::uint32_t here = b_.block("exact", "not finite: again, from dequantised weights");
  b_.kernel().blocks[to_exact_.first].insts[to_exact_.second].mi.src[0] = isa::label(here);
  Dequantiser dequant(p_);
  dequant.setup(b_);
  const Operand stride = b_.sgpr("a_stride");
  b_.emit(s_mov_b32, {stride}, {imm(p_.activation_stride * 2)});
  const Operand offset = b_.vgpr("a_exact_at");
  b_.emit(v_mul_lo_u32, {offset}, {lane_row_, stride});
  b_.emit(v_lshl_add_u32, {offset}, {lane_group_, imm(6), offset});
  for (std::size_t t = 0; t < acc_.size(); ++t)
    exact_.push_back(b_.vgpr(fmt::format("exact{}", t), t_.accumulators));
  clear(exact_);
  k2_ = b_.sgpr("k2");
  b_.note("2 k").emit(s_mov_b32, {k2_}, {imm(0)});
  b_.block("k_loop_exact", fmt::format("{} steps of {} along K", t_.steps, c_.bk));
  b_.make_loop("k_loop_exact", t_.steps)
      .inductions.push_back({k2_, 2 * static_cast<std::int64_t>(c_.bk), 0, 0});
  for (unsigned k = 0; k < t_.blocks; ++k) exact_block(k, dequant, offset);
  b_.block("exact_done", "");
  keep_finite();
  b_.emit(s_branch, {}, {isa::label(finish_)});
}

}  // namespace wavejit::templates::cdna::decode
