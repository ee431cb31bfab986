// SPDX-License-Identifier: MIT
// Memory forms that kernels of ours do not use, each with its value, its undefined bytes and its bounds:
// narrow scalar loads of gfx12, narrow stores, transposed LDS loads of gfx950, loads straight to LDS; and
// branches on every condition.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>

#include "tests/runtime/sim/asm_kernel.hpp"

namespace wavejit::test {
namespace {

using sim::FaultKind;
using u32 = std::uint32_t;

bool defined(const Bench& bench, unsigned sgpr) { return bench.probe->sgpr_defined(sgpr); }

}  // namespace

TEST_CASE("Narrow scalar loads extend what they read", "[sim][memory][rules]") {
  struct Row {
    const char* op;
    unsigned bytes;
    bool is_signed;
  };
  const std::array<u32, 2> words{0x80FF7F01, 0xFFFE8000};
  for (const Row& row : {Row{"s_load_u8", 1, false},
                         {"s_load_i8", 1, true},
                         {"s_load_u16", 2, false},
                         {"s_load_i16", 2, true}})
    for (unsigned at = 0; at < 8; ++at) {
      CAPTURE(row.op, at);
      auto bench = make_bench(
          {.body = fmt::format("{} s20, s[10:11], {}\ns_wait_kmcnt 0\ns_mov_b32 s21, s20", row.op, at),
           .target = "gfx1201"});
      const std::uint64_t base = upload(bench->memory, words);
      set_pair(*bench->probe, 10, base);
      bench->probe->run();
      const bool misaligned = at % row.bytes != 0;
      CHECK(count(bench->probe->faults(), FaultKind::misaligned) == (misaligned ? 1 : 0));
      if (misaligned) continue;
      CHECK(bench->probe->faults().empty());
      const std::uint64_t all = words[0] | std::uint64_t{words[1]} << 32;
      const auto raw = static_cast<u32>(all >> (8 * at)) & (row.bytes == 1 ? 0xFF : 0xFFFF);
      const auto extended = row.bytes == 1 ? static_cast<u32>(static_cast<std::int8_t>(raw))
                                           : static_cast<u32>(static_cast<std::int16_t>(raw));
      CHECK(bench->probe->sgpr(21) == (row.is_signed ? extended : raw));
    }
  for (const char* op : {"s_load_u8", "s_load_i16", "s_load_b32", "s_load_b64"}) {
    CAPTURE(op);
    const bool wide = std::string(op) == "s_load_b64";
    const std::string body = fmt::format("{} {}, s[10:11], 0\ns_wait_kmcnt 0", op, wide ? "s[20:21]" : "s20");
    // Memory that nobody wrote makes the register undefined.
    auto undefined = make_bench({.body = body, .target = "gfx1201"});
    const auto fresh = undefined->memory.allocate(64, 64, "fresh");
    REQUIRE(fresh);
    set_pair(*undefined->probe, 10, *fresh);
    undefined->probe->run();
    CHECK(undefined->probe->faults().empty());
    CHECK_FALSE(defined(*undefined, 20));
    if (wide) CHECK_FALSE(defined(*undefined, 21));
    // Beyond the allocation: a fault of the wave, of no lane.
    auto outside = make_bench({.body = body, .target = "gfx1201"});
    set_pair(*outside->probe, 10, upload(outside->memory, words) + 8);
    outside->probe->run();
    REQUIRE(count(outside->probe->faults(), FaultKind::out_of_bounds) == 1);
    CHECK(outside->probe->faults().front().lanes == 0);
  }
}

TEST_CASE("A narrow store reads the half that it stores and no more", "[sim][strict][memory][rules]") {
  struct Row {
    const char* code;  ///< stores v5; v6 is an address
    bool high;
  };
  const Row rows[] = {{"ds_store_b8 v6, v5", false},
                      {"ds_store_b16 v6, v5", false},
                      {"ds_store_b8_d16_hi v6, v5", true},
                      {"ds_store_b16_d16_hi v6, v5", true},
                      {"global_store_b8 v6, v5, s[10:11]", false},
                      {"global_store_b16 v6, v5, s[10:11]", false},
                      {"global_store_d16_hi_b8 v6, v5, s[10:11]", true},
                      {"global_store_d16_hi_b16 v6, v5, s[10:11]", true},
                      {"buffer_store_b8 v5, v6, s[12:15], 0 offen", false},
                      {"buffer_store_b16 v5, v6, s[12:15], 0 offen", false},
                      {"buffer_store_d16_hi_b8 v5, v6, s[12:15], 0 offen", true},
                      {"buffer_store_d16_hi_b16 v5, v6, s[12:15], 0 offen", true}};
  for (const Row& row : rows)
    for (const bool high : {false, true}) {
      CAPTURE(row.code, high);
      // A 16-bit move defines one half of a register.
      const std::string body = fmt::format("v_mov_b16 v5.{}, 3\n{}", high ? "h" : "l", row.code);
      auto bench = make_bench({.body = body, .lds_bytes = 1024});
      sim::Probe& p = *bench->probe;
      p.forget();
      const auto memory = bench->memory.allocate(4096, 64, "out");
      REQUIRE(memory);
      for (unsigned l = 0; l < 32; ++l) p.set_vgpr(6, l, 4 * l);
      set_pair(p, 10, *memory);
      set_descriptor(p, 12, *memory, 4096);
      p.run();
      CHECK(count(p.faults(), FaultKind::undefined_value) == (high == row.high ? 0 : 1));
      CHECK(p.faults().size() == (high == row.high ? 0 : 1));
    }
}

// CDNA4 ISA manual, DS_READ_B64_TR_B16: sixteen lanes hold a matrix of 16-bit elements in order, four to a
// lane; each lane gets every sixteenth.
TEST_CASE("A transposed LDS load of gfx950", "[sim][lds][rules]") {
  auto bench =
      make_bench({.body = "ds_write_b64 v2, v[4:5]\ns_waitcnt lgkmcnt(0)\nds_read_b64_tr_b16 v[6:7], v2\n"
                          "s_waitcnt lgkmcnt(0)\nv_mov_b32 v8, v6\nv_mov_b32 v9, v7",
                  .target = "gfx950",
                  .lds_bytes = 1024});
  sim::Probe& p = *bench->probe;
  for (unsigned l = 0; l < 64; ++l) {
    p.set_vgpr(2, l, 8 * l);
    for (unsigned d = 0; d < 2; ++d) p.set_vgpr(4 + d, l, (4 * l + 2 * d) | (4 * l + 2 * d + 1) << 16);
  }
  p.run();
  INFO(text(p.faults()));
  CHECK(p.faults().empty());
  for (unsigned l = 0; l < 64; ++l)
    for (unsigned i = 0; i < 4; ++i) {
      CAPTURE(l, i);
      CHECK((p.vgpr(8 + i / 2, l) >> (16 * (i % 2)) & 0xFFFF) == l / 16 * 64 + 16 * i + l % 16);
    }
}

TEST_CASE("A load to LDS brings undefined bytes as such, and clashes with one in flight",
          "[sim][lds][rules]") {
  const auto run = [](const std::string& body, unsigned defined_bytes) {
    auto bench =
        make_bench({.body = "s_mov_b32 m0, 0\ns_nop 0\n" + body, .target = "gfx950", .lds_bytes = 1024});
    sim::Probe& p = *bench->probe;
    const auto memory = bench->memory.allocate(4096, 64, "in");
    REQUIRE(memory);
    for (unsigned l = 0; l < 64; ++l) {
      const std::vector<std::byte> bytes(defined_bytes, std::byte{7});
      REQUIRE(bench->memory.write(*memory + 4 * l, bytes));
      p.set_vgpr(1, l, 4 * l);
      p.set_vgpr(2, l, 4 * l);
    }
    set_pair(p, 10, *memory);
    p.run();
    return bench;
  };
  const std::string load = "global_load_lds_dword v1, s[10:11]\n", wait = "s_waitcnt vmcnt(0)\n";
  for (unsigned bytes = 1; bytes <= 4; ++bytes)
    for (unsigned at = 0; at < 4; ++at) {
      CAPTURE(bytes, at);
      const auto bench =
          run(load + wait +
                  fmt::format("ds_read_u8 v3, v2 offset:{}\ns_waitcnt lgkmcnt(0)\nv_add_u32 v4, v3, v3", at),
              bytes);
      CHECK(count(bench->probe->faults(), FaultKind::undefined_value) == (at < bytes ? 0 : 1));
    }
  CHECK(run(load + load + wait, 4)->probe->faults().size() == 1);
  CHECK(count(run(load + load + wait, 4)->probe->faults(), FaultKind::in_flight) == 1);
  CHECK(run(load + wait + load + wait, 4)->probe->faults().empty());
  CHECK(run(load + "s_mov_b32 m0, 0x100\ns_nop 0\n" + load + wait, 4)->probe->faults().empty());
}

TEST_CASE("Branches by each condition, taken and not", "[sim][salu][rules]") {
  struct Row {
    const char* prepare;
    const char* branch;
    bool taken;
  };
  const Row rows[] = {{"s_cmp_eq_u32 0, 0", "s_cbranch_scc1", true},
                      {"s_cmp_eq_u32 0, 0", "s_cbranch_scc0", false},
                      {"s_cmp_eq_u32 0, 1", "s_cbranch_scc1", false},
                      {"s_cmp_eq_u32 0, 1", "s_cbranch_scc0", true},
                      {"s_mov_b32 vcc_lo, 0", "s_cbranch_vccz", true},
                      {"s_mov_b32 vcc_lo, 0", "s_cbranch_vccnz", false},
                      {"s_mov_b32 vcc_lo, 4", "s_cbranch_vccz", false},
                      {"s_mov_b32 vcc_lo, 4", "s_cbranch_vccnz", true},
                      {"s_mov_b32 exec_lo, 0", "s_cbranch_execz", true},
                      {"s_mov_b32 exec_lo, 0", "s_cbranch_execnz", false},
                      {"s_mov_b32 exec_lo, 4", "s_cbranch_execz", false},
                      {"s_mov_b32 exec_lo, 4", "s_cbranch_execnz", true},
                      {"s_nop 0", "s_branch", true}};
  for (const Row& row : rows) {
    CAPTURE(row.prepare, row.branch);
    auto bench = make_bench({.body = fmt::format("s_mov_b32 s20, 1\n{}\n{} .Lend\ns_mov_b32 s20, 2\n.Lend:",
                                                 row.prepare, row.branch)});
    bench->probe->run();
    CHECK(bench->probe->faults().empty());
    CHECK(bench->probe->sgpr(20) == (row.taken ? 1 : 2));
  }
}

// RDNA3 ISA manual, MODE[7:4]: f32 denormals in and out are flushed by bits 4 and 5.
TEST_CASE("The third factor of a fused sum is flushed as the others are", "[sim][valu][mode][rules]") {
  constexpr u32 denormal = 0x00400000, two = 0x40000000;  // 2^-127
  for (const char* code : {"v_fma_f32 v4, v1, v2, v3", "v_mov_b32 v4, v3\nv_fmac_f32 v4, v1, v2"})
    for (const bool keeps : {false, true}) {
      CAPTURE(code, keeps);
      auto bench = make_bench({.body = code});
      sim::Probe& p = *bench->probe;
      for (unsigned l = 0; l < 32; ++l) {
        p.set_vgpr(1, l, 0);
        p.set_vgpr(2, l, two);
        p.set_vgpr(3, l, denormal);
        p.set_vgpr(4, l, 0);
      }
      p.set_mode(keeps ? 0xF0 : 0xE0);  // bit 4: inputs
      p.run();
      CHECK(p.vgpr(4, 0) == (keeps ? denormal : 0));
    }
}
}  // namespace wavejit::test
