// SPDX-License-Identifier: MIT
// Dot products and matrix instructions. Layouts: domain.md §4.1 and hardware.md §2.1, written out here
// once more, element by element.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "tests/runtime/sim/asm_kernel.hpp"

namespace wavejit::test {
namespace {

using sim::FaultKind;

std::uint32_t run_dot(const char* code, std::uint32_t a, std::uint32_t b, std::uint32_t c,
                      const sim::Options& options = {}) {
  auto bench = make_bench({.body = code}, options);
  for (unsigned l = 0; l < 32; ++l) {
    bench->probe->set_vgpr(1, l, a);
    bench->probe->set_vgpr(2, l, b);
    bench->probe->set_vgpr(3, l, c);
    bench->probe->set_vgpr(4, l, 0xABCD1234);
  }
  bench->probe->run();
  INFO(code << "\n" << text(bench->probe->faults()));
  CHECK(bench->probe->faults().empty());
  return bench->probe->vgpr(4, 7);
}

sim::Options rounding(target::Dot2Bf16Rounding r) {
  sim::Options o;
  o.dot2_bf16 = r;
  return o;
}

// cases.md 1: one weight q = +7 (nibble 15), scale 1.0078125: (128 + 15) s - 136 s = 7.0546875.
TEST_CASE("v_dot2_bf16_bf16 truncates, or rounds to nearest where asked", "[sim][dot][cases]") {
  const char* code = "v_dot2_bf16_bf16 v4, v1, v2, v3";
  const std::uint32_t magic = 0xC308430F;  // high -136, low 128 + 15
  const std::uint32_t scale = 0x3F813F81;
  CHECK((run_dot(code, magic, scale, 0) & 0xFFFF) == 0x40E1);
  CHECK((run_dot(code, magic, scale, 0, rounding(target::Dot2Bf16Rounding::nearest_even)) & 0xFFFF) ==
        0x40E2);
  CHECK((run_dot(code, magic, scale, 0, rounding(target::Dot2Bf16Rounding::toward_zero)) & 0xFFFF) == 0x40E1);
  // Negative results truncate toward zero as well: q = -7 (nibble 1).
  CHECK((run_dot(code, 0xC3084301, scale, 0) & 0xFFFF) == 0xC0E1);
}

TEST_CASE("v_dot2_bf16_bf16 writes the half that op_sel names and keeps the other", "[sim][dot]") {
  CHECK(run_dot("v_dot2_bf16_bf16 v4, v1, v2, v3", 0x3F803F80, 0x40004000, 0) == 0xABCD4080);
  CHECK(run_dot("v_dot2_bf16_bf16 v4, v1, v2, v3 op_sel:[0,0,0,1]", 0x3F803F80, 0x40004000, 0) == 0x40801234);
  // The third source is one half too.
  CHECK(run_dot("v_dot2_bf16_bf16 v4, v1, v2, v3", 0x3F803F80, 0x40004000, 0x40403F80) == 0xABCD40A0);
  CHECK(run_dot("v_dot2_bf16_bf16 v4, v1, v2, v3 op_sel:[0,0,1,0]", 0x3F803F80, 0x40004000, 0x40403F80) ==
        0xABCD40E0);
}

TEST_CASE("v_dot2_bf16_bf16 keeps NaN and infinity, and f32 inside", "[sim][dot]") {
  const char* code = "v_dot2_bf16_bf16 v4, v1, v2, v3";
  CHECK((run_dot(code, 0x00007FC0, 0x3F803F80, 0) & 0x7FFF) > 0x7F80);
  CHECK((run_dot(code, 0x00007F80, 0x3F803F80, 0) & 0xFFFF) == 0x7F80);
  CHECK((run_dot(code, 0x7F80FF80, 0x3F803F80, 0) & 0x7FFF) > 0x7F80);  // inf - inf
  // bf16 intermediates would lose the small term of 256 - 256 + 1/256.
  CHECK((run_dot(code, 0xC3804380, 0x3F803F80, 0x3B80) & 0xFFFF) == 0x3B80);
  sim::Options flush;
  flush.flush_bf16_denormals = true;
  CHECK((run_dot(code, 0x00000001, 0x00003F80, 0) & 0xFFFF) == 1);
  CHECK((run_dot(code, 0x00000001, 0x00003F80, 0, flush) & 0xFFFF) == 0);
}

TEST_CASE("Dot products with f32 accumulators", "[sim][dot]") {
  CHECK(run_dot("v_dot2_f32_bf16 v4, v1, v2, v3", 0x40004040, 0x3F803F80, 0x3F800000) == 0x40C00000);
  CHECK(run_dot("v_dot2_f32_f16 v4, v1, v2, v3", 0x40004200, 0x3C003C00, 0x3F800000) == 0x40C00000);
  CHECK(run_dot("v_dot2_f32_f16 v4, v1, v2, v3 neg_lo:[1,0,0]", 0x40004200, 0x3C003C00, 0x3F800000) == 0);
  CHECK(run_dot("v_mov_b32 v4, 1.0\n v_dot2acc_f32_f16 v4, v1, v2", 0x40004200, 0x3C003C00, 0) == 0x40C00000);
  // Order S2, low, high, each step rounded to f32: (2^24 + 1) - 2^24 loses the 1.
  CHECK(run_dot("v_dot2_f32_bf16 v4, v1, v2, v3", 0xCB803F80, 0x3F803F80, 0x4B800000) == 0);
  CHECK(run_dot("v_dot2_f32_bf16 v4, v1, v2, v3", 0x3F80CB80, 0x3F803F80, 0x4B800000) == 0x3F800000);
}

// cases.md 4: without neg_lo the bytes are unsigned, whatever the mnemonic promises.
TEST_CASE("v_dot4 takes its signs from neg_lo", "[sim][dot][cases]") {
  CHECK(run_dot("v_dot4_i32_iu8 v4, v1, v2, v3 neg_lo:[1,1,0]", 0xFFFFFFFF, 0x01010101, 0) == 0xFFFFFFFC);
  CHECK(run_dot("v_dot4_i32_iu8 v4, v1, v2, v3", 0xFFFFFFFF, 0x01010101, 0) == 1020);
  CHECK(run_dot("v_dot4_i32_iu8 v4, v1, v2, v3 neg_lo:[1,0,0]", 0xFFFFFFFF, 0xFFFFFFFF, 0) ==
        static_cast<std::uint32_t>(-1020));
  CHECK(run_dot("v_dot4_i32_iu8 v4, v1, v2, v3 neg_lo:[1,1,0] clamp", 0x7F7F7F7F, 0x7F7F7F7F, 0x7FFFFFFF) ==
        0x7FFFFFFF);
  CHECK(run_dot("v_dot4_u32_u8 v4, v1, v2, v3", 0xFFFFFFFF, 0xFFFFFFFF, 1) == 4 * 255 * 255 + 1);
  CHECK(run_dot("v_dot8_i32_iu4 v4, v1, v2, v3 neg_lo:[1,1,0]", 0xFFFFFFFF, 0x11111111, 0) == 0xFFFFFFF8);
  CHECK(run_dot("v_dot8_i32_iu4 v4, v1, v2, v3", 0xFFFFFFFF, 0x11111111, 0) == 120);
}

/// One matrix instruction with A in v[8:15], B in v[16:23], C and D in v[24:31].
struct MatrixRun {
  std::unique_ptr<Bench> bench;
  explicit MatrixRun(const char* code, unsigned vgprs = 64)
      : bench(make_bench({.body = code, .vgprs = vgprs})) {}
  sim::Probe& probe() { return *bench->probe; }
};

/// Element k of row `row` of A (or column of B) goes to lanes row and row + 16.
void set_element(sim::Probe& p, std::vector<std::uint32_t>& image, unsigned base, unsigned bits, unsigned row,
                 unsigned k, std::uint32_t value) {
  const unsigned per = 32 / bits;
  std::uint32_t& word = image[row * 8 + k / per];
  const unsigned shift = bits * (k % per);
  const std::uint32_t mask = (bits == 32 ? ~0U : (1U << bits) - 1) << shift;
  word = (word & ~mask) | (value << shift & mask);
  p.set_vgpr(base + k / per, row, word);
  p.set_vgpr(base + k / per, row + 16, word);
}

float bf16_value(std::uint32_t h) {
  const std::uint32_t bits = h << 16;
  float f = 0;
  std::memcpy(&f, &bits, 4);
  return f;
}

TEST_CASE("WMMA bf16: layout and sums", "[sim][matrix]") {
  MatrixRun run("v_wmma_f32_16x16x16_bf16 v[24:31], v[8:15], v[16:23], v[24:31]");
  std::mt19937 random(3);
  std::vector<std::uint32_t> image_a(128), image_b(128);
  float a[16][16], b[16][16], c[16][16];
  for (unsigned i = 0; i < 16; ++i) {
    for (unsigned k = 0; k < 16; ++k) {
      const std::uint32_t ha = 0x3F00 + random() % 0x100 + (random() & 1) * 0x8000;
      const std::uint32_t hb = 0x3F00 + random() % 0x100 + (random() & 1) * 0x8000;
      set_element(run.probe(), image_a, 8, 16, i, k, ha);
      set_element(run.probe(), image_b, 16, 16, i, k, hb);
      a[i][k] = bf16_value(ha);
      b[i][k] = bf16_value(hb);
      c[i][k] = static_cast<float>(static_cast<int>(random() % 200)) - 100;
      std::uint32_t bits = 0;
      std::memcpy(&bits, &c[i][k], 4);
      run.probe().set_vgpr(24 + i / 2, 16 * (i % 2) + k, bits);  // D[i][j]: VGPR i/2, lane 16 (i%2) + j
    }
  }
  run.probe().run();
  INFO(text(run.probe().faults()));
  CHECK(run.probe().faults().empty());
  for (unsigned i = 0; i < 16; ++i) {
    for (unsigned j = 0; j < 16; ++j) {
      float sum = c[i][j];
      for (unsigned k = 0; k < 16; ++k) sum = std::fma(a[i][k], b[j][k], sum);
      std::uint32_t want = 0;
      std::memcpy(&want, &sum, 4);
      if (run.probe().vgpr(24 + i / 2, 16 * (i % 2) + j) != want) FAIL("row " << i << " column " << j);
    }
  }
}

// cases.md 3: partial sums of 229376 overflow f16 and cancel; the f32 accumulator holds them.
TEST_CASE("WMMA f16 accumulates in f32", "[sim][matrix][cases]") {
  const auto accumulate = [](std::uint32_t second_weight) {
    MatrixRun run(
        "v_wmma_f32_16x16x16_f16 v[24:31], v[8:15], v[16:23], v[24:31]\n"
        "v_wmma_f32_16x16x16_f16 v[24:31], v[8:15], v[32:39], v[24:31]\n v_cvt_f16_f32 v40.l, v24");
    for (unsigned l = 0; l < 32; ++l) {
      for (unsigned r = 0; r < 8; ++r) {
        run.probe().set_vgpr(8 + r, l, 0x6C006C00);   // 4096: the sum over 16 k of 4096 * 7 is 458752
        run.probe().set_vgpr(16 + r, l, 0x47004700);  // +7
        run.probe().set_vgpr(32 + r, l, second_weight);
        run.probe().set_vgpr(24 + r, l, 0);
      }
    }
    run.probe().run();
    CHECK(run.probe().faults().empty());
    return std::pair(run.probe().vgpr(24, 0), run.probe().vgpr(40, 0) & 0xFFFF);
  };
  CHECK(accumulate(0xC700C700) == std::pair(0U, 0U));                // -7: exactly zero
  CHECK(accumulate(0x47004700) == std::pair(0x49600000U, 0x7C00U));  // 917504, +inf as f16
}

TEST_CASE("WMMA of integers: signs and layout", "[sim][matrix]") {
  struct Form {
    const char* code;
    unsigned bits;
    bool is_signed;
  };
  const Form forms[] = {
      {"v_wmma_i32_16x16x16_iu8 v[24:31], v[8:11], v[16:19], v[24:31] neg_lo:[1,1,0]", 8, true},
      {"v_wmma_i32_16x16x16_iu8 v[24:31], v[8:11], v[16:19], v[24:31]", 8, false},
      {"v_wmma_i32_16x16x16_iu4 v[24:31], v[8:9], v[16:17], v[24:31] neg_lo:[1,1,0]", 4, true},
      {"v_wmma_i32_16x16x16_iu4 v[24:31], v[8:9], v[16:17], v[24:31]", 4, false},
  };
  for (const Form& f : forms) {
    INFO(f.code);
    MatrixRun run(f.code);
    std::mt19937 random(4);
    std::vector<std::uint32_t> image_a(128), image_b(128);
    int a[16][16], b[16][16];
    const auto value = [&](std::uint32_t raw) {
      const int v = static_cast<int>(raw);
      return f.is_signed && v >= 1 << (f.bits - 1) ? v - (1 << f.bits) : v;
    };
    for (unsigned i = 0; i < 16; ++i) {
      for (unsigned k = 0; k < 16; ++k) {
        const std::uint32_t ra = random() & ((1U << f.bits) - 1);
        const std::uint32_t rb = random() & ((1U << f.bits) - 1);
        set_element(run.probe(), image_a, 8, f.bits, i, k, ra);
        set_element(run.probe(), image_b, 16, f.bits, i, k, rb);
        a[i][k] = value(ra);
        b[i][k] = value(rb);
        run.probe().set_vgpr(24 + i / 2, 16 * (i % 2) + k, 100 * i + k);
      }
    }
    run.probe().run();
    INFO(text(run.probe().faults()));
    CHECK(run.probe().faults().empty());
    for (unsigned i = 0; i < 16; ++i) {
      for (unsigned j = 0; j < 16; ++j) {
        int sum = static_cast<int>(100 * i + j);
        for (unsigned k = 0; k < 16; ++k) sum += a[i][k] * b[j][k];
        if (run.probe().vgpr(24 + i / 2, 16 * (i % 2) + j) != static_cast<std::uint32_t>(sum))
          FAIL("row " << i << " column " << j);
      }
    }
  }
}

/// A and B all zero and well copied, C zero.
void fill_matrix(sim::Probe& p) {
  for (unsigned r = 8; r < 48; ++r)
    for (unsigned l = 0; l < 32; ++l) p.set_vgpr(r, l, 0);
}

TEST_CASE("WMMA wants lanes 16 to 31 to copy lanes 0 to 15", "[sim][strict][matrix]") {
  const auto faults = [](unsigned reg, unsigned lane, bool both) {
    return faults_of({.body = "v_wmma_f32_16x16x16_bf16 v[24:31], v[8:15], v[16:23], v[24:31]"},
                     [&](Bench& b) {
                       fill_matrix(*b.probe);
                       b.probe->set_vgpr(reg, lane, 0x3F80);
                       if (both) b.probe->set_vgpr(reg, lane ^ 16, 0x3F80);
                     });
  };
  const auto a = faults(9, 3, false);
  REQUIRE(count(a, FaultKind::wmma_replication) == 1);
  CHECK(a[0].lanes == 1U << 19);
  CHECK(count(faults(23, 31, false), FaultKind::wmma_replication) == 1);
  CHECK(faults(9, 3, true).empty());
  CHECK(faults(24, 3, false).empty());  // C has no copies
}

TEST_CASE("WMMA wants all lanes on", "[sim][strict][matrix]") {
  const auto faults = [](const char* before) {
    const std::string code =
        std::string(before) + "v_wmma_f32_16x16x16_bf16 v[24:31], v[8:15], v[16:23], v[24:31]";
    return faults_of({.body = code}, [](Bench& b) { fill_matrix(*b.probe); });
  };
  CHECK(count(faults("s_mov_b32 exec_lo, 0x7fffffff\n"), FaultKind::partial_exec) == 1);
  CHECK(faults("").empty());
}

// hardware.md §2.3.
TEST_CASE("WMMA results as A or B need a VALU instruction between", "[sim][strict][matrix]") {
  const auto faults = [](const std::string& between, const char* second) {
    const std::string code =
        "v_wmma_f32_16x16x16_bf16 v[24:31], v[8:15], v[16:23], v[24:31]\n" + between + second;
    return faults_of({.body = code}, [](Bench& b) { fill_matrix(*b.probe); });
  };
  const char* as_a = "v_wmma_f32_16x16x16_bf16 v[32:39], v[24:31], v[16:23], v[32:39]";
  const char* as_b = "v_wmma_f32_16x16x16_bf16 v[32:39], v[16:23], v[26:33], v[40:47]";
  const char* as_c = "v_wmma_f32_16x16x16_bf16 v[24:31], v[8:15], v[16:23], v[24:31]";
  CHECK(count(faults("", as_a), FaultKind::hazard) == 1);
  CHECK(count(faults("", as_b), FaultKind::hazard) == 1);
  CHECK(count(faults("s_nop 4\n", as_a), FaultKind::hazard) == 1);  // s_nop is no VALU
  CHECK(faults("v_nop\n", as_a).empty());
  CHECK(faults("", as_c).empty());
}

// hardware.md §5.1: on gfx1100 only.
TEST_CASE("A transcendental result used at once is a hazard where the table says so", "[sim][strict]") {
  const auto faults = [](const char* target, const std::string& between) {
    const std::string code = "v_mov_b32 v1, 1.0\n v_rcp_f32 v2, v1\n" + between + "v_add_f32 v3, v2, v1";
    AsmKernel kernel{.body = code, .target = target};
    if (kernel.target == "gfx1100") kernel.descriptor = "\t\t.amdhsa_user_sgpr_count 13\n";
    return faults_of(kernel);
  };
  CHECK(count(faults("gfx1100", ""), FaultKind::hazard) == 1);
  CHECK(faults("gfx1151", "").empty());
  CHECK(faults("gfx1100", "s_waitcnt_depctr 0xfff\n").empty());
  CHECK(faults("gfx1100",
               "v_mov_b32 v4, v1\n v_mov_b32 v5, v1\n v_mov_b32 v6, v1\n v_mov_b32 v7, v1\n v_mov_b32 v8, "
               "v1\n v_mov_b32 v9, v1\n")
            .empty());
  CHECK(count(faults("gfx1100", "v_mov_b32 v4, v1\n v_mov_b32 v5, v1\n v_mov_b32 v6, v1\n"),
              FaultKind::hazard) == 1);
}

TEST_CASE("gfx1100 wants 16 initialised SGPRs", "[sim][strict]") {
  CHECK(count(faults_of({.body = "s_nop 0", .target = "gfx1100"}), FaultKind::hazard) == 1);
  CHECK(faults_of({.body = "s_nop 0", .target = "gfx1100", .descriptor = "\t\t.amdhsa_user_sgpr_count 13\n"})
            .empty());
}

TEST_CASE("v_permlane16 right after v_cmpx", "[sim][strict]") {
  CHECK(count(faults_of({.body = "v_cmpx_eq_u32 v0, v0\n v_permlane16_b32 v1, v0, 0, 0"}),
              FaultKind::hazard) == 1);
  CHECK(
      faults_of({.body = "v_cmpx_eq_u32 v0, v0\n v_mov_b32 v2, v0\n v_permlane16_b32 v1, v0, 0, 0"}).empty());
}

}  // namespace
}  // namespace wavejit::test
