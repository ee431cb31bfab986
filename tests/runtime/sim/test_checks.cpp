// SPDX-License-Identifier: MIT
// Every named check of the simulator: a kernel that breaks its rule is reported under its name, and with
// that one check switched off it is not (other checks stay on). docs/simulator.md has the same table in
// words.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>

#include "generator/lower/lower.hpp"
#include "tests/runtime/sim/asm_kernel.hpp"

namespace wavejit::test {
namespace {

using sim::Checks;
using sim::FaultKind;

/// Occurrences of each kind when the scenario runs with these checks.
using Totals = std::array<std::uint64_t, sim::fault_kinds>;
using Scenario = std::function<Totals(Checks)>;

sim::Options with(Checks checks) {
  sim::Options options;
  options.checks = checks;
  options.max_instructions_per_wave = 1000;
  options.threads = 1;
  return options;
}

/// One wave with registers as `setup` leaves them.
Scenario wave(AsmKernel kernel, const Setup& setup = {}) {
  return [=](Checks checks) {
    Totals totals{};
    for (const sim::Fault& f : faults_of(kernel, setup, with(checks)))
      totals[static_cast<std::size_t>(f.kind)] += f.count;
    return totals;
  };
}

/// `waves` waves of one workgroup and `groups` workgroups; s[4:5] points to 256 bytes, s12 is the wave's
/// first work-item, s13 the workgroup, v1 four times the work-item.
Scenario launch(const std::string& body, unsigned waves, unsigned groups = 1) {
  return [=](Checks checks) {
    const std::string whole =
        "s_mov_b32 s13, s2\n s_load_b64 s[4:5], s[0:1], 0x0\n v_and_b32 v0, 0x3ff, v0\n"
        "v_readfirstlane_b32 s12, v0\n v_lshlrev_b32 v1, 2, v0\n v_mov_b32 v2, s12\n s_waitcnt lgkmcnt(0)\n" +
        body;
    const sim::Program program = make_program({.body = whole, .kernarg_bytes = 8, .lds_bytes = 1024});
    sim::Memory memory;
    const std::uint64_t data = upload(memory, std::vector<std::uint32_t>(64, 1));
    sim::LaunchParams params;
    params.grid = {groups, 1, 1};
    params.block = {32 * waves, 1, 1};
    params.kernarg = std::as_bytes(std::span(&data, 1));
    params.options = with(checks);
    const auto report = sim::run(program, memory, params);
    REQUIRE(report);
    return report->totals;
  };
}

/// A kernel that ends without s_endpgm, which no assembly of ours can.
Totals run_off_the_end(Checks checks) {
  lower::DecodedKernel kernel;
  kernel.name = "endless";
  kernel.descriptor.properties = 0x400;
  isa::Instruction nop;
  nop.op = isa::Opcode::s_nop;
  nop.src_count = 1;
  nop.src[0] = isa::imm(0);
  kernel.instructions.push_back({.inst = nop, .address = 0, .size = 4, .text = "s_nop 0"});
  const auto program = sim::Program::create(kernel, *target::find("gfx1151"));
  REQUIRE(program);
  sim::Memory memory;
  sim::LaunchParams params;
  params.options = with(checks);
  const auto report = sim::run(*program, memory, params);
  REQUIRE(report);
  return report->totals;
}

/// s[4:7] describes 256 bytes with this word 3; v1 is 0.
Setup buffer(std::uint32_t word3) {
  return [=](Bench& b) {
    set_descriptor(*b.probe, 4, upload(b.memory, std::vector<std::uint32_t>(64, 1)), 128, word3);
    b.probe->set_sgpr(8, 128);
    for (unsigned l = 0; l < 32; ++l) b.probe->set_vgpr(1, l, 0);
  };
}

/// A, B and C of a WMMA; lanes 16 to 31 copy lanes 0 to 15 or not.
Setup matrix(bool copied) {
  return [=](Bench& b) {
    for (unsigned r = 8; r < 32; ++r)
      for (unsigned l = 0; l < 32; ++l) b.probe->set_vgpr(r, l, copied ? 0 : l);
  };
}

constexpr const char* wmma = "v_wmma_f32_16x16x16_bf16 v[24:31], v[8:15], v[16:23], v[24:31]";
constexpr const char* wmma_of_one_lane =
    "s_mov_b32 exec_lo, 1\n v_wmma_f32_16x16x16_bf16 v[24:31], v[8:15], v[16:23], v[24:31]";
constexpr std::uint32_t word3 = 0x31027000;

struct Row {
  FaultKind kind;
  Scenario run;
};

std::vector<Row> memory_rows() {
  return {
      {FaultKind::out_of_bounds,
       wave({.body = "v_mov_b32 v1, 0x1000\n ds_store_b32 v1, v1", .lds_bytes = 64})},
      {FaultKind::in_flight, wave({.body = "v_mov_b32 v1, 0\n ds_store_b32 v1, v1\n ds_load_b32 v2, v1\n"
                                           "v_mov_b32 v3, v2",
                                   .lds_bytes = 64})},
      {FaultKind::misaligned, wave({.body = "v_mov_b32 v1, 2\n ds_store_b32 v1, v1", .lds_bytes = 64})},
      {FaultKind::descriptor, wave({.body = "buffer_load_b32 v2, v1, s[4:7], 0 offen"}, buffer(0x01027000))},
      {FaultKind::soffset_dependent,
       wave({.body = "buffer_load_b32 v2, v1, s[4:7], s8 offen"}, buffer(word3))},
      {FaultKind::lds_race, launch("v_mov_b32 v3, 0\n ds_store_b32 v3, v2", 2)},
      {FaultKind::unwaited_at_barrier,
       launch("ds_store_b32 v1, v2\n s_barrier\n v_xor_b32 v3, 0x80, v1\n ds_load_b32 v4, v3", 2)},
      {FaultKind::global_race,
       launch("v_mov_b32 v3, 0\n v_mov_b32 v4, s13\n global_store_b32 v3, v4, s[4:5]", 1, 2)},
  };
}

std::vector<Row> other_rows() {
  return {
      {FaultKind::undefined_value, wave({.body = "v_add_nc_u32 v1, v2, v2"})},
      {FaultKind::hazard,
       wave({.body = "v_cmpx_eq_u32 vcc, v40, v40\n v_mov_b32 v1, src_execz", .target = "gfx942"})},
      {FaultKind::wmma_replication, wave({.body = wmma}, matrix(false))},
      {FaultKind::partial_exec, wave({.body = wmma_of_one_lane}, matrix(true))},
      {FaultKind::register_range, wave({.body = "v_mov_b32 v24, 0", .vgprs = 24})},
      {FaultKind::after_dealloc,
       wave({.body = "s_nop 0\n s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\n v_mov_b32 v1, 0"})},
      {FaultKind::barrier_divergence,
       launch("s_cmp_eq_u32 s12, 0\n s_cbranch_scc1 .Lone\n s_barrier\n s_branch .Lend\n.Lone:\n s_barrier\n"
              ".Lend:",
              2)},
      {FaultKind::watchdog, wave({.body = ".Lx:\n s_branch .Lx"})},
      {FaultKind::control_flow, run_off_the_end},
      // v_mov_b32_e64 v1, v0 whose unused second source field says v1 (llvm-mc encodes 0x00000100 there).
      {FaultKind::reserved_bits, wave({.body = "v_mov_b32 v0, 0\n .long 0xd5810001, 0x00020300"})},
  };
}

std::uint64_t at(const Totals& totals, FaultKind kind) { return totals[static_cast<std::size_t>(kind)]; }

TEST_CASE("every check fires and can be switched off by itself", "[sim][strict][checks]") {
  std::vector<Row> rows = memory_rows();
  std::ranges::move(other_rows(), std::back_inserter(rows));
  CHECK(rows.size() == sim::fault_kinds);
  for (const Row& row : rows) {
    INFO(sim::name(row.kind));
    CHECK(sim::find_fault(sim::name(row.kind)) == row.kind);
    CHECK(sim::describe(row.kind).size() > 20);
    const Totals on = row.run(Checks::all());
    CHECK(at(on, row.kind) > 0);
    Totals expected = on;
    expected[static_cast<std::size_t>(row.kind)] = 0;
    const Totals off = row.run(Checks::all().without(row.kind));
    CHECK(off == expected);
  }
}

TEST_CASE("reserved bits of instructions and kernel descriptors are reported", "[sim][strict][checks]") {
  const auto clean = faults_of({.body = "v_mov_b32_e64 v1, 0\n .long 0xd5810001, 0x00000100"},
                               [](Bench& b) { b.probe->set_vgpr(0, 0, 1); });
  CHECK(count(clean, FaultKind::reserved_bits) == 0);
  // Reported wherever control goes.
  const auto skipped = faults_of({.body = "s_branch .Lx\n .long 0xd5810001, 0x00020300\n.Lx:"});
  REQUIRE(count(skipped, FaultKind::reserved_bits) == 1);
  CHECK(skipped.front().instruction == "v_mov_b32_e64 v1, v0");

  const auto object =
      lower::decode(*lower::link(*lower::assemble(assembly({.body = ""}), *target::find("gfx1151"))));
  REQUIRE(object);
  lower::DecodedKernel kernel = object->kernels.at(0);
  kernel.descriptor.rsrc2 |= 1U << 15;  // LDS size, which the dispatch packet gives
  const auto program = sim::Program::create(kernel, *object->target);
  REQUIRE(program);
  sim::Memory memory;
  const auto report = sim::run(*program, memory, {});
  REQUIRE(report);
  REQUIRE(report->faults.size() == 1);
  CHECK(report->faults[0].kind == FaultKind::reserved_bits);
  CHECK(report->faults[0].detail.find("RSRC2") != std::string::npos);
}

TEST_CASE("a fault names the line of the text that was assembled", "[sim][strict][checks]") {
  const std::string text = assembly({.body = "v_mov_b32 v1, 0\n.p2align 6\n.Lx:\n v_dual_mov_b32 v2, 1.0 :: "
                                             "v_dual_mov_b32 v3, 2.0\n v_add_nc_u32 v4, v9, v9"});
  const target::Target& target = *target::find("gfx1151");
  const auto assembled = lower::assemble(text, target);
  REQUIRE(assembled);
  auto object = lower::decode(*lower::link(*assembled));
  REQUIRE(object);
  REQUIRE(lower::note_source_lines(*object, text, "kernel.s"));
  const auto program = sim::Program::create(object->kernels.at(0), target);
  REQUIRE(program);
  sim::Memory memory;
  const auto report = sim::run(*program, memory, {});
  REQUIRE(report);
  REQUIRE(report->faults.size() == 1);
  const auto line = static_cast<std::size_t>(
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("v9, v9")), '\n') + 1);
  CHECK(report->faults[0].source == "kernel.s:" + std::to_string(line));
  CHECK(sim::to_string(report->faults[0]).find("kernel.s:") != std::string::npos);
}

}  // namespace
}  // namespace wavejit::test
