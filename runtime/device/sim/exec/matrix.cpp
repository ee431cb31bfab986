// SPDX-License-Identifier: MIT
// Matrix instructions of gfx11: D(16x16) = A(16xK) B(Kx16) + C. Layouts (hardware.md §2.1), wave32:
// A: lane l and l+16 hold row l%16, VGPR g half h is k = 2g + h; B the same with columns; C and D:
// VGPR v, lane l is row 2v + l/16, column l%16. In wave64, A and B are held four times and C/D has
// row 4v + l/16. So D's registers are the 16x16 matrix in row-major order in both.
#include "runtime/device/sim/exec/valu.hpp"

namespace wavejit::sim::WAVEJIT_SIM_VARIANT {
namespace {

constexpr unsigned n = 16;

/// [k][row or column]
struct Fragment {
  alignas(64) u32 x[n][n];
};
/// Row-major C and D.
struct Tile {
  alignas(64) u32 x[n][n];
};

/// Bits in which lanes 16 and up differ from lanes 0..15, into those of `bits`.
WJ_SIM_INLINE void differs(const Wave& w, const u32* row, u32 (&bits)[n]) {
  for (unsigned copy = n; copy < w.lanes; copy += n) {
    const u32* other = row + copy;
#pragma GCC ivdep
    for (unsigned l = 0; l < n; ++l) bits[l] |= row[l] ^ other[l];
  }
}

WJ_SIM_INLINE bool any_of(const u32 (&bits)[n]) {
  u32 any = 0;
  for (unsigned l = 0; l < n; ++l) any |= bits[l];
  return any != 0;
}

/// Lanes 16 and up must copy lanes 0..15 in A and B, and all lanes must be on.
WJ_SIM_INLINE void check_layout(Wave& w, const Inst& inst, unsigned dwords) {
  if (w.exec() != w.all_lanes()) report_partial_exec(w, inst);
  if (!w.worker->on(FaultKind::wmma_replication)) return;
  alignas(64) u32 bits[n] = {};
  for (unsigned operand = 0; operand < 2; ++operand)
    for (unsigned g = 0; g < dwords; ++g) differs(w, w.row(inst.src[operand].reg + g), bits);
  if (!any_of(bits)) [[likely]]
    return;
  for (unsigned operand = 0; operand < 2; ++operand) {
    for (unsigned g = 0; g < dwords; ++g) {
      u32 here[n] = {};
      differs(w, w.row(inst.src[operand].reg + g), here);
      if (any_of(here)) return report_replication(w, inst, operand, g);
    }
  }
}

void load_c(Wave& w, const Inst& inst, Tile& c) {
  const Source& s = inst.src[2];
  u32* flat = &c.x[0][0];
  if (s.kind == Source::Kind::vgpr) {
    std::memcpy(flat, w.row(s.reg), sizeof c.x);
    return;
  }
  const u32 value = w.scalar(s);
  for (unsigned i = 0; i < n * n; ++i) flat[i] = value;
}

void store_d(Wave& w, const Inst& inst, const Tile& d) {
  std::memcpy(w.row(inst.dst), &d.x[0][0], sizeof d.x);
}

enum class Format : std::uint8_t { f16, bf16 };

template <Format T>
void load_pairs(Wave& w, const Inst& inst, unsigned operand, Fragment& f) {
  const u32 negate_low = (inst.mods.neg_lo >> operand & 1) != 0 ? 0x8000 : 0;
  const u32 negate_high = (inst.mods.neg_hi >> operand & 1) != 0 ? 0x8000 : 0;
  for (unsigned g = 0; g < 8; ++g) {
    const u32* row = w.row(inst.src[operand].reg + g);
#pragma GCC ivdep
    for (unsigned l = 0; l < n; ++l) {
      const u32 low = (row[l] & 0xFFFF) ^ negate_low;
      const u32 high = row[l] >> 16 ^ negate_high;
      f.x[2 * g][l] = T == Format::f16 ? f16_to_f32(low) : low << 16;
      f.x[2 * g + 1][l] = T == Format::f16 ? f16_to_f32(high) : high << 16;
    }
  }
}

#if defined(__AVX2__) && defined(__FMA__)
/// d = a b + c, four rows at a time so that the sums stay in registers. `c` and `d` are row-major and may be
/// the same.
void multiply(const Fragment& a, const Fragment& b, const u32* c, u32* d) {
  constexpr unsigned block = 4;
  for (unsigned i = 0; i < n; i += block) {
    __m256 sum[block][2];
    for (unsigned r = 0; r < block; ++r) {
      for (unsigned h = 0; h < 2; ++h) {
        sum[r][h] = _mm256_loadu_ps(reinterpret_cast<const float*>(c + n * (i + r) + 8 * h));
      }
    }
    for (unsigned k = 0; k < n; ++k) {
      const __m256 low = _mm256_load_ps(reinterpret_cast<const float*>(&b.x[k][0]));
      const __m256 high = _mm256_load_ps(reinterpret_cast<const float*>(&b.x[k][8]));
      for (unsigned r = 0; r < block; ++r) {
        const __m256 factor = _mm256_broadcast_ss(reinterpret_cast<const float*>(&a.x[k][i + r]));
        sum[r][0] = _mm256_fmadd_ps(factor, low, sum[r][0]);
        sum[r][1] = _mm256_fmadd_ps(factor, high, sum[r][1]);
      }
    }
    for (unsigned r = 0; r < block; ++r) {
      for (unsigned h = 0; h < 2; ++h)
        _mm256_storeu_ps(reinterpret_cast<float*>(d + n * (i + r) + 8 * h), sum[r][h]);
    }
  }
}
#else
/// Without FMA hardware: the product is exact in f64, and so is the sum as far as rounding it to f32 can tell
/// (the factors have 16 bits).
void multiply(const Fragment& a, const Fragment& b, const u32* c, u32* d) {
  for (unsigned i = 0; i < n; ++i) {
    float sum[n];
    std::memcpy(sum, c + std::size_t{n} * i, sizeof sum);
    for (unsigned k = 0; k < n; ++k) {
      const double factor = as_f32(a.x[k][i]);
      for (unsigned j = 0; j < n; ++j) sum[j] = static_cast<float>(factor * as_f32(b.x[k][j]) + sum[j]);
    }
    std::memcpy(d + std::size_t{n} * i, sum, sizeof sum);
  }
}
#endif

template <Format T>
void wmma_f32(Wave& w, const Inst& inst) {
  check_layout(w, inst, 8);
  Fragment a, b;
  Tile c;
  load_pairs<T>(w, inst, 0, a);
  load_pairs<T>(w, inst, 1, b);
  const Source& third = inst.src[2];
  if (third.kind == Source::Kind::vgpr && third.reg == inst.dst &&
      ((inst.mods.neg_hi | inst.mods.neg_lo) & 4) == 0)
    return multiply(a, b, w.row(third.reg), w.row(inst.dst));
  load_c(w, inst, c);
  // neg_lo and neg_hi of C: negate, absolute value.
  const bool absolute = (inst.mods.neg_hi >> 2 & 1) != 0;
  const bool negate = (inst.mods.neg_lo >> 2 & 1) != 0;
  if (absolute || negate) {
    for (auto& row : c.x)
      for (u32& x : row) x = (absolute ? x & 0x7FFFFFFF : x) ^ (negate ? 0x80000000 : 0);
  }
  multiply(a, b, &c.x[0][0], w.row(inst.dst));
}

/// 16-bit C and D: one value per register, in the half that op_sel[2] names; the other half is kept. The sum
/// runs in f32 and is rounded once, to nearest even.
template <Format T>
void wmma_16(Wave& w, const Inst& inst) {
  check_layout(w, inst, 8);
  Fragment a, b;
  Tile c;
  load_pairs<T>(w, inst, 0, a);
  load_pairs<T>(w, inst, 1, b);
  load_c(w, inst, c);
  const bool high = (inst.mods.op_sel >> 2 & 1) != 0;
  const bool constant = inst.src[2].kind != Source::Kind::vgpr;
  for (auto& row : c.x) {
    for (u32& x : row) {
      const u32 half = high && !constant ? x >> 16 : x & 0xFFFF;
      x = T == Format::f16 ? f16_to_f32(half) : half << 16;
    }
  }
  multiply(a, b, &c.x[0][0], &c.x[0][0]);
  u32* d = w.row(inst.dst);
  const u32* sums = &c.x[0][0];
  for (unsigned i = 0; i < n * n; ++i) {
    const u32 half = T == Format::f16 ? f32_to_f16_nearest(sums[i]) : f32_to_bf16_nearest(sums[i]);
    d[i] = high ? (d[i] & 0xFFFF) | half << 16 : (d[i] & 0xFFFF0000) | half;
  }
}

/// A and B of `Bits`-wide integers, 32/Bits of k per dword; neg_lo says signed.
template <unsigned Bits>
void wmma_i32(Wave& w, const Inst& inst) {
  constexpr unsigned per_dword = 32 / Bits;
  constexpr unsigned dwords = n / per_dword;
  check_layout(w, inst, dwords);
  Fragment f[2];
  for (unsigned operand = 0; operand < 2; ++operand) {
    const bool is_signed = (inst.mods.neg_lo >> operand & 1) != 0;
    for (unsigned k = 0; k < n; ++k) {
      const u32* row = w.row(inst.src[operand].reg + k / per_dword);
      const unsigned up = 32 - Bits * (k % per_dword + 1);
      for (unsigned l = 0; l < n; ++l) {
        const u32 top = row[l] << up;
        f[operand].x[k][l] =
            is_signed ? static_cast<u32>(static_cast<i32>(top) >> (32 - Bits)) : top >> (32 - Bits);
      }
    }
  }
  Tile c;
  load_c(w, inst, c);
  for (unsigned i = 0; i < n; ++i) {
    for (unsigned j = 0; j < n; ++j) {
      i64 sum = static_cast<i32>(c.x[i][j]);
      for (unsigned k = 0; k < n; ++k)
        sum += i64{static_cast<i32>(f[0].x[k][i])} * static_cast<i32>(f[1].x[k][j]);
      if (inst.mods.clamp)
        sum = sum > 0x7FFFFFFF ? 0x7FFFFFFF : sum < -i64{0x80000000} ? -i64{0x80000000} : sum;
      c.x[i][j] = static_cast<u32>(sum);
    }
  }
  store_d(w, inst, c);
}

}  // namespace

void add_matrix(Handlers& h) {
  h.set(Opcode::v_wmma_f32_16x16x16_f16, wmma_f32<Format::f16>);
  h.set(Opcode::v_wmma_f32_16x16x16_bf16, wmma_f32<Format::bf16>);
  h.set(Opcode::v_wmma_f16_16x16x16_f16, wmma_16<Format::f16>);
  h.set(Opcode::v_wmma_bf16_16x16x16_bf16, wmma_16<Format::bf16>);
  h.set(Opcode::v_wmma_i32_16x16x16_iu8, wmma_i32<8>);
  h.set(Opcode::v_wmma_i32_16x16x16_iu4, wmma_i32<4>);
}

}  // namespace wavejit::sim::WAVEJIT_SIM_VARIANT
