// SPDX-License-Identifier: MIT
// Bounds, descriptors, alignment and order of global memory. Bounds rules: hardware.md §6.
#include <catch2/catch.hpp>

#include "tests/runtime/sim/asm_kernel.hpp"

namespace wavejit::test {
namespace {

using sim::FaultKind;

std::vector<std::uint32_t> counting(unsigned n) {
  std::vector<std::uint32_t> words(n);
  for (unsigned i = 0; i < n; ++i) words[i] = 100 + i;
  return words;
}

/// One buffer access of lane 0 only: `voffset` in v1, `soffset` in s8, descriptor in s[4:7].
struct Access {
  std::string_view code = "buffer_load_b32 v2, v1, s[4:7], s8 offen";
  std::uint32_t voffset = 0, soffset = 0;
  std::uint32_t records = 256, allocation = 64;  ///< bytes; dwords
  std::uint32_t word3 = 0x31027000;
};

std::unique_ptr<Bench> run_access(const Access& a, const sim::Options& options = {}) {
  auto b = make_bench({.body = std::string(a.code) + "\n s_waitcnt vmcnt(0)"}, options, 1);
  set_descriptor(*b->probe, 4, upload(b->memory, counting(a.allocation)), a.records, a.word3);
  b->probe->set_sgpr(8, a.soffset);
  b->probe->set_vgpr(1, 0, a.voffset);
  for (unsigned r = 2; r < 6; ++r) b->probe->set_vgpr(r, 0, 7);
  b->probe->run();
  return b;
}

TEST_CASE("The last byte of an allocation is reachable and the next faults", "[sim][strict][memory]") {
  const auto last = run_access({.voffset = 252, .records = 4096});
  CHECK(last->probe->faults().empty());
  CHECK(last->probe->vgpr(2, 0) == 163);
  // num_records lies: the descriptor says in bounds, the allocation ends.
  const auto past = run_access({.voffset = 256, .records = 4096});
  const auto faults = past->probe->faults();
  INFO(text(faults));
  REQUIRE(count(faults, FaultKind::out_of_bounds) == 1);
  CHECK(faults[0].detail.find("1 bytes past the last byte of 'data'") != std::string::npos);
  // Half of a dword past the end.
  CHECK(count(run_access(
                  {.code = "buffer_load_b64 v[2:3], v1, s[4:7], s8 offen", .voffset = 252, .records = 4096})
                  ->probe->faults(),
              FaultKind::out_of_bounds) == 1);
  // A store is dropped.
  const auto store =
      run_access({.code = "buffer_store_b32 v2, v1, s[4:7], s8 offen", .voffset = 256, .records = 4096});
  CHECK(count(store->probe->faults(), FaultKind::out_of_bounds) == 1);
}

TEST_CASE("The descriptor's bounds give zeros, silently", "[sim][strict][memory]") {
  const auto past = run_access({.voffset = 128, .records = 128});
  CHECK(past->probe->faults().empty());
  CHECK(past->probe->vgpr(2, 0) == 0);
  CHECK(run_access({.voffset = 124, .records = 128})->probe->vgpr(2, 0) == 131);
  // To the byte.
  const char* byte = "buffer_load_u8 v2, v1, s[4:7], s8 offen";
  CHECK(run_access({.code = byte, .voffset = 4, .records = 5})->probe->vgpr(2, 0) == 101);
  CHECK(run_access({.code = byte, .voffset = 4, .records = 4})->probe->vgpr(2, 0) == 0);
  // The immediate counts.
  CHECK(run_access(
            {.code = "buffer_load_b32 v2, v1, s[4:7], s8 offen offset:4", .voffset = 124, .records = 128})
            ->probe->vgpr(2, 0) == 0);
  // A sentinel offset with num_records below 2^31 is always out.
  CHECK(run_access({.voffset = 0x80000000, .records = 0x7FFFFFFE})->probe->vgpr(2, 0) == 0);
  CHECK(run_access({.records = 0})->probe->vgpr(2, 0) == 0);
}

// 40 bytes of data, b128 at offset 32.
TEST_CASE("A straddling b128 reads nothing on gfx11", "[sim][strict][memory]") {
  const auto b = run_access({.code = "buffer_load_b128 v[2:5], v1, s[4:7], s8 offen",
                             .voffset = 32,
                             .records = 40,
                             .allocation = 10});
  CHECK(b->probe->faults().empty());
  for (unsigned r = 2; r < 6; ++r) CHECK(b->probe->vgpr(r, 0) == 0);
  // Whole accesses up to the end work.
  const auto narrow = run_access({.code = "buffer_load_b64 v[2:3], v1, s[4:7], s8 offen",
                                  .voffset = 32,
                                  .records = 40,
                                  .allocation = 10});
  CHECK(narrow->probe->vgpr(2, 0) == 108);
  CHECK(narrow->probe->vgpr(3, 0) == 109);
}

// num_records covers whole rows; a K overrun on row 0 is row 1, not zeros.
TEST_CASE("case 33: exact num_records does not mask the end of a row", "[sim][strict][memory][cases]") {
  const auto b = run_access({.voffset = 96, .records = 192, .allocation = 48});  // rows of 96 bytes
  CHECK(b->probe->faults().empty());
  CHECK(b->probe->vgpr(2, 0) == 124);
}

TEST_CASE("Malformed descriptors", "[sim][strict][memory]") {
  CHECK(count(run_access({.word3 = 0x71027000})->probe->faults(), FaultKind::descriptor) == 1);  // type 1
  CHECK(count(run_access({.word3 = 0x30000000})->probe->faults(), FaultKind::descriptor) == 1);  // FORMAT 0
  CHECK(count(run_access({.word3 = 0x31827000})->probe->faults(), FaultKind::descriptor) == 1);  // add_tid
  CHECK(run_access({.word3 = 0x31004000})->probe->faults().empty());  // CK's constant
  // Stride and swizzle in word 1.
  for (const std::uint32_t extra : {0x00040000U, 0x40000000U}) {
    auto b = make_bench({.body = "buffer_load_b32 v2, v1, s[4:7], 0 offen"}, {}, 1);
    set_descriptor(*b->probe, 4, upload(b->memory, counting(64)), 256);
    b->probe->set_sgpr(5, b->probe->sgpr(5) | extra);
    b->probe->set_vgpr(1, 0, 0);
    b->probe->run();
    CHECK(count(b->probe->faults(), FaultKind::descriptor) == 1);
  }
}

TEST_CASE("A verdict that hangs on whether soffset counts is reported", "[sim][strict][memory]") {
  const Access disputed{.voffset = 64, .soffset = 128, .records = 128};
  CHECK(count(run_access(disputed)->probe->faults(), FaultKind::soffset_dependent) == 1);
  sim::Options options;
  options.soffset = sim::SoffsetRule::excluded;
  const auto excluded = run_access(disputed, options);
  CHECK(excluded->probe->faults().empty());
  CHECK(excluded->probe->vgpr(2, 0) == 148);
  options.soffset = sim::SoffsetRule::included;
  const auto included = run_access(disputed, options);
  CHECK(included->probe->faults().empty());
  CHECK(included->probe->vgpr(2, 0) == 0);
  // The same address with the offset where every rule sees it.
  CHECK(run_access({.voffset = 64, .soffset = 32, .records = 128})->probe->faults().empty());
  CHECK(run_access({.voffset = 192, .soffset = 0, .records = 128})->probe->faults().empty());
}

TEST_CASE("Alignment of vector accesses", "[sim][strict][memory]") {
  CHECK(count(run_access({.voffset = 2})->probe->faults(), FaultKind::misaligned) == 1);
  CHECK(count(run_access({.code = "buffer_load_b128 v[2:5], v1, s[4:7], s8 offen", .voffset = 6})
                  ->probe->faults(),
              FaultKind::misaligned) == 1);
  CHECK(run_access({.code = "buffer_load_b128 v[2:5], v1, s[4:7], s8 offen", .voffset = 4})
            ->probe->faults()
            .empty());
  CHECK(run_access({.code = "buffer_load_u16 v2, v1, s[4:7], s8 offen", .voffset = 2})
            ->probe->faults()
            .empty());
  CHECK(count(run_access({.code = "buffer_load_u16 v2, v1, s[4:7], s8 offen", .voffset = 3})->probe->faults(),
              FaultKind::misaligned) == 1);
}

TEST_CASE("Scalar loads: bounds and alignment", "[sim][strict][memory]") {
  const auto run_scalar = [](std::string_view body) {
    return faults_of({.body = body}, [](Bench& b) { set_pair(*b.probe, 10, upload(b.memory, counting(4))); });
  };
  CHECK(run_scalar("s_load_b128 s[12:15], s[10:11], 0x0").empty());
  CHECK(count(run_scalar("s_load_b128 s[12:15], s[10:11], 0x4"), FaultKind::out_of_bounds) == 1);
  CHECK(count(run_scalar("s_load_b32 s12, s[10:11], 0x10"), FaultKind::out_of_bounds) == 1);
  CHECK(count(run_scalar("s_load_b32 s12, s[10:11], 0x2"), FaultKind::misaligned) == 1);
}

TEST_CASE("Loads of memory that nobody wrote move undefined values", "[sim][strict][memory]") {
  auto run_fresh = [](std::string_view use) {
    auto b = make_bench(
        {.body = "v_mov_b32 v1, 0\n buffer_load_b32 v2, v1, s[4:7], 0 offen\n s_waitcnt vmcnt(0)\n" +
                 std::string(use)});
    const auto fresh = b->memory.allocate(16, 16, "fresh");
    const std::uint32_t two = 2;
    REQUIRE(b->memory.write(*fresh, std::as_bytes(std::span(&two, 1)).first(2)));
    set_descriptor(*b->probe, 4, *fresh, 16);
    b->probe->run();
    return b->probe->faults();
  };
  CHECK(run_fresh("v_mov_b32 v3, v2").empty());
  CHECK(run_fresh("v_add_f16 v3.l, v2.l, v2.l").empty());  // its two low bytes are defined
  CHECK(count(run_fresh("v_add_nc_u32 v3, v2, v2"), FaultKind::undefined_value) == 1);
}

TEST_CASE("Read-only memory takes no stores", "[sim][strict][memory]") {
  const auto run_store = [](bool read_only) {
    return faults_of({.body = "v_mov_b32 v1, 0\n buffer_store_b32 v1, v1, s[4:7], 0 offen"}, [&](Bench& b) {
      const std::uint64_t data = upload(b.memory, counting(4));
      REQUIRE(b.memory.set_read_only(data, read_only));
      set_descriptor(*b.probe, 4, data, 16);
    });
  };
  CHECK(count(run_store(true), FaultKind::out_of_bounds) == 1);
  CHECK(run_store(false).empty());
}

/// Two workgroups of one wave; `body` has the buffer's descriptor in s[4:7] and the workgroup in s2.
sim::RunReport run_two_groups(std::string_view body) {
  const std::string whole =
      "s_mov_b32 s12, s2\n s_load_b128 s[4:7], s[0:1], 0x0\n s_waitcnt lgkmcnt(0)\n" + std::string(body);
  const sim::Program program = make_program({.body = whole, .kernarg_bytes = 16});
  sim::Memory memory;
  const std::uint64_t data = upload(memory, counting(64));
  const std::uint32_t kernarg[4] = {static_cast<std::uint32_t>(data), static_cast<std::uint32_t>(data >> 32),
                                    256, 0x31027000};
  sim::LaunchParams launch;
  launch.grid = {2, 1, 1};
  launch.kernarg = std::as_bytes(std::span(kernarg));
  launch.options.threads = 1;
  auto report = sim::run(program, memory, launch);
  REQUIRE(report);
  return *report;
}

TEST_CASE("Two workgroups and one byte", "[sim][strict][memory]") {
  const auto races = [](std::string_view body) {
    const sim::RunReport r = run_two_groups(body);
    INFO(body << "\n" << text(r.faults));
    return r.totals[static_cast<std::size_t>(FaultKind::global_race)];
  };
  const std::string lane4 = "v_lshlrev_b32 v1, 2, v0\n";
  // Different values to the same place; the same value; different places.
  CHECK(races(lane4 + "v_mov_b32 v2, s12\n buffer_store_b32 v2, v1, s[4:7], 0 offen") > 0);
  CHECK(races(lane4 + "v_mov_b32 v2, 1\n buffer_store_b32 v2, v1, s[4:7], 0 offen") == 0);
  CHECK(races(lane4 + "s_lshl_b32 s13, s12, 7\n v_add_nc_u32 v1, s13, v1\n v_mov_b32 v2, s12\n"
                      "buffer_store_b32 v2, v1, s[4:7], 0 offen") == 0);
  // Reading what the other wrote.
  CHECK(races(lane4 + "buffer_load_b32 v2, v1, s[4:7], 0 offen\n s_waitcnt vmcnt(0)\n"
                      "v_add_nc_u32 v2, 1, v2\n buffer_store_b32 v2, v1, s[4:7], 0 offen") > 0);
  // Adding atomically is what atomics are for.
  CHECK(races(lane4 + "v_mov_b32 v2, 1\n buffer_atomic_add_u32 v2, v1, s[4:7], 0 offen") == 0);
}

TEST_CASE("16-bit neighbours of two workgroups do not collide", "[sim][strict][memory]") {
  const sim::RunReport r = run_two_groups(
      "v_lshlrev_b32 v1, 2, v0\n s_lshl_b32 s13, s12, 1\n v_add_nc_u32 v1, s13, v1\n v_mov_b32 v2, s12\n"
      "buffer_store_b16 v2, v1, s[4:7], 0 offen");
  INFO(text(r.faults));
  CHECK(r.distinct_faults == 0);
}

}  // namespace
}  // namespace wavejit::test
