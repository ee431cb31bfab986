// SPDX-License-Identifier: MIT
// The kernel around the passes: descriptors, the loop along K, sums over lanes and waves, the store.
#include "templates/w4a16/build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <memory>

#include "templates/descriptors.hpp"
#include "templates/kquant/entry.hpp"
#include "templates/round.hpp"
#include "templates/skinny/pass.hpp"
#include "templates/w4a16/entry.hpp"

namespace wavejit::templates::skinny {
namespace {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

constexpr unsigned lanes = 32;

class Emitter {
 public:
  Emitter(ir::Kernel& kernel, const Problem& problem, const Config& config)
      : b_(kernel), p_(problem), c_(config), context_(b_, p_, c_), rounder_(problem.activation, true) {}
  void run();

 private:
  [[nodiscard]] unsigned values() const { return c_.bm * c_.bn; }
  [[nodiscard]] unsigned value_groups() const { return (values() + lanes - 1) / lanes; }
  [[nodiscard]] std::int16_t argument(std::string_view name) const;
  void leave_when(isa::Opcode compare, const Operand& a, const Operand& b);
  void entry();
  void descriptors();
  void whole_group();
  void load_bias();
  void clear(const std::vector<Operand>& acc);
  void passes(Dequantiser* exact);
  void loop(Pass& pass, std::int64_t trips, Dequantiser* exact);
  void sum_lanes();
  void leave_when_not_finite();
  void again_exactly();
  std::vector<Operand> by_lane();
  void sum_waves(std::vector<Operand>& by_lane);
  void store(const std::vector<Operand>& by_lane);
  Operand column_of(const Operand& lane);

  ir::Builder b_;
  const Problem& p_;
  const Config& c_;
  Context context_;
  PairRounder rounder_;
  std::vector<Operand> pointers_;
  Operand m_, m0_, n0_, lane_, output_;                     ///< output_: descriptor
  Operand bias_desc_, bias_;                                ///< bias_: f32 of the lane's row of weights
  std::vector<Operand> acc_;                                ///< [row * bm + m]
  std::vector<std::pair<std::size_t, std::size_t>> exits_;  ///< (block, instruction) of branches to the end
  std::pair<std::size_t, std::size_t> to_exact_{};          ///< … of the one to again_exactly()
  std::uint32_t finish_ = 0;                                ///< block
};

std::int16_t Emitter::argument(std::string_view name) const {
  const std::vector<ir::KernelArg>& args = b_.kernel().args;
  const auto found = std::ranges::find(args, name, &ir::KernelArg::name);
  assert(found != args.end());
  return static_cast<std::int16_t>(found - args.begin());
}

/// Ends the current block with a branch to the end of the kernel.
void Emitter::leave_when(isa::Opcode compare, const Operand& a, const Operand& b) {
  b_.emit(compare, {}, {a, b});
  exits_.emplace_back(b_.kernel().blocks.size() - 1, b_.current().insts.size());
  b_.emit(s_cbranch_scc1, {}, {isa::label(0)});
}

void Emitter::entry() {
  w4a16::enter(b_);
  b_.block("entry", "arguments; workgroups outside the output leave");
  const w4a16::WorkgroupIds ids = w4a16::workgroup_ids(b_);
  pointers_ = w4a16::load_pointers(b_);
  m_ = b_.sgpr("m");
  const auto m_argument = static_cast<std::size_t>(argument("m"));
  b_.note("m").emit(s_load_b32, {m_}, {b_.kernel().entry.kernarg, imm(b_.kernel().args[m_argument].offset)});
  m0_ = b_.sgpr("m0");
  n0_ = b_.sgpr("n0");
  b_.note("first row of activations").emit(s_mul_i32, {m0_}, {ids.x, imm(c_.bm)});
  b_.note("first row of weights").emit(s_mul_i32, {n0_}, {ids.y, imm(c_.bn)});
  leave_when(s_cmp_ge_u32, n0_, imm(p_.n));
  b_.block("rows", "");
  leave_when(s_cmp_ge_u32, m0_, m_);
}

void Emitter::descriptors() {
  const Operand n = imm(p_.n);
  const std::int64_t groups = p_.k / p_.group;
  const auto tensor = [&](const char* name, const Operand& rows, std::int64_t stride, std::int64_t bytes) {
    return RowTensor{name, pointers_[static_cast<std::size_t>(argument(name))], rows, stride, bytes};
  };
  context_.activations =
      exact_descriptor(b_, tensor("activations", m_, p_.activation_stride * 2, p_.k * 2), m0_, {});
  context_.weights = exact_descriptor(b_, tensor("weights", n, p_.weight_stride * 4, p_.k / 2), n0_, {});
  context_.scales = exact_descriptor(b_, tensor("scales", n, p_.scale_stride * 2, groups * 2), n0_, {});
  context_.arguments = {argument("activations"), argument("weights"), argument("scales"), 0};
  const Operand column_bytes = b_.sgpr("column_bytes");
  b_.emit(s_lshl_b32, {column_bytes}, {n0_, imm(1)});
  output_ = exact_descriptor(b_, tensor("output", m_, p_.output_stride * 2, p_.n * 2), m0_, column_bytes);
  if (p_.bias) bias_desc_ = exact_descriptor(b_, tensor("bias", n, 2, 2), n0_, {});
  context_.outside = scalar_constant(b_, "outside", 0x80000000, "offset that no descriptor covers");
  if (!context_.packed_zeros()) return;
  // All rows of the workgroup share one row of words: bn divides 8.
  context_.arguments[3] = argument("zero_points");
  const Operand word_row = b_.sgpr("zero_row"), first = b_.sgpr("zero_bit");
  b_.note("word row of the zero points").emit(s_lshr_b32, {word_row}, {n0_, imm(3)});
  context_.zero_points = exact_descriptor(
      b_, tensor("zero_points", imm(zero_point_rows(p_)), p_.zero_point_stride * 4, groups * 4), word_row,
      {});
  b_.emit(s_and_b32, {first}, {n0_, imm(7)});
  b_.note("place of the first row's zero point").emit(s_lshl_b32, {first}, {first, imm(2)});
  for (unsigned r = 0; r < c_.bn; ++r) {
    context_.zero_bits.push_back(r == 0 ? first : b_.sgpr("zero_bit"));
    if (r > 0) b_.emit(s_add_u32, {context_.zero_bits[r]}, {first, imm(std::int64_t{4} * r)});
  }
}

/// Scales and zero points where all of K is one group: every lane has the same, once.
void Emitter::whole_group() {
  const Operand none = kquant::no_offset(b_), zero = b_.vgpr("zero");
  b_.emit(v_mov_b32, {zero}, {imm(0)});
  for (unsigned r = 0; r < c_.bn; ++r) {
    const Operand at = context_.plus("s_at", zero, r * p_.scale_stride * 2);
    context_.whole_scales.push_back(context_.fetch("scale", 2, 0, at, none));
  }
  if (context_.packed_zeros()) context_.whole_zeros = context_.fetch("zeros", 3, 1, zero, none);
  for (Operand& scale : context_.whole_scales) scale = context_.widen("scale_f32", scale);
}

void Emitter::clear(const std::vector<Operand>& acc) {
  for (const Operand& a : acc) b_.emit(v_mov_b32, {a}, {imm(0)});
}

void Emitter::loop(Pass& pass, std::int64_t trips, Dequantiser* exact) {
  const std::string name = exact == nullptr ? "k_loop" : "k_loop_exact";
  const std::vector<ir::Induction> inductions = pass.inductions(exact == nullptr ? 1 : 0);
  for (const ir::Induction& i : inductions) b_.emit(s_mov_b32, {i.reg}, {imm(0)});
  b_.block(name, fmt::format("{} passes along K", trips));
  b_.make_loop(name, trips).inductions = inductions;
  pass.load();
  // Exact results are rare: their loop need not be fast, and without stages it is not rotated.
  b_.set_stage(exact == nullptr ? 1 : 0);
  pass.multiply(acc_, exact);
  b_.set_stage(0);
}

/// Stretches of 1024 elements per wave in the loop; of what is left one of 512 and one of 256 where they are
/// full, then one of 256 with idle lanes. The latter are loaded before the loop, where they wait for nobody;
/// but after it where many activations would fill the registers. Exact results are rare and need not be
/// quick, but their code should be short: a loop in stretches of 256. Each wave decides alone whether to
/// compute again, so one of several must take the same elements as before.
void Emitter::passes(Dequantiser* exact) {
  const unsigned widest = exact != nullptr && c_.waves == 1 ? 1 : 4;
  const std::int64_t longest = std::int64_t{256} * widest * c_.waves, trips = p_.k / longest;
  const bool early = c_.bm <= 2 && exact == nullptr;
  std::vector<std::unique_ptr<Pass>> rest;
  std::int64_t first = trips * longest;
  for (const unsigned width : {2U, 1U}) {
    const std::int64_t stretch = std::int64_t{256} * width * c_.waves;
    if (p_.k - first < stretch) continue;
    rest.push_back(std::make_unique<Pass>(context_, width, first, 0, false, !early));
    first += stretch;
  }
  if (first < p_.k) rest.push_back(std::make_unique<Pass>(context_, 1, first, 0, true, !early));

  std::unique_ptr<Pass> main;
  if (trips > 0) {
    main = exact == nullptr ? std::make_unique<Pass>(context_, widest, 0, trips, false, !early)
                            : std::make_unique<Pass>(context_, 1, 0, widest * trips, false, true);
    main->setup();
  }
  const auto load = [](Pass& pass) {
    pass.setup();
    pass.load();
  };
  if (early)
    for (const auto& pass : rest) load(*pass);
  if (main) {
    loop(*main, exact == nullptr ? trips : widest * trips, exact);
    b_.block(exact == nullptr ? "rest" : "rest_exact", "what is left of K; sum over lanes");
  }
  for (const auto& pass : rest) {
    if (!early) load(*pass);
    pass->multiply(acc_, exact);
  }
}

/// A butterfly: every lane ends with the same sum, bit by bit, as each step adds the same two numbers in both
/// lanes.
void Emitter::sum_lanes() {
  for (const unsigned distance : {1U, 2U, 4U, 8U})
    for (const Operand& acc : acc_) kquant::butterfly(b_, b_.emit(v_add_f32, {acc}, {acc, acc}), distance);
  const Operand low = scalar_constant(b_, "lanes_low", 0x76543210),
                high = scalar_constant(b_, "lanes_high", 0xFEDCBA98);
  kquant::add_other_half(b_, acc_, low, high);
}

/// An infinity or NaN among the activations makes both the products and the sum of a run of them infinite or
/// NaN, and their difference NaN, whatever the weights. So whatever is not finite is computed again, out of
/// line behind the kernel's end.
void Emitter::leave_when_not_finite() {
  Operand check = imm(0);
  for (const Operand& acc : acc_) {
    const Operand next = b_.vgpr("not_finite");
    b_.emit(v_fma_f32, {next}, {acc, imm(0), check});
    check = next;
  }
  const Operand lanes_not = b_.sgpr("not_finite");
  b_.note("0 times infinity or NaN is NaN").emit(v_cmp_u_f32, {lanes_not}, {check, check});
  b_.emit(s_cmp_lg_u32, {}, {lanes_not, imm(0)});
  to_exact_ = {b_.kernel().blocks.size() - 1, b_.current().insts.size()};
  b_.emit(s_cbranch_scc1, {}, {isa::label(0)});
  finish_ = b_.block("finish", "");
}

void Emitter::again_exactly() {
  const std::uint32_t here = b_.block("exact", "not finite: again, from n - zero");
  b_.kernel().blocks[to_exact_.first].insts[to_exact_.second].mi.src[0] = isa::label(here);
  Problem fastest = p_;
  fastest.rounding = WeightRounding::fastest;
  const auto exact = make_dequantiser(fastest, {});
  exact->setup(b_);
  clear(acc_);
  passes(exact.get());
  sum_lanes();
  b_.emit(s_branch, {}, {isa::label(finish_)});
}

/// Lane i of group g has value 32 g + i, in the order of m, then rows of weights.
std::vector<Operand> Emitter::by_lane() {
  std::vector<Operand> all;
  for (unsigned g = 0; g < value_groups(); ++g) {
    Operand value;
    for (unsigned i = 0; i < std::min(lanes, values() - g * lanes); ++i) {
      const unsigned v = g * lanes + i;
      const Operand& acc = acc_[v % c_.bn * c_.bm + v / c_.bn];
      if (i == 0) {
        value = acc;
        continue;
      }
      const Operand is_lane = b_.sgpr("is_lane"), chosen = b_.vgpr("value");
      b_.emit(v_cmp_eq_u32, {is_lane}, {imm(i), lane_});
      b_.emit(v_cndmask_b32, {chosen}, {value, acc, is_lane});
      value = chosen;
    }
    all.push_back(value);
  }
  return all;
}

/// Through LDS: every wave leaves its sums, the first adds them in order of waves and goes on alone.
void Emitter::sum_waves(std::vector<Operand>& by_lane) {
  ir::Kernel& k = b_.kernel();
  const std::uint32_t plane = c_.waves * lanes * 4;  // one group of values of all waves
  k.lds.push_back({"sums", 0, plane * value_groups(), 1, 0});
  const auto access = [](ir::Instruction& inst, std::uint32_t offset) {
    inst.mi.mods.offset = static_cast<std::int32_t>(offset);
    inst.mem = {ir::MemoryTag::Space::lds, 0, false};
  };
  const Operand at = b_.vgpr("sums_at"), wave = b_.sgpr("first_item");
  b_.emit(v_lshlrev_b32, {at}, {imm(2), context_.item});
  for (unsigned g = 0; g < value_groups(); ++g)
    access(b_.emit(ds_store_b32, {}, {at, by_lane[g]}), g * plane);
  if (k.target->has_split_barrier) {
    b_.emit(s_barrier_signal, {}, {imm(-1)});
    b_.emit(s_barrier_wait, {}, {imm(-1)});
  } else {
    b_.emit(s_barrier, {}, {});
  }
  b_.emit(v_readfirstlane_b32, {wave}, {context_.item});
  leave_when(s_cmp_ge_u32, wave, imm(lanes));
  b_.block("first_wave", "sums over waves, in their order");
  for (unsigned g = 0; g < value_groups(); ++g) {
    Operand sum;
    for (unsigned w = 0; w < c_.waves; ++w) {
      const Operand part = b_.vgpr("part");
      access(b_.emit(ds_load_b32, {part}, {at}), g * plane + w * lanes * 4);
      if (w == 0) {
        sum = part;
        continue;
      }
      const Operand next = b_.vgpr("sum");
      b_.emit(v_add_f32, {next}, {sum, part});
      sum = next;
    }
    by_lane[g] = sum;
  }
}

Operand Emitter::column_of(const Operand& lane) {
  const Operand column = b_.vgpr("column");
  b_.emit(v_and_b32, {column}, {imm(c_.bn - 1), lane});
  return column;
}

/// f32 of the bias of the lane's row of weights.
void Emitter::load_bias() {
  const Operand at = b_.vgpr("bias_at"), loaded = b_.vgpr("bias");
  b_.emit(v_lshlrev_b32, {at}, {imm(1), column_of(lane_)});
  ir::Instruction& inst = b_.emit(buffer_load_u16, {loaded}, {at, bias_desc_, kquant::no_offset(b_)});
  inst.mi.mods.offen = true;
  inst.mem = {ir::MemoryTag::Space::global, argument("bias"), false};
  bias_ = context_.widen("bias_f32", loaded);
}

/// Bias added, rounded once, stored by the lanes that have an element; rows beyond M are out of bounds.
void Emitter::store(const std::vector<Operand>& by_lane) {
  const Operand column = column_of(lane_), row = b_.vgpr("row");
  Operand at = b_.vgpr("out_at");
  b_.emit(v_lshrrev_b32, {row}, {imm(std::countr_zero(c_.bn)), lane_});
  b_.emit(v_mul_lo_u32, {at}, {row, imm(p_.output_stride * 2)});
  b_.emit(v_lshl_add_u32, {at}, {column, imm(1), at});
  const auto only = [&](const char* name, const Operand& limit, const Operand& place,
                        const Operand& address) {
    const Operand inside = b_.sgpr(name), chosen = b_.vgpr("out_at");
    b_.emit(v_cmp_gt_u32, {inside}, {limit, place});
    b_.emit(v_cndmask_b32, {chosen}, {context_.outside, address, inside});
    return chosen;
  };
  if (p_.n % c_.bn != 0) {
    const Operand left = b_.sgpr("rows_left");
    b_.emit(s_sub_u32, {left}, {imm(p_.n), n0_});
    at = only("in_tensor", left, column, at);
  }
  rounder_.setup(b_);
  for (unsigned g = 0; g < value_groups(); ++g) {
    Operand value = by_lane[g], address = at;
    const unsigned here = values() - g * lanes;
    if (here < lanes) address = only("has_value", imm(here), lane_, at);
    address = context_.plus("out_at", address, std::int64_t{g} * lanes / c_.bn * p_.output_stride * 2);
    if (p_.bias) {
      const Operand sum = b_.vgpr("biased");
      b_.emit(v_add_f32, {sum}, {value, bias_});
      value = sum;
    }
    const Operand packed = b_.vgpr("packed");
    rounder_.round(b_, value, value, packed);
    ir::Instruction& inst = b_.emit(buffer_store_b16, {}, {packed, address, output_, kquant::no_offset(b_)});
    inst.mi.mods.offen = true;
    inst.mem = {ir::MemoryTag::Space::global, argument("output"), false};
  }
}

void Emitter::run() {
  entry();
  b_.block("setup", "descriptors and addresses");
  context_.item = b_.vgpr("item");
  b_.emit(v_and_b32, {context_.item}, {imm(0x3FF), b_.kernel().entry.workitem_id});
  descriptors();
  context_.setup();
  for (unsigned i = 0; i < values(); ++i) acc_.push_back(b_.vgpr("acc"));
  clear(acc_);
  if (context_.one_group()) whole_group();
  passes(nullptr);
  sum_lanes();
  if (context_.bf16()) leave_when_not_finite();
  lane_ = b_.vgpr("lane");
  b_.emit(v_and_b32, {lane_}, {imm(lanes - 1), context_.item});
  std::vector<Operand> sums = by_lane();
  if (c_.waves > 1) sum_waves(sums);
  if (p_.bias) load_bias();
  store(sums);
  const std::uint32_t end = b_.block("end", "");
  b_.emit(s_endpgm, {}, {});
  for (const auto& [block, index] : exits_)
    b_.kernel().blocks[block].insts[index].mi.src[0] = isa::label(end);
  if (context_.bf16()) again_exactly();
}

std::string arithmetic(const Problem& p) {
  return p.activation == DataType::bf16 ? "128 + n into v_dot2_f32_bf16, (128 + zero) x sum of the "
                                          "activations taken off in f32; rows that "
                                          "are not finite again from n - zero; weights are not rounded"
                                        : "n - zero, exactly, into v_dot2_f32_f16; weights are not rounded";
}

}  // namespace

ir::Kernel build(const Problem& problem, const Config& config, const target::Target& target) {
  ir::Kernel k;
  k.target = &target;
  k.name = fmt::format("w4a16_skinny_{}{}{}_n{}_k{}_g{}_m{}_r{}_w{}", name(problem.activation),
                       problem.zero_points == ZeroPoints::packed ? "_zp" : "", problem.bias ? "_bias" : "",
                       problem.n, problem.k, problem.group, config.bm, config.bn, config.waves);
  k.args = w4a16::arguments(problem);
  k.kernarg_size = w4a16::kernarg_size(k.args);
  k.workgroup_size = config.waves * target.wave_size;
  k.wgp_mode = config.wgp_mode;
  k.vgpr_budget = config.waves_per_simd == 0 ? target.addressable_vgprs
                                             : target::vgpr_budget(target, config.waves_per_simd);
  k.header = {arithmetic(problem)};
  Emitter(k, problem, config).run();
  return k;
}

}  // namespace wavejit::templates::skinny
