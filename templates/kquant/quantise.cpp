// SPDX-License-Identifier: MIT
#include "templates/kquant/quantise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>

#include "generator/ir/builder.hpp"
#include "templates/kquant/entry.hpp"
#include "templates/scalar_math.hpp"

namespace wavejit::templates::kquant {
namespace {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

class Quantiser {
 public:
  Quantiser(ir::Kernel& kernel, const QuantiseProblem& problem)
      : b_(kernel), p_(problem), per_lane_(superblock / kernel.target->wave_size), sharing_(32 / per_lane_) {}
  void run();

 private:
  Operand descriptor(const char* name, const Operand& base, std::int64_t bytes, std::int64_t lacking = 0);
  std::vector<Operand> load();
  Operand binary(isa::Opcode op, const char* name, const Operand& a, const Operand& b);
  Operand fma(const char* name, const Operand& a, const Operand& b, const Operand& c);
  void over_block(isa::Opcode op, const Operand& value);
  Operand largest(const std::vector<Operand>& x);
  Operand sum(const std::vector<Operand>& x);
  Operand scale(const Operand& largest);
  Operand inverse(const Operand& scale);
  Operand quantised(const std::vector<Operand>& x, const Operand& inverse);
  void store(const Operand& q, const Operand& d_and_s);

  ir::Builder b_;
  const QuantiseProblem& p_;
  const unsigned per_lane_;  ///< elements: 8 in wave32, 4 in wave64
  const unsigned sharing_;   ///< lanes that share a block of 32
  Entry entry_;
  Operand factor_;  ///< of d and s
};

/// Superblock `workgroup`'s own bytes of a tensor; none where the grid has more than the tensor. A row's last
/// one is `lacking` bytes short, by which every later row lies nearer to the base.
Operand Quantiser::descriptor(const char* name, const Operand& base, std::int64_t bytes,
                              std::int64_t lacking) {
  const Operand d = b_.sgpr(name, 4);
  const Operand at = b_.sgpr("superblock_at", 2);
  b_.emit(s_mul_hi_u32, {at.slice(1)}, {entry_.workgroup, imm(bytes)});
  b_.emit(s_mul_i32, {at.slice(0)}, {entry_.workgroup, imm(bytes)});
  Operand length = imm(bytes);
  if (lacking != 0) {
    const std::int64_t in_row = superblocks(p_.k);
    const Quotient row = divide_with_rest(b_, "row", entry_.workgroup, in_row);
    const Operand before = b_.sgpr("lacking_before", 2);
    b_.emit(s_mul_hi_u32, {before.slice(1)}, {row.quotient, imm(lacking)});
    b_.emit(s_mul_i32, {before.slice(0)}, {row.quotient, imm(lacking)});
    b_.emit(s_sub_u32, {at.slice(0)}, {at.slice(0), before.slice(0)});
    b_.emit(s_subb_u32, {at.slice(1)}, {at.slice(1), before.slice(1)});
    length = b_.sgpr("length");
    b_.emit(s_mov_b32, {length}, {imm(bytes)});
    b_.emit(s_cmp_eq_u32, {}, {row.remainder, imm(in_row - 1)});
    b_.note("the row's last").emit(s_cselect_b32, {length}, {imm(bytes - lacking), length});
  }
  b_.emit(s_add_u32, {d.slice(0)}, {base.slice(0), at.slice(0)});
  b_.emit(s_addc_u32, {d.slice(1)}, {base.slice(1), at.slice(1)});
  b_.emit(s_and_b32, {d.slice(1)}, {d.slice(1), imm(0xFFFF)});
  b_.emit(s_cmp_lt_u32, {}, {entry_.workgroup, imm(p_.m * superblocks(p_.k))});
  b_.note("num_records").emit(s_cselect_b32, {d.slice(2)}, {length, imm(0)});
  b_.emit(s_mov_b32, {d.slice(3)}, {imm(b_.kernel().target->buffer_word3)});
  return d;
}

/// The lane's elements as f32.
std::vector<Operand> Quantiser::load() {
  const unsigned size = bytes(p_.input), dwords = std::min(per_lane_ * size / 4, 4U),
                 loads = per_lane_ * size / (4 * dwords);
  const Operand d = descriptor("activations_desc", entry_.pointers[0], superblock * size,
                               (superblocks(p_.k) * superblock - p_.k) * size),
                at = b_.vgpr("input_at");
  b_.emit(v_mul_u32_u24, {at}, {imm(std::int64_t{per_lane_} * size), entry_.lane});
  std::vector<Operand> loaded, x;
  for (unsigned i = 0; i < loads; ++i) {
    loaded.push_back(b_.vgpr("loaded", dwords));
    ir::Instruction& inst =
        b_.emit(dwords == 4 ? buffer_load_b128 : buffer_load_b64, {loaded.back()}, {at, d, no_offset(b_)});
    inst.mi.mods.offen = true;
    inst.mi.mods.offset = static_cast<std::int32_t>(16 * i);
    inst.mem = {ir::MemoryTag::Space::global, 0, false};
  }
  for (unsigned e = 0; e < per_lane_; ++e) {
    const Operand word = loaded[e * size / 16].slice(e * size % 16 / 4);
    if (p_.input == DataType::f32) {
      x.push_back(word);
      continue;
    }
    x.push_back(b_.vgpr("x"));
    const bool upper = e % 2 == 1, bf16 = p_.input == DataType::bf16;
    if (bf16 && upper) {
      b_.emit(v_and_b32, {x.back()}, {imm(0xFFFF0000LL), word});
    } else if (bf16) {
      b_.emit(v_lshlrev_b32, {x.back()}, {imm(16), word});
    } else {
      b_.emit(v_cvt_f32_f16, {x.back()}, {upper ? binary(v_lshrrev_b32, "upper", imm(16), word) : word});
    }
  }
  return x;
}

Operand Quantiser::binary(isa::Opcode op, const char* name, const Operand& a, const Operand& b) {
  const Operand result = b_.vgpr(name);
  b_.emit(op, {result}, {a, b});
  return result;
}

Operand Quantiser::fma(const char* name, const Operand& a, const Operand& b, const Operand& c) {
  const Operand result = b_.vgpr(name);
  b_.emit(v_fma_f32, {result}, {a, b, c});
  return result;
}

/// Every lane of a block ends with the same value: both sides of a step combine the same two.
void Quantiser::over_block(isa::Opcode op, const Operand& value) {
  for (unsigned distance = 1; distance < sharing_; distance *= 2)
    butterfly(b_, b_.emit(op, {value}, {value, value}), distance);
}

Operand Quantiser::largest(const std::vector<Operand>& x) {
  const auto magnitude = [](Operand o) {
    o.abs = true;
    return o;
  };
  Operand most = binary(v_max_f32, "largest", magnitude(x[0]), magnitude(x[1]));
  for (unsigned e = 2; e < per_lane_; e += 2) {
    const Operand next = b_.vgpr("largest");
    b_.emit(v_max3_f32, {next}, {most, magnitude(x[e]), magnitude(x[e + 1])});
    most = next;
  }
  over_block(v_max_f32, most);
  return most;
}

/// Times the factor of kquant.hpp.
Operand Quantiser::sum(const std::vector<Operand>& x) {
  Operand total = binary(v_mul_f32, "sum", factor_, x[0]);
  for (unsigned e = 1; e < per_lane_; ++e) total = fma("sum", factor_, x[e], total);
  over_block(v_add_f32, total);
  return total;
}

/// largest / 127, correctly rounded: a product with the rounded 1 / 127 and one correction by the exact
/// remainder (Markstein 1990).
Operand Quantiser::scale(const Operand& largest) {
  const Operand one_127th = vop3_constant(b_, 0x3C010204), minus_127 = vop3_constant(b_, 0xC2FE0000);
  const Operand first = binary(v_mul_f32, "scale", one_127th, largest);
  const Operand remainder = fma("remainder", first, minus_127, largest);
  return fma("scale", remainder, one_127th, first);
}

Operand Quantiser::inverse(const Operand& scale) {
  constexpr std::uint32_t one = 0x3F800000;
  const Operand first = b_.vgpr("inverse");
  b_.emit(v_rcp_f32, {first}, {scale});
  const Operand error = fma("error", -scale, first, isa::fimm(one));
  return fma("inverse", error, first, first);
}

/// Four quants a dword.
Operand Quantiser::quantised(const std::vector<Operand>& x, const Operand& inverse) {
  constexpr std::uint32_t half = 0x3F000000;
  const Operand sign = vop3_constant(b_, 0x7FFFFFFF), lower = vop3_constant(b_, 0x0C0C0400),
                upper = vop3_constant(b_, 0x04000C0C);
  std::vector<Operand> q;
  for (const Operand& value : x) {
    const Operand t = binary(v_mul_f32, "t", value, inverse), away = b_.vgpr("half"), integer = b_.vgpr("q");
    b_.note("1/2 with the sign of x").emit(v_bfi_b32, {away}, {sign, isa::fimm(half), t});
    b_.emit(v_add_f32, {t}, {t, away});
    b_.note("toward zero").emit(v_cvt_i32_f32, {integer}, {t});
    q.push_back(integer);
  }
  const Operand packed = b_.vgpr("packed", per_lane_ / 4);
  for (unsigned d = 0; d < per_lane_ / 4; ++d) {
    const std::span<const Operand> four = std::span(q).subspan(std::size_t{4} * d, 4);
    const Operand low = b_.vgpr("low"), high = b_.vgpr("high");
    b_.emit(v_perm_b32, {low}, {four[1], four[0], lower});
    b_.emit(v_perm_b32, {high}, {four[3], four[2], upper});
    b_.emit(v_or_b32, {packed.slice(d)}, {low, high});
  }
  return packed;
}

void Quantiser::store(const Operand& q, const Operand& d_and_s) {
  const Operand d = descriptor("workspace_desc", entry_.pointers[1], activation_block_bytes);
  const auto put = [&](const Operand& data, const Operand& at) {
    ir::Instruction& inst =
        b_.emit(data.width == 2 ? buffer_store_b64 : buffer_store_b32, {}, {data, at, d, no_offset(b_)});
    inst.mi.mods.offen = true;
    inst.mem = {ir::MemoryTag::Space::global, 1, false};
  };
  put(q, binary(v_lshlrev_b32, "quants_at", imm(std::countr_zero(per_lane_)), entry_.lane));
  // One lane of a block stores its d and s, 8 bytes; the others' addresses are out of bounds.
  const Operand at = b_.vgpr("scale_at"), place = binary(v_and_b32, "place", imm(sharing_ - 1), entry_.lane);
  const Operand first = b_.sgpr("first_of_block", mask_width(b_));
  b_.emit(v_lshlrev_b32, {at}, {imm(std::countr_zero(8 / sharing_)), entry_.lane});
  b_.emit(v_add_nc_u32, {at}, {imm(superblock), at});
  b_.emit(v_cmp_eq_u32, {first}, {imm(0), place});
  const Operand outside = b_.vgpr("outside");
  b_.emit(v_bfrev_b32, {outside}, {imm(1)});
  const Operand chosen = b_.vgpr("scale_at");
  b_.emit(v_cndmask_b32, {chosen}, {outside, at, first});
  put(d_and_s, chosen);
}

void Quantiser::run() {
  entry_ = emit_entry(b_, 2);
  b_.block("quantise", "256 elements");
  const std::vector<Operand> x = load();
  factor_ = vop3_constant(b_, 0x37800000);
  const Operand most = largest(x), total = sum(x), d = scale(most);
  const Operand d_and_s = b_.vgpr("d_and_s", 2), enough = b_.sgpr("enough", mask_width(b_));
  const Operand two_to_minus_100 = vop3_constant(b_, 0x0D800000);
  b_.note("largest >= 2^-100").emit(v_cmp_le_f32, {enough}, {two_to_minus_100, most});
  const Operand used = b_.vgpr("inverse"), kept = b_.vgpr("scale");
  b_.emit(v_cndmask_b32, {used}, {imm(0), inverse(d), enough});
  b_.emit(v_cndmask_b32, {kept}, {imm(0), d, enough});
  b_.emit(v_mul_f32, {kept}, {factor_, kept});
  b_.note("NaN for a sum that is not finite").emit(v_fma_f32, {d_and_s.slice(0)}, {total, imm(0), kept});
  b_.emit(v_mov_b32, {d_and_s.slice(1)}, {total});
  store(quantised(x, used), d_and_s);
  b_.block("end", "");
  b_.emit(s_endpgm, {}, {});
}

ir::Kernel build(const QuantiseProblem& p, const target::Target& target) {
  ir::Kernel k;
  k.target = &target;
  k.name = fmt::format("kquant_quantise_{}_k{}_m{}", name(p.input), p.k, p.m);
  k.args = {{"activations", ir::ArgKind::buffer, 0, 8, ir::Access::read},
            {"workspace", ir::ArgKind::buffer, 8, 8, ir::Access::write}};
  k.kernarg_size = 16;
  k.workgroup_size = target.wave_size;
  k.wgp_mode = false;
  k.vgpr_budget = target::vgpr_budget(target, target.max_waves_per_simd);
  Quantiser(k, p).run();
  return k;
}

}  // namespace

Result<QuantiseProblem> normalise(const QuantiseProblem& p, const target::Target& /*target*/) {
  const auto bad = [](std::string field, std::string given, std::string allowed) {
    return fail_field(ErrorCode::invalid_problem, std::move(field), std::move(given), std::move(allowed));
  };
  if (p.input != DataType::bf16 && p.input != DataType::f16 && p.input != DataType::f32)
    return bad("act", std::string(name(p.input)), "bf16, f16 or f32");
  constexpr std::int64_t most = 1 << 27;
  if (p.k < 32 || p.k % 32 != 0 || superblocks(p.k) >= most)
    return bad("k", std::to_string(p.k), "a multiple of 32, at least 32 and below 2^35");
  if (p.m < 1 || p.m >= (most + superblocks(p.k) - 1) / superblocks(p.k))
    return bad("m", std::to_string(p.m), "at least 1, and m * ceil(k / 256) below 2^27");
  return p;
}

Launch launch(const QuantiseProblem& p, const target::Target& target) {
  const std::int64_t row = superblocks(p.k) * activation_block_bytes, size = bytes(p.input);
  Launch l;
  l.grid[0] = static_cast<std::uint32_t>(p.m * superblocks(p.k));
  l.block[0] = target.wave_size;
  l.kernarg_size = 16;
  l.arguments = {{.name = "activations",
                  .dtype = p.input,
                  .shape = {p.m, p.k},
                  .strides = {p.k * size, size},
                  .bytes = p.m * p.k * size,
                  .alignment = 16},
                 {.name = "workspace",
                  .offset = 8,
                  .access = ir::Access::write,
                  .dtype = DataType::u8,
                  .shape = {p.m, row},
                  .strides = {row, 1},
                  .bytes = p.m * row,
                  .alignment = 16}};
  return l;
}

Result<ir::Kernel> compile(const QuantiseProblem& problem, const target::Target& target,
                           const passes::Observer& observer) {
  ir::Kernel kernel = build(problem, target);
  if (auto ok = passes::run(kernel, {}, observer); !ok) return std::unexpected(ok.error());
  return kernel;
}

}  // namespace wavejit::templates::kquant
