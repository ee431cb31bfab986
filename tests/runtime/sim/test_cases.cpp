// SPDX-License-Identifier: MIT
// Rows of the list of public failures (cases.md) that can be shown on the simulator and its launcher alone,
// each with the row's own smallest input, by kernels of a few lines.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "generator/lower/lower.hpp"
#include "tests/runtime/sim/asm_kernel.hpp"

namespace wavejit::test {
namespace {

using sim::FaultKind;

std::vector<std::uint32_t> counting(unsigned n) {
  std::vector<std::uint32_t> words(n);
  for (unsigned i = 0; i < n; ++i) words[i] = 100 + i;
  return words;
}

/// One lane, descriptor of `records` bytes at s[4:7], its offset in v1, s8 the scalar offset.
struct Access {
  std::string target, body;
  std::uint32_t voffset = 0, soffset = 0, records = 0, dwords = 0;
  std::uint32_t word3 = 0;  ///< 0 = the target's
};

std::unique_ptr<Bench> run_access(const Access& a, const sim::Options& options = {}) {
  auto b = make_bench({.body = a.body, .target = a.target}, options, 1);
  const std::uint32_t word3 = a.word3 != 0 ? a.word3 : target::find(a.target)->buffer_word3;
  set_descriptor(*b->probe, 4, upload(b->memory, counting(a.dwords)), a.records, word3);
  b->probe->set_sgpr(8, a.soffset);
  b->probe->set_vgpr(1, 0, a.voffset);
  for (unsigned r = 2; r < 6; ++r) b->probe->set_vgpr(r, 0, 7);
  b->probe->run();
  return b;
}

std::uint32_t dot(const char* code, std::uint32_t a, std::uint32_t b) {
  auto bench = make_bench({.body = code});
  bench->probe->set_vgpr(1, 0, a);
  bench->probe->set_vgpr(2, 0, b);
  bench->probe->set_vgpr(3, 0, 0);
  bench->probe->set_sgpr(isa::sreg::exec_lo, 1);
  bench->probe->run();
  CHECK(text(bench->probe->faults()).empty());
  return bench->probe->vgpr(4, 0);
}

TEST_CASE("case 4: signed int8 dot products carry their signs in neg_lo", "[sim][cases]") {
  constexpr const char* is_signed = "v_dot4_i32_iu8 v4, v1, v2, v3 neg_lo:[1,1,0]";
  CHECK(dot(is_signed, 0xFFFFFFFF, 0x01010101) == 0xFFFFFFFC);
  CHECK(dot("v_dot4_i32_iu8 v4, v1, v2, v3", 0xFFFFFFFF, 0x01010101) == 1020);
  // Q6_K with all q = 0, which stand for -32, against activations of -1.
  CHECK(dot(is_signed, 0xE0E0E0E0, 0xFFFFFFFF) == 4 * 32);
  // In the encoded word both bits are set in the last byte.
  const auto object = lower::assemble(std::string(is_signed) + "\n", *target::find("gfx1151"));
  REQUIRE(object);
  const std::array<std::uint8_t, 2> opcode{0x16, 0xCC};  // VOP3P opcode 0x16 of v4
  const auto at = std::ranges::search(*object, opcode);
  REQUIRE(at.size() == opcode.size());
  REQUIRE(object->end() - at.begin() >= 6);
  CHECK((at.begin()[5] & 0x60) == 0x60);
  // LLVM takes the gfx9 name for it and leaves the signs out; our vocabulary has no such name on gfx11.
  CHECK_FALSE(isa::find_opcode("v_dot4_i32_i8", target::Generation::gfx11));
}

/// A kernel of table B: 128 threads as 64 x 2, 1024 bytes of LDS.
std::string table_b_kernel() {
  std::string text = assembly({.body = "", .lds_bytes = 1024});
  const std::string open = ".max_flat_workgroup_size: 1024";
  const std::size_t at = text.find(open);
  REQUIRE(at != std::string::npos);
  return text.replace(at, open.size(), ".max_flat_workgroup_size: 128\n    .reqd_workgroup_size: [64, 2, 1]");
}

Result<lower::CodeObject> decode_text(const std::string& text) {
  const auto object = lower::assemble(text, *target::find("gfx1151"));
  REQUIRE(object);
  return lower::decode(*lower::link(*object));
}

TEST_CASE("case 6: a launch of another block or LDS size than the kernel was compiled for is refused",
          "[sim][cases]") {
  const auto object = decode_text(table_b_kernel());
  REQUIRE(object);
  const auto program = sim::Program::create(object->kernels.at(0), *object->target);
  REQUIRE(program);
  sim::Memory memory;
  sim::LaunchParams launch;
  launch.block = {64, 2, 1};
  CHECK(sim::run(*program, memory, launch));
  launch.block = {64, 4, 1};  // table A
  const auto larger = sim::run(*program, memory, launch);
  REQUIRE_FALSE(larger);
  CHECK(larger.error().field == "block");
  CHECK(larger.error().allowed == "at most 128");
  launch.block = {128, 1, 1};  // as many threads, but other rows per block
  const auto other = sim::run(*program, memory, launch);
  REQUIRE_FALSE(other);
  CHECK(other.error().message.find("64 x 2 x 1") != std::string::npos);
  // Metadata of one table on code of the other.
  std::string mixed = table_b_kernel();
  const std::string lds = ".group_segment_fixed_size: 1024";
  mixed.replace(mixed.rfind(lds), lds.size(), ".group_segment_fixed_size: 2048");
  const auto wrong = decode_text(mixed);
  REQUIRE(wrong);
  const auto refused = sim::Program::create(wrong->kernels.at(0), *wrong->target);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("group_segment_fixed_size") != std::string::npos);
}

// Q4_K rows of 256 elements: 144 bytes. Two rows a workgroup, nine lanes of 16 bytes a row.
sim::RunReport copy_rows(bool guarded, std::vector<std::uint32_t>& out) {
  constexpr unsigned rows = 5, row_dwords = 36;
  std::string body =
      "s_mov_b32 s20, s2\n s_load_b128 s[4:7], s[0:1], 0x0\n v_and_b32 v0, 0x3ff, v0\n"
      "v_lshlrev_b32 v1, 4, v0\n s_mov_b32 exec_lo, 0x1ff\n s_lshl_b32 s20, s20, 1\n s_mov_b32 s21, 2\n"
      "s_waitcnt lgkmcnt(0)\n.Lrow:\n";
  if (guarded) body += "s_cmp_ge_u32 s20, 5\n s_cbranch_scc1 .Lend\n";
  body +=
      "s_mul_i32 s22, s20, 144\n v_add_nc_u32 v2, s22, v1\n global_load_b128 v[4:7], v2, s[4:5]\n"
      "s_waitcnt vmcnt(0)\n global_store_b128 v2, v[4:7], s[6:7]\n s_add_u32 s20, s20, 1\n"
      "s_sub_u32 s21, s21, 1\n s_cmp_lg_u32 s21, 0\n s_cbranch_scc1 .Lrow\n.Lend:";
  const sim::Program program = make_program({.body = body, .kernarg_bytes = 16});
  sim::Memory memory;
  const std::array<std::uint64_t, 2> pointers{
      upload(memory, counting(rows * row_dwords), "weights"),
      *memory.allocate(std::uint64_t{4} * 6 * row_dwords, 16, "output")};
  sim::LaunchParams launch;
  launch.grid = {3, 1, 1};
  launch.kernarg = std::as_bytes(std::span(pointers));
  auto report = sim::run(program, memory, launch);
  REQUIRE(report);
  out.resize(rows * row_dwords);
  REQUIRE(memory.read(pointers[1], std::as_writable_bytes(std::span(out))));
  for (const sim::Fault& f : report->faults) CHECK(f.address.value_or(0) >= pointers[0] + rows * 144);
  return *std::move(report);
}

TEST_CASE("case 20: rows past the tensor are not read, to the byte", "[sim][cases]") {
  std::vector<std::uint32_t> out;
  const sim::RunReport guarded = copy_rows(true, out);
  CHECK(text(guarded.faults).empty());
  CHECK(out == counting(5 * 36));
  const sim::RunReport broken = copy_rows(false, out);
  CHECK(broken.distinct_faults == 1);
  CHECK(broken.totals[static_cast<std::size_t>(FaultKind::out_of_bounds)] == 9);  // lanes of row 5
  CHECK(out == counting(5 * 36));
  // The last dword may be read, one byte further not.
  for (const unsigned offset : {5 * 144 - 4, 5 * 144 - 3}) {
    const auto faults =
        faults_of({.body = "s_mov_b32 exec_lo, 1\n global_load_u8 v2, v1, s[4:5] offset:3"}, [&](Bench& b) {
          set_pair(*b.probe, 4, upload(b.memory, counting(5 * 36)));
          b.probe->set_vgpr(1, 0, offset);
        });
    CHECK(count(faults, FaultKind::out_of_bounds) == (offset == 5 * 144 - 4 ? 0 : 1));
  }
}

TEST_CASE("case 32: a 16-byte load across num_records gives zeros on gfx11 and a part on gfx942",
          "[sim][cases]") {
  // 20 elements of bf16 1.0 in 40 bytes.
  const auto run = [](const std::string& target, const std::string& load) {
    auto b =
        make_bench({.body = load + " v1, s[4:7], 0 offen\n s_waitcnt vmcnt(0)", .target = target}, {}, 1);
    set_descriptor(*b->probe, 4, upload(b->memory, std::vector<std::uint32_t>(10, 0x3F803F80)), 40,
                   target::find(target)->buffer_word3);
    b->probe->set_vgpr(1, 0, 32);
    b->probe->run();
    CHECK(text(b->probe->faults()).empty());
    std::vector<std::uint32_t> loaded;
    for (unsigned r = 2; r < 6; ++r) loaded.push_back(b->probe->vgpr(r, 0));
    return loaded;
  };
  CHECK(run("gfx1151", "buffer_load_b128 v[2:5],") == std::vector<std::uint32_t>{0, 0, 0, 0});
  CHECK(run("gfx942", "buffer_load_dwordx4 v[2:5],") ==
        std::vector<std::uint32_t>{0x3F803F80, 0x3F803F80, 0, 0});
  // Eight bytes do not straddle: elements 16 to 19 on both.
  for (const auto& [target, load] : {std::pair{"gfx1151", "buffer_load_b64 v[2:3],"},
                                     std::pair{"gfx942", "buffer_load_dwordx2 v[2:3],"}}) {
    const auto loaded = run(target, load);
    CHECK(loaded[0] == 0x3F803F80);
    CHECK(loaded[1] == 0x3F803F80);
  }
}

TEST_CASE("case 39: a masked lane's offset plus soffset that wraps to 0 stays out of bounds",
          "[sim][cases]") {
  for (const std::string target : {"gfx1151", "gfx1201", "gfx942", "gfx950"}) {
    const bool gfx9 = target.starts_with("gfx9");
    for (const auto rule : {sim::SoffsetRule::excluded, sim::SoffsetRule::included, sim::SoffsetRule::both}) {
      INFO(target << ", rule " << static_cast<int>(rule));
      sim::Options options;
      options.soffset = rule;
      Access a{.target = target,
               .body = gfx9 ? "buffer_load_dword v2, v1, s[4:7], s8 offen"
                            : "buffer_load_b32 v2, v1, s[4:7], s8 offen",
               .voffset = 0xFFFFF000,
               .soffset = 0x1000,
               .records = 4096,
               .dwords = 1024};
      const auto load = run_access(a, options);
      CHECK(text(load->probe->faults()).empty());
      CHECK(load->probe->vgpr(2, 0) == 0);
      a.body = gfx9 ? "buffer_store_dword v2, v1, s[4:7], s8 offen\n s_waitcnt vmcnt(0)\n"
                      "buffer_load_dword v3, off, s[4:7], 0"
                    : "buffer_store_b32 v2, v1, s[4:7], s8 offen\n buffer_load_b32 v3, off, s[4:7], null";
      const auto store = run_access(a, options);
      CHECK(text(store->probe->faults()).empty());
      CHECK(store->probe->vgpr(3, 0) == 100);  // nothing was stored at offset 0
    }
  }
}

TEST_CASE("case 40: word 3 must carry the target's own bounds rule", "[sim][cases]") {
  CHECK(target::find("gfx1151")->buffer_word3 == 0x31027000);
  CHECK(target::find("gfx942")->buffer_word3 == 0x27000);
  const auto run = [](const std::string& target, std::uint32_t word3) {
    const bool gfx9 = target.starts_with("gfx9");
    return run_access({.target = target,
                       .body = gfx9 ? "buffer_load_dword v2, v1, s[4:7], 0 offen"
                                    : "buffer_load_b32 v2, v1, s[4:7], 0 offen",
                       .voffset = 256,
                       .records = 256,
                       .dwords = 64,
                       .word3 = word3});
  };
  for (const std::string target : {"gfx1151", "gfx942", "gfx950"}) {
    const auto right = run(target, 0);
    CHECK(text(right->probe->faults()).empty());
    CHECK(right->probe->vgpr(2, 0) == 0);
  }
  CHECK(count(run("gfx1151", 0x01027000)->probe->faults(), FaultKind::descriptor) == 1);  // no OOB_SELECT
  CHECK(count(run("gfx1151", 0x00027000)->probe->faults(), FaultKind::descriptor) == 1);  // gfx9's
  CHECK(count(run("gfx942", 0x31027000)->probe->faults(), FaultKind::descriptor) == 1);   // gfx11's
  CHECK(count(run("gfx942", 0x00007000)->probe->faults(), FaultKind::descriptor) == 1);   // no DATA_FORMAT
}

// Q6_K: blocks of 210 bytes, so block 1 starts at an address that is 2 modulo 4.
TEST_CASE("case 44: dword loads at 2-byte aligned addresses need the unaligned mode, in LDS they never work",
          "[sim][cases]") {
  const auto run = [](const std::string& body, bool unaligned, std::uint32_t& result) {
    sim::Options options;
    options.global_unaligned_mode = unaligned;
    auto b = make_bench({.body = body, .lds_bytes = 1024}, options, 1);
    std::vector<std::uint32_t> words(105);  // two blocks
    for (unsigned i = 0; i < 210; ++i)
      reinterpret_cast<std::uint16_t*>(words.data())[i] = static_cast<std::uint16_t>(i);
    set_pair(*b->probe, 4, upload(b->memory, words));
    b->probe->set_vgpr(1, 0, 210);
    b->probe->run();
    result = b->probe->vgpr(2, 0);
    return b->probe->faults();
  };
  std::uint32_t result = 0;
  const std::string dword = "global_load_b32 v2, v1, s[4:5]";
  CHECK(count(run(dword, false, result), FaultKind::misaligned) == 1);
  CHECK(run(dword, true, result).empty());
  CHECK(result == (106U << 16 | 105U));
  // Narrow loads need no mode.
  CHECK(run("global_load_u16 v2, v1, s[4:5]", false, result).empty());
  CHECK(result == 105);
  const std::string lds =
      "v_mov_b32 v3, 0\n ds_store_b16 v1, v3\n ds_store_b16 v1, v3 offset:2\n ds_load_b32 v2, v1";
  CHECK(count(run(lds, true, result), FaultKind::misaligned) == 1);
}

/// Loads to LDS by `waves` waves of 64 lanes, each at its own 64 slots; s[4:7] describes `records` bytes.
sim::RunReport load_to_lds(const std::string& load, unsigned waves, unsigned lds_bytes, std::uint32_t records,
                           std::vector<std::uint32_t>& tile) {
  const std::string body =
      "s_load_dwordx4 s[4:7], s[0:1], 0x0\n s_load_dwordx2 s[8:9], s[0:1], 0x10\n v_and_b32 v0, 0x3ff, v0\n"
      "s_nop 3\n v_readfirstlane_b32 s12, v0\n v_lshlrev_b32 v1, 2, v0\n v_mov_b32 v2, 5\n s_lshl_b32 s12, "
      "s12, 2\n"
      "s_mov_b32 m0, s12\n s_waitcnt lgkmcnt(0)\n" +
      load;
  const sim::Program program =
      make_program({.body = body, .target = "gfx950", .kernarg_bytes = 24, .lds_bytes = lds_bytes});
  sim::Memory memory;
  const std::uint64_t data = upload(memory, counting(512));
  const std::uint64_t out = *memory.allocate(2048, 16, "output");
  const std::array<std::uint32_t, 6> kernarg{static_cast<std::uint32_t>(data),
                                             static_cast<std::uint32_t>(data >> 32),
                                             records,
                                             target::find("gfx950")->buffer_word3,
                                             static_cast<std::uint32_t>(out),
                                             static_cast<std::uint32_t>(out >> 32)};
  sim::LaunchParams launch;
  launch.block = {64 * waves, 1, 1};
  launch.kernarg = std::as_bytes(std::span(kernarg));
  auto report = sim::run(program, memory, launch);
  REQUIRE(report);
  tile.assign(64, 0);
  REQUIRE(memory.read(out, std::as_writable_bytes(std::span(tile))));
  return *std::move(report);
}

TEST_CASE("case 62: loads to LDS past the tile are faults; masked lanes are zero or stale", "[sim][cases]") {
  std::vector<std::uint32_t> tile;
  const std::string load = "buffer_load_dword v1, s[4:7], 0 offen lds\n s_waitcnt vmcnt(0)";
  // 512 threads on 64 slots: waves 1 to 7 write outside. On 512 slots nothing is wrong.
  const sim::RunReport small = load_to_lds(load, 8, 256, 2048, tile);
  CHECK(small.totals[static_cast<std::size_t>(FaultKind::out_of_bounds)] == 7);
  INFO(text(small.faults));
  REQUIRE(small.faults.size() == 1);
  CHECK(small.faults[0].wave == 1);
  CHECK(load_to_lds(load, 8, 2048, 2048, tile).clean());

  // The tile holds 5 before; the upper 32 lanes are masked.
  const std::string before = "ds_write_b32 v1, v2\n s_waitcnt lgkmcnt(0)\n";
  const std::string after =
      "s_waitcnt vmcnt(0)\n s_mov_b64 exec, -1\n ds_read_b32 v3, v1\n s_waitcnt lgkmcnt(0)\n"
      "global_store_dword v1, v3, s[8:9]";
  const auto check = [&](const std::string& masked, std::uint32_t records, std::uint32_t upper) {
    const sim::RunReport r = load_to_lds(before + masked + after, 1, 256, records, tile);
    INFO(text(r.faults));
    CHECK(r.clean());
    for (unsigned l = 0; l < 64; ++l) CHECK(tile[l] == (l < 32 ? 100 + l : upper));
  };
  // Masked by the descriptor's end: zeros. By EXEC, as a global load has to be: what was there.
  check("buffer_load_dword v1, s[4:7], 0 offen lds\n", 128, 0);
  check("s_mov_b64 exec, 0xffffffff\n global_load_lds_dword v1, s[4:5]\n", 2048, 5);
  // What was there may be nothing: then it is undefined, not zero.
  const sim::RunReport stale = load_to_lds(
      "s_mov_b64 exec, 0xffffffff\n global_load_lds_dword v1, s[4:5]\n" + after, 1, 256, 2048, tile);
  CHECK(stale.totals[static_cast<std::size_t>(FaultKind::undefined_value)] == 1);
}

}  // namespace
}  // namespace wavejit::test
