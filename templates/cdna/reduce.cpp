// SPDX-License-Identifier: MIT
#include "templates/cdna/reduce.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "templates/cdna/launch.hpp"
#include "templates/descriptors.hpp"
#include "templates/round.hpp"
#include "templates/scalar_math.hpp"

namespace wavejit::templates::cdna {
namespace {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t pieces(const Problem& p) { return ceil_div(p.n, reduce_width(p) * reduce_threads(p)); }

class Reduce {
 public:
  Reduce(ir::Kernel& kernel, const Problem& problem, const Config& config)
      : b_(kernel), p_(problem), slices_(config.split_k), rounder_(problem.activation, true) {}
  void run();

 private:
  void entry();
  void rows();
  Operand load_slice(unsigned slice);
  void add_bias(const Operand& sum);
  void store(const Operand& sum);

  ir::Builder b_;
  const Problem& p_;
  unsigned slices_;
  PairRounder rounder_;
  Operand workspace_, output_, bias_, m_, workgroup_;
  Operand row_;            ///< of the output
  Operand workspace_row_;  ///< of slice 0
  Operand element_;        ///< VGPR: first column of the work-item
};

void Reduce::entry() {
  ir::Kernel& k = b_.kernel();
  b_.block("entry", "arguments; which row and which piece of it");
  k.entry.user_sgprs = 2;
  k.entry.kernarg = b_.fixed(isa::RegClass::sgpr, "kernarg", 0, 2);
  workgroup_ = k.entry.workgroup_id[0] = b_.fixed(isa::RegClass::sgpr, "workgroup", 2);
  k.entry.workitem_id = b_.fixed(isa::RegClass::vgpr, "workitem", 0);
  const Operand pointers = b_.sgpr("pointers", 4);
  m_ = b_.sgpr("m");
  b_.note("workspace, output").emit(s_load_b128, {pointers}, {k.entry.kernarg, imm(k.args[0].offset)});
  if (p_.bias) {
    bias_ = b_.sgpr("bias", 2);
    b_.note("bias").emit(s_load_b64, {bias_}, {k.entry.kernarg, imm(k.args[2].offset)});
  }
  b_.note("m").emit(s_load_b32, {m_}, {k.entry.kernarg, imm(k.args.back().offset)});
  workspace_ = pointers.slice(0, 2);
  output_ = pointers.slice(2, 2);
}

void Reduce::rows() {
  const Quotient piece = divide_with_rest(b_, "row", workgroup_, pieces(p_));
  row_ = piece.quotient;
  workspace_row_ = row_;
  if (p_.batch > 1) {
    const Quotient batch = divide_by_register(b_, "batch", row_, m_);
    const Operand start = b_.sgpr("batch_row0");
    workspace_row_ = b_.sgpr("workspace_row");
    b_.emit(s_mul_i32, {start}, {batch.quotient, m_});
    b_.emit(s_mul_i32, {start}, {start, imm(slices_)});
    b_.emit(s_add_u32, {workspace_row_}, {start, batch.remainder});
  }
  const Operand first = b_.sgpr("first_element"), item = b_.vgpr("item");
  element_ = b_.vgpr("element");
  const unsigned width = reduce_width(p_);
  b_.emit(s_mul_i32, {first}, {piece.remainder, imm(reduce_threads(p_) * width)});
  b_.emit(v_and_b32, {item}, {imm(0x3FF), b_.kernel().entry.workitem_id});
  b_.note("first column of this work-item")
      .emit(v_lshl_add_u32, {element_}, {item, imm(width == 4 ? 2 : 0), first});
}

/// The descriptor ends with the row: columns past N read as 0 and their stores are dropped.
Operand Reduce::load_slice(unsigned slice) {
  Operand row = workspace_row_;
  if (slice > 0) {
    row = b_.sgpr("slice_row");
    b_.emit(s_mul_i32, {row}, {m_, imm(slice)});
    b_.emit(s_add_u32, {row}, {row, workspace_row_});
  }
  const Operand at = b_.vgpr("partial_at");
  const Operand desc = exact_descriptor(b_, {"workspace", workspace_, {}, p_.n * 4, p_.n * 4, 1}, row, {});
  b_.emit(v_lshlrev_b32, {at}, {imm(2), element_});
  const unsigned width = reduce_width(p_);
  const Operand data = b_.vgpr(fmt::format("partial{}", slice), width);
  ir::Instruction& load =
      b_.emit(width == 4 ? buffer_load_b128 : buffer_load_b32, {data}, {at, desc, imm(0)});
  load.mi.mods.offen = true;
  load.mem = {ir::MemoryTag::Space::global, 0, false};
  return data;
}

/// After the last slice, before the one rounding. A row of N columns: those past N read as 0.
void Reduce::add_bias(const Operand& sum) {
  const bool wide = sum.width == 4 && p_.n % 8 == 0;  // the alignment that launch() asks for
  const Operand desc = exact_descriptor(b_, {"bias", bias_, imm(1), p_.n * 2, p_.n * 2}, imm(0), {}),
                at = b_.vgpr("bias_at");
  b_.emit(v_lshlrev_b32, {at}, {imm(1), element_});
  for (unsigned v = 0; v < sum.width; v += wide ? 4 : 1) {
    const Operand loaded = b_.vgpr("bias", wide ? 2 : 1);
    ir::Instruction& inst = b_.emit(wide ? buffer_load_b64 : buffer_load_u16, {loaded}, {at, desc, imm(0)});
    inst.mi.mods.offen = true;
    inst.mi.mods.offset = static_cast<std::int32_t>(2 * v);
    inst.mem = {ir::MemoryTag::Space::global, 2, false};
    for (unsigned e = 0; e < (wide ? 4U : 1U); ++e) {
      const Operand value = half_to_f32(b_, p_.activation, loaded.slice(e / 2), e % 2 == 1);
      b_.emit(v_add_f32, {sum.slice(v + e)}, {value, sum.slice(v + e)});
    }
  }
}

void Reduce::store(const Operand& sum) {
  rounder_.setup(b_);
  const unsigned width = reduce_width(p_);
  const Operand packed = b_.vgpr("packed", width == 4 ? 2 : 1), at = b_.vgpr("out_at");
  for (unsigned i = 0; i < packed.width; ++i)
    rounder_.round(b_, sum.slice(2 * i % width), sum.slice((2 * i + 1) % width), packed.slice(i));
  const Operand desc =
      exact_descriptor(b_, {"output", output_, {}, p_.output_stride * 2, p_.n * 2, 1}, row_, {});
  b_.emit(v_lshlrev_b32, {at}, {imm(1), element_});
  ir::Instruction& inst =
      b_.emit(width == 4 ? buffer_store_b64 : buffer_store_b16, {}, {packed, at, desc, imm(0)});
  inst.mi.mods.offen = true;
  inst.mem = {ir::MemoryTag::Space::global, 1, false};
}

void Reduce::run() {
  entry();
  rows();
  std::vector<Operand> partial;
  partial.reserve(slices_);
  for (unsigned s = 0; s < slices_; ++s) partial.push_back(load_slice(s));
  b_.block("sum", fmt::format("{} slices in order", slices_));
  const Operand sum = partial.front();
  for (unsigned s = 1; s < slices_; ++s)
    for (unsigned i = 0; i < sum.width; ++i)
      b_.emit(v_add_f32, {sum.slice(i)}, {sum.slice(i), partial[s].slice(i)});
  if (p_.bias) add_bias(sum);
  store(sum);
  b_.block("end", "");
  b_.emit(s_endpgm, {}, {});
}

}  // namespace

unsigned reduce_width(const Problem& problem) { return (problem.n | problem.output_stride) % 4 == 0 ? 4 : 1; }

std::int64_t reduce_threads(const Problem& problem) {
  constexpr std::int64_t wave = 64, most = 4 * wave;
  return std::min(ceil_div(problem.n, reduce_width(problem) * wave) * wave, most);
}

std::int64_t reduce_workgroups(const Problem& problem, std::int64_t m) {
  return problem.batch * m * pieces(problem);
}

ir::Kernel build_reduce(const Problem& problem, const Config& config, const target::Target& target) {
  ir::Kernel k;
  k.target = &target;
  k.name = fmt::format("splitk_reduce_{}_n{}_b{}_s{}", name(problem.activation), problem.n, problem.batch,
                       config.split_k) +
           (problem.bias ? "_bias" : "");
  k.args = arguments(problem, config, 1);
  k.kernarg_size = kernarg_size(k.args);
  k.workgroup_size = static_cast<std::uint32_t>(reduce_threads(problem));
  k.wgp_mode = false;
  k.vgpr_budget = target::vgpr_budget(target, target.max_waves_per_simd / 2U);
  Reduce(k, problem, config).run();
  return k;
}

Result<ir::Kernel> compile_reduce(const Problem& problem, const Config& config, const target::Target& target,
                                  const passes::Observer& observer) {
  ir::Kernel kernel = build_reduce(problem, config, target);
  if (auto ok = passes::run(kernel, {}, observer); !ok) return std::unexpected(ok.error());
  return kernel;
}

}  // namespace wavejit::templates::cdna
