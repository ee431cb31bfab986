// SPDX-License-Identifier: MIT
// Every WMMA form against a plain triple loop over small whole numbers, which all formats hold exactly. Where
// an element lies is written out from the ISA manuals' layout tables (RDNA3 7.9, RDNA4 7.12), and registers
// around D must stay.
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <random>

#include "tests/runtime/sim/alu_rules.hpp"
#include "tests/runtime/sim/asm_kernel.hpp"

namespace wavejit::test {
namespace {

using u32 = std::uint32_t;

u32 bf16(double x) { return std::bit_cast<u32>(static_cast<float>(x)) >> 16; }
u32 f32(double x) { return std::bit_cast<u32>(static_cast<float>(x)); }
u32 whole(double x) { return static_cast<u32>(static_cast<std::int64_t>(x)); }

struct Form {
  const char* name;
  const char* modifiers;
  unsigned k, bits;      ///< of A and B
  u32 (*input)(double);  ///< an element
  u32 (*output)(double);
  bool packed = false;  ///< C and D of 16 bits
  int least = -4, most = 4;
};

struct Place {
  unsigned lane, dword, bit;
};

/// gfx12: of each group of eight k the lower four in lane `row`, the upper four in lane row + 16. gfx11: all
/// k in order in both lanes.
std::vector<Place> places(const Form& f, bool gfx12, unsigned row, unsigned k) {
  const unsigned per_dword = 32 / f.bits;
  if (!gfx12)
    return {{row, k / per_dword, k % per_dword * f.bits}, {row + 16, k / per_dword, k % per_dword * f.bits}};
  const unsigned element = k / 8 * 4 + k % 4;
  return {{row + 16 * (k / 4 % 2), element / per_dword, element % per_dword * f.bits}};
}
/// gfx12: row 8 * half + register; two rows in a register where packed. gfx11: row 2 * register + half;
/// 16-bit results in the low half.
Place result_place(const Form& f, bool gfx12, unsigned row, unsigned column) {
  if (!gfx12) return {column + 16 * (row % 2), row / 2, 0};
  if (f.packed) return {column + 16 * (row / 8), row % 8 / 2, row % 2 * 16};
  return {column + 16 * (row / 8), row % 8, 0};
}

void check(const Form& form, bool gfx12) {
  CAPTURE(form.name, form.modifiers, gfx12);
  const unsigned ab = gfx12 ? form.k * form.bits / 64 : form.k * form.bits / 32;
  const unsigned cd = gfx12 && form.packed ? 4 : 8;
  const auto tuple = [](unsigned first, unsigned n) {
    return n == 1 ? "v" + std::to_string(first)
                  : "v[" + std::to_string(first) + ":" + std::to_string(first + n - 1) + "]";
  };
  const std::string body = std::string(form.name) + " " + tuple(40, cd) + ", " + tuple(8, ab) + ", " +
                           tuple(16, ab) + ", " + tuple(24, cd) + " " + form.modifiers;
  auto bench = make_bench({.body = body, .target = gfx12 ? "gfx1201" : "gfx1151"});
  sim::Probe& p = *bench->probe;
  std::mt19937 random(7);
  const auto value = [&](int least, int most) {
    return static_cast<double>(least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1)));
  };
  std::map<std::pair<unsigned, unsigned>, u32> registers;  // register, lane
  const auto put = [&](unsigned reg, const Place& at, u32 bits, unsigned width) {
    const u32 mask = width == 32 ? ~u32{0} : (u32{1} << width) - 1;
    registers[{reg + at.dword, at.lane}] |= (bits & mask) << at.bit;
  };
  std::array<std::array<double, 32>, 16> a{}, b{};
  std::array<std::array<double, 16>, 16> c{};
  const unsigned wide = form.packed ? 16 : 32;
  for (unsigned row = 0; row < 16; ++row) {
    for (unsigned k = 0; k < form.k; ++k) {
      a[row][k] = value(form.least, form.most);
      b[row][k] = value(form.least, form.most);
      for (const Place& at : places(form, gfx12, row, k)) {
        put(8, at, form.input(a[row][k]), form.bits);
        put(16, at, form.input(b[row][k]), form.bits);
      }
    }
    for (unsigned column = 0; column < 16; ++column) {
      c[row][column] = value(-20, 20);
      put(24, result_place(form, gfx12, row, column), form.output(c[row][column]), wide);
    }
  }
  constexpr u32 untouched = 0x5A5AA5A5;
  for (unsigned reg = 8; reg < 56; ++reg)
    for (unsigned lane = 0; lane < 32; ++lane) {
      const auto found = registers.find({reg, lane});
      p.set_vgpr(reg, lane, found != registers.end() ? found->second : reg >= 32 ? untouched : 0);
    }
  p.run();
  INFO(text(p.faults()));
  CHECK(p.faults().empty());
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned column = 0; column < 16; ++column) {
      double sum = c[row][column];
      for (unsigned k = 0; k < form.k; ++k) sum += a[row][k] * b[column][k];
      const Place at = result_place(form, gfx12, row, column);
      const u32 mask = form.packed ? 0xFFFF : ~u32{0};
      CAPTURE(row, column, sum);
      CHECK((p.vgpr(40 + at.dword, at.lane) >> at.bit & mask) == form.output(sum));
      if (form.packed && !gfx12) CHECK(p.vgpr(40 + at.dword, at.lane) >> 16 == untouched >> 16);
    }
  for (const unsigned reg : {39U, 40 + cd})
    for (unsigned lane = 0; lane < 32; ++lane) CHECK(p.vgpr(reg, lane) == untouched);
}

}  // namespace

TEST_CASE("WMMA of every type is a matrix product", "[sim][matrix][rules]") {
  const std::vector<Form> both{
      {"v_wmma_f32_16x16x16_f16", "", 16, 16, rules::to_half, f32},
      {"v_wmma_f32_16x16x16_bf16", "", 16, 16, bf16, f32},
      {"v_wmma_f16_16x16x16_f16", "", 16, 16, rules::to_half, rules::to_half, true, -3, 3},
      {"v_wmma_bf16_16x16x16_bf16", "", 16, 16, bf16, bf16, true, -1, 2},
      {"v_wmma_i32_16x16x16_iu8", "neg_lo:[1,1,0]", 16, 8, whole, whole, false, -128, 127},
      {"v_wmma_i32_16x16x16_iu8", "", 16, 8, whole, whole, false, 0, 255},
      {"v_wmma_i32_16x16x16_iu4", "neg_lo:[1,1,0]", 16, 4, whole, whole, false, -8, 7},
      {"v_wmma_i32_16x16x16_iu4", "", 16, 4, whole, whole, false, 0, 15},
  };
  for (const Form& form : both)
    for (const bool gfx12 : {false, true}) check(form, gfx12);
  check({"v_wmma_i32_16x16x32_iu4", "neg_lo:[1,1,0]", 32, 4, whole, whole, false, -8, 7}, true);
  check({"v_wmma_i32_16x16x32_iu4", "", 32, 4, whole, whole, false, 0, 15}, true);
}

}  // namespace wavejit::test
