// SPDX-License-Identifier: MIT
// The kernel around the passes: descriptors, the loop over superblocks, the sum over lanes, the store.
#include "templates/kquant/gemv.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>

#include "templates/kquant/entry.hpp"
#include "templates/kquant/pass.hpp"

namespace wavejit::templates::kquant {
namespace {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

constexpr unsigned widest = 4;  ///< dwords a lane and pass

class Gemv {
 public:
  Gemv(ir::Kernel& kernel, const Problem& problem, const Config& config)
      : b_(kernel), p_(problem), c_(config), context_{b_, p_, {}, {}, {}, {}, {}, 0} {}
  void run();

 private:
  void entry();
  void row_descriptors();
  void column_descriptors();
  Operand descriptor(const std::string& name, const Operand& base, const Operand& bytes);
  void passes();
  /// Superblocks that a pass of that width takes.
  [[nodiscard]] std::int64_t covered(unsigned width) const {
    return width * b_.kernel().target->wave_size / 32;
  }
  [[nodiscard]] bool wave64() const { return b_.kernel().target->wave_size == 64; }
  void main_loop(Pass& pass, std::int64_t trips);
  void sum_lanes();
  void sum_rows();
  void unscale();
  void store();

  ir::Builder b_;
  const Problem& p_;
  const Config& c_;
  Context context_;
  Operand activations_, weights_, output_, row0_;
  std::vector<Operand> acc_;  ///< per row of weights and row of activations
};

void Gemv::entry() {
  const Entry e = emit_entry(b_, 3);
  activations_ = e.pointers[0];
  weights_ = e.pointers[1];
  output_ = e.pointers[2];
  context_.lane = e.lane;
  row0_ = b_.sgpr("row0");
  b_.note("first row of the wave").emit(s_mul_i32, {row0_}, {e.workgroup, imm(c_.rows)});
}

Operand Gemv::descriptor(const std::string& name, const Operand& base, const Operand& bytes) {
  const Operand d = b_.sgpr(name, 4);
  b_.emit(s_mov_b32, {d.slice(0)}, {base.slice(0)});
  b_.emit(s_and_b32, {d.slice(1)}, {base.slice(1), imm(0xFFFF)});
  b_.note("num_records").emit(s_mov_b32, {d.slice(2)}, {bytes});
  b_.emit(s_mov_b32, {d.slice(3)}, {imm(b_.kernel().target->buffer_word3)});
  return d;
}

/// One exact descriptor per row: its own bytes and no other's, none where the row is at or beyond N. The
/// address of a row is computed in 64 bits.
void Gemv::row_descriptors() {
  const std::int64_t bytes = row_bytes(p_);
  for (unsigned r = 0; r < c_.rows; ++r) {
    const Operand row = b_.sgpr("row"), base = b_.sgpr("row_base", 2), records = b_.sgpr("row_records");
    b_.emit(s_add_u32, {row}, {row0_, imm(r)});
    b_.emit(s_mul_hi_u32, {base.slice(1)}, {row, imm(bytes)});
    b_.emit(s_mul_i32, {base.slice(0)}, {row, imm(bytes)});
    b_.emit(s_add_u32, {base.slice(0)}, {weights_.slice(0), base.slice(0)});
    b_.emit(s_addc_u32, {base.slice(1)}, {weights_.slice(1), base.slice(1)});
    Operand phase;
    if (bytes % 4 != 0) {
      // Every other row starts in the middle of a dword, which the row before shares: the base moves down.
      phase = b_.sgpr("phase");
      b_.emit(s_and_b32, {phase}, {base.slice(0), imm(2)});
      b_.emit(s_and_b32, {base.slice(0)}, {base.slice(0), imm(-4)});
    }
    b_.emit(s_cmp_lt_u32, {}, {row, imm(p_.n)});
    b_.emit(s_cselect_b32, {records}, {imm(bytes), imm(0)});
    if (phase.is_reg()) {
      const Operand before = b_.sgpr("before");
      b_.emit(s_cselect_b32, {before}, {phase, imm(0)});
      b_.emit(s_add_u32, {records}, {records, before});
    }
    context_.rows.push_back(descriptor("row_desc", base, records));
    context_.phases.push_back(phase);
  }
}

void Gemv::column_descriptors() {
  const std::int64_t bytes = activation_row_bytes(p_);
  for (unsigned m = 0; m < p_.m; ++m) {
    Operand base = activations_;
    if (m > 0) {
      base = b_.sgpr("x_base", 2);
      b_.emit(s_add_u32, {base.slice(0)}, {activations_.slice(0), imm((m * bytes) & 0xFFFFFFFF)});
      b_.emit(s_addc_u32, {base.slice(1)}, {activations_.slice(1), imm((m * bytes) >> 32)});
    }
    context_.columns.push_back(descriptor("x_desc", base, imm(bytes)));
  }
}

void Gemv::main_loop(Pass& pass, std::int64_t trips) {
  const Operand w = b_.sgpr("weights_offset"), x = b_.sgpr("x_offset");
  b_.emit(s_mov_b32, {w}, {imm(0)});
  b_.emit(s_mov_b32, {x}, {imm(0)});
  b_.block("superblocks", fmt::format("{} passes of {} superblocks", trips, covered(widest)));
  ir::CountedLoop& loop = b_.make_loop("superblocks", trips);
  loop.inductions = {{w, covered(widest) * block_bytes(p_.type), 0, 0},
                     {x, covered(widest) * activation_block_bytes, 0, 0}};
  b_.set_stage(0);
  pass.load(w, x);
  b_.set_stage(1);
  pass.multiply(acc_);
  b_.set_stage(0);
}

/// Passes of four (in wave64 eight) superblocks in the loop, then narrower ones over what is left, of which
/// in wave64 the last may be a half one. A superblock that lacks blocks is never in the loop: the row's end
/// is the descriptor's, which not every reading of the bounds rule compares with an offset in an SGPR. The
/// rest is loaded before the loop, where it waits for nobody; but after it where many activations, or a pass
/// as wide as the loop's, would fill the registers.
void Gemv::passes() {
  const std::int64_t blocks = superblocks(p_.k), trips = p_.k / superblock / covered(widest);
  std::vector<std::unique_ptr<Pass>> rest;
  std::int64_t first = trips * covered(widest);
  const bool wide = blocks - first == covered(widest);
  for (const unsigned width : {widest, 2U, 1U}) {
    if (blocks - first < covered(width)) continue;
    rest.push_back(make_pass(context_, width, first));
    first += covered(width);
  }
  if (first < blocks) rest.push_back(make_pass(context_, 1, first, true));
  std::unique_ptr<Pass> main;
  if (trips > 0) {
    main = make_pass(context_, widest, 0);
    main->setup();
  }
  const auto load_rest = [&] {
    for (const auto& pass : rest) {
      pass->setup();
      pass->load(no_offset(b_), no_offset(b_));
    }
  };
  const bool early = p_.m <= 2 && !wide;
  if (early) load_rest();
  if (main) main_loop(*main, trips);
  b_.block("rest", "superblocks left over; sum over lanes");
  if (!early) load_rest();
  for (const auto& pass : rest) pass->multiply(acc_);
}

/// A butterfly: every lane ends with the same sum, bit by bit, as each step adds the same two numbers in
/// both lanes.
void Gemv::sum_lanes() {
  for (const unsigned distance : {1U, 2U, 4U, 8U})
    for (const Operand& acc : acc_) butterfly(b_, b_.emit(v_add_f32, {acc}, {acc, acc}), distance);
  if (wave64()) return sum_rows();
  add_other_half(b_, acc_, context_.constant(0x76543210), context_.constant(0xFEDCBA98));
}

/// Takes the factor of the activations' scales out of the sums.
void Gemv::unscale() {
  constexpr float factor = 1U << -activation_scale;
  for (const Operand& acc : acc_) b_.emit(v_mul_f32, {acc}, {imm(std::bit_cast<std::uint32_t>(factor)), acc});
}

/// The sums of four rows of lanes, which end in the last of them: row 1 gets row 0's, 3 gets 2's, then 3 gets
/// 1's.
void Gemv::sum_rows() {
  const auto add = [this](unsigned control, unsigned row_mask) {
    for (const Operand& acc : acc_) {
      isa::Dpp& dpp = b_.emit(v_add_f32, {acc}, {acc, acc}).mi.mods.dpp;
      dpp.kind = isa::Dpp::Kind::dpp16;
      dpp.ctrl = static_cast<std::uint16_t>(control);
      dpp.row_mask = static_cast<std::uint8_t>(row_mask);
    }
  };
  constexpr unsigned row_bcast_15 = 0x142, row_bcast_31 = 0x143;
  add(row_bcast_15, 0xA);
  add(row_bcast_31, 0xC);
}

/// Lane r (in wave64 of the last sixteen) stores row r; the descriptor ends with the wave's rows, so the
/// other lanes' stores are dropped.
void Gemv::store() {
  const Operand address = b_.vgpr("out_at"), left = b_.sgpr("rows_left"), bytes = b_.sgpr("out_bytes");
  Operand lane = context_.lane;
  if (wave64()) {
    lane = b_.vgpr("storing_lane");  // the others are beyond the descriptor, being negative
    b_.emit(v_add_nc_u32, {lane}, {imm(-48), context_.lane});
  }
  b_.emit(v_lshlrev_b32, {address}, {imm(2), lane});
  b_.emit(s_sub_i32, {left}, {imm(p_.n), row0_});
  b_.emit(s_min_i32, {left}, {left, imm(c_.rows)});
  b_.emit(s_max_i32, {left}, {left, imm(0)});
  b_.emit(s_lshl_b32, {bytes}, {left, imm(2)});
  const Operand base = b_.sgpr("out_base", 2);
  b_.emit(s_mul_hi_u32, {base.slice(1)}, {row0_, imm(4)});
  b_.emit(s_lshl_b32, {base.slice(0)}, {row0_, imm(2)});
  b_.emit(s_add_u32, {base.slice(0)}, {output_.slice(0), base.slice(0)});
  b_.emit(s_addc_u32, {base.slice(1)}, {output_.slice(1), base.slice(1)});
  std::vector<Operand> is_row(c_.rows);
  for (unsigned r = 1; r < c_.rows; ++r) {
    is_row[r] = b_.sgpr("is_row", mask_width(b_));
    b_.emit(v_cmp_eq_u32, {is_row[r]}, {imm(r), lane});
  }
  for (unsigned m = 0; m < p_.m; ++m) {
    Operand value = acc_[m];
    for (unsigned r = 1; r < c_.rows; ++r) {
      const Operand chosen = b_.vgpr("value");
      b_.emit(v_cndmask_b32, {chosen}, {value, acc_[r * p_.m + m], is_row[r]});
      value = chosen;
    }
    const Operand d = descriptor("out_desc", base, bytes);
    ir::Instruction& inst = b_.emit(buffer_store_b32, {}, {value, address, d, no_offset(b_)});
    inst.mi.mods.offen = true;
    inst.mem = {ir::MemoryTag::Space::global, 2, false};
    if (m + 1 == p_.m) break;
    b_.emit(s_add_u32, {base.slice(0)}, {base.slice(0), imm((p_.n * 4) & 0xFFFFFFFF)});
    b_.emit(s_addc_u32, {base.slice(1)}, {base.slice(1), imm((p_.n * 4) >> 32)});
  }
}

void Gemv::run() {
  entry();
  context_.constants_at = 0;
  b_.block("setup", "descriptors and addresses");
  row_descriptors();
  column_descriptors();
  for (unsigned i = 0; i < c_.rows * p_.m; ++i) {
    acc_.push_back(b_.vgpr("acc"));
    b_.emit(v_mov_b32, {acc_.back()}, {imm(0)});
  }
  passes();
  sum_lanes();
  unscale();
  store();
  b_.block("end", "");
  b_.emit(s_endpgm, {}, {});
}

}  // namespace

ir::Kernel build(const Problem& problem, const Config& config, const target::Target& target) {
  ir::Kernel k;
  k.target = &target;
  k.name = fmt::format("kquant_{}_n{}_k{}_m{}_r{}", name(problem.type), problem.n, problem.k, problem.m,
                       config.rows);
  k.args = {{"workspace", ir::ArgKind::buffer, 0, 8, ir::Access::read},
            {"weights", ir::ArgKind::buffer, 8, 8, ir::Access::read},
            {"output", ir::ArgKind::buffer, 16, 8, ir::Access::write}};
  k.kernarg_size = 24;
  k.workgroup_size = target.wave_size;
  k.wgp_mode = false;
  k.vgpr_budget = config.waves_per_simd == 0 ? target.addressable_vgprs
                                             : target::vgpr_budget(target, config.waves_per_simd);
  Gemv(k, problem, config).run();
  return k;
}

}  // namespace wavejit::templates::kquant
