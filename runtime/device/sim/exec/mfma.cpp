// SPDX-License-Identifier: MIT
// Matrix instructions of CDNA, wave64: D(MxN) = A(MxK) B(KxN) + C, M = N = 16 or 32. Layouts
// (hardware.md §2.4): with e elements of k per lane, A's row i and elements k..k+e-1 lie in lane
// M*(k/e) + i, packed from the low bits of its first register up; B the same with columns. C and D:
// 16x16: row i, column j in lane 16*(i/4) + j, register i%4; 32x32: lane 32*((i/4)%2) + j, register
// 4*(i/8) + i%4.
#include "runtime/device/sim/exec/valu.hpp"

namespace wavejit::sim::WAVEJIT_SIM_VARIANT {
namespace {

enum class Format : std::uint8_t { f16, bf16, i8 };
constexpr unsigned bits_of_element(Format f) { return f == Format::i8 ? 8 : 16; }

/// [k][row or column] as f32 or i32 bits.
template <unsigned Size, unsigned K>
struct Fragment {
  alignas(64) u32 x[K][Size];
};
/// Row-major.
template <unsigned Size>
struct Tile {
  alignas(64) u32 x[Size][Size];
};

struct Place {
  unsigned lane, reg;
};
template <unsigned Size>
constexpr Place place(unsigned i, unsigned j) {
  if (Size == 16) return {16 * (i / 4) + j, i % 4};
  return {32 * (i / 4 % 2) + j, 4 * (i / 8) + i % 4};
}

template <Format T>
WJ_SIM_INLINE u32 element(u32 dword, unsigned n) {
  if (T == Format::i8) return static_cast<u32>(static_cast<i32>(dword << (24 - 8 * n)) >> 24);
  const u32 half = n == 0 ? dword & 0xFFFF : dword >> 16;
  return T == Format::f16 ? f16_to_f32(half) : half << 16;
}

template <Format T, unsigned Size, unsigned K>
void load(Wave& w, const Source& s, Fragment<Size, K>& f) {
  constexpr unsigned groups = detail::max_lanes / Size;
  constexpr unsigned per_lane = K / groups;
  constexpr unsigned per_dword = 32 / bits_of_element(T);
  for (unsigned e = 0; e < per_lane; ++e) {
    const u32* row = w.row(s.reg + e / per_dword);
    for (unsigned g = 0; g < groups; ++g) {
      u32* out = f.x[g * per_lane + e];
      for (unsigned i = 0; i < Size; ++i) out[i] = element<T>(row[Size * g + i], e % per_dword);
    }
  }
}

template <unsigned Size>
void load_c(Wave& w, const Inst& inst, Tile<Size>& c) {
  const Source& s = inst.src[2];
  const bool vector = s.kind == Source::Kind::vgpr;
  const u32 value = vector ? 0 : w.scalar(s);
  for (unsigned i = 0; i < Size; ++i) {
    for (unsigned j = 0; j < Size; ++j) {
      const Place p = place<Size>(i, j);
      c.x[i][j] = vector ? w.row(s.reg + p.reg)[p.lane] : value;
    }
  }
}

template <unsigned Size>
void store_d(Wave& w, const Inst& inst, const Tile<Size>& d) {
  for (unsigned i = 0; i < Size; ++i) {
    for (unsigned j = 0; j < Size; ++j) {
      const Place p = place<Size>(i, j);
      w.row(inst.dst + p.reg)[p.lane] = d.x[i][j];
    }
  }
}

/// c += a b, k by k, each step fused.
template <unsigned Size, unsigned K>
void multiply(const Fragment<Size, K>& a, const Fragment<Size, K>& b, Tile<Size>& c) {
  for (unsigned i = 0; i < Size; ++i) {
    alignas(64) u32 sum[Size];
    std::memcpy(sum, c.x[i], sizeof sum);
    for (unsigned k = 0; k < K; ++k) {
      const float factor = as_f32(a.x[k][i]);
      for (unsigned j = 0; j < Size; ++j) sum[j] = bits_of(fused(factor, as_f32(b.x[k][j]), as_f32(sum[j])));
    }
    std::memcpy(c.x[i], sum, sizeof sum);
  }
}

template <unsigned Size, unsigned K>
void multiply_int(const Fragment<Size, K>& a, const Fragment<Size, K>& b, Tile<Size>& c) {
  for (unsigned i = 0; i < Size; ++i)
    for (unsigned k = 0; k < K; ++k)
      for (unsigned j = 0; j < Size; ++j) c.x[i][j] += a.x[k][i] * b.x[k][j];
}

template <Format T, unsigned Size, unsigned K>
void mfma(Wave& w, const Inst& inst) {
  if (w.exec() != w.all_lanes()) report_partial_exec(w, inst);
  Fragment<Size, K> a, b;
  Tile<Size> c;
  load<T>(w, inst.src[0], a);
  load<T>(w, inst.src[1], b);
  load_c(w, inst, c);
  if constexpr (T == Format::i8) {
    multiply_int(a, b, c);
  } else {
    multiply(a, b, c);
  }
  store_d(w, inst, c);
}

}  // namespace

void add_mfma(Handlers& h) {
  h.set(Opcode::v_mfma_f32_32x32x8_f16, mfma<Format::f16, 32, 8>);
  h.set(Opcode::v_mfma_f32_16x16x16_f16, mfma<Format::f16, 16, 16>);
  h.set(Opcode::v_mfma_f32_32x32x8_bf16, mfma<Format::bf16, 32, 8>);
  h.set(Opcode::v_mfma_f32_16x16x16_bf16, mfma<Format::bf16, 16, 16>);
  h.set(Opcode::v_mfma_i32_32x32x16_i8, mfma<Format::i8, 32, 16>);
  h.set(Opcode::v_mfma_i32_16x16x32_i8, mfma<Format::i8, 16, 32>);
  h.set(Opcode::v_mfma_f32_32x32x16_f16, mfma<Format::f16, 32, 16>);
  h.set(Opcode::v_mfma_f32_16x16x32_f16, mfma<Format::f16, 16, 32>);
  h.set(Opcode::v_mfma_f32_32x32x16_bf16, mfma<Format::bf16, 32, 16>);
  h.set(Opcode::v_mfma_f32_16x16x32_bf16, mfma<Format::bf16, 16, 32>);
  h.set(Opcode::v_mfma_i32_32x32x32_i8, mfma<Format::i8, 32, 32>);
  h.set(Opcode::v_mfma_i32_16x16x64_i8, mfma<Format::i8, 16, 64>);
}

}  // namespace wavejit::sim::WAVEJIT_SIM_VARIANT
