// SPDX-License-Identifier: MIT
// What a launch may ask for, how a wave starts (hardware.md §9.2), and what a report holds.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>

#include "tests/runtime/sim/asm_kernel.hpp"

namespace wavejit::test {
namespace {

using sim::FaultKind;

/// Writes one dword per work-item to the buffer whose address is the only kernel argument. v1 = the value;
/// the place is 4 * (linear work-item of the launch), for one-dimensional grids of one wave.
std::string store_value(const std::string& value) {
  return "s_load_b64 s[10:11], s[0:1], 0x0\n v_and_b32 v5, 0x3ff, v0\n s_lshl_b32 s12, s2, 7\n "
         "v_lshl_add_u32 v6, v5, 2, s12\n" +
         value + "\n s_waitcnt lgkmcnt(0)\n global_store_b32 v6, v1, s[10:11]";
}

struct Launched {
  sim::RunReport report;
  std::vector<std::uint32_t> output;
};

Launched launch(const std::string& value, sim::LaunchParams params, unsigned words) {
  const sim::Program program = make_program({.body = store_value(value), .kernarg_bytes = 8});
  sim::Memory memory;
  const auto out = memory.allocate(4 * words, 64, "out");
  REQUIRE(out);
  const std::uint64_t pointer = *out;
  params.kernarg = std::as_bytes(std::span(&pointer, 1));
  auto report = sim::run(program, memory, params);
  INFO((report ? text(report->faults) : report.error().message));
  REQUIRE(report);
  Launched result{*std::move(report), std::vector<std::uint32_t>(words)};
  REQUIRE(memory.read(*out, std::as_writable_bytes(std::span(result.output))));
  return result;
}

TEST_CASE("Workgroup and work-item ids", "[sim][launch]") {
  const auto r = launch("s_lshl_b32 s13, s2, 8\n v_or_b32 v1, s13, v5", {.grid = {4, 1, 1}}, 128);
  CHECK(r.report.distinct_faults == 0);
  for (unsigned i = 0; i < 128; ++i) CHECK(r.output[i] == (i / 32 << 8 | i % 32));
  // Work-items are packed: x [9:0], y [19:10], z [29:20].
  const auto packed = launch("v_mov_b32 v1, v0\n v_mbcnt_lo_u32_b32 v5, -1, 0\n v_lshlrev_b32 v6, 2, v5",
                             {.block = {4, 4, 2}}, 32);
  CHECK(packed.report.distinct_faults == 0);
  for (unsigned i = 0; i < 32; ++i) CHECK(packed.output[i] == (i % 4 | i / 4 % 4 << 10 | i / 16 << 20));
  // Y and Z follow X in the SGPRs.
  const auto yz = launch(
      "s_lshl_b32 s13, s3, 4\n s_or_b32 s13, s13, s4\n v_mov_b32 v1, s13\n s_lshl_b32 s14, s3, 7\n "
      "s_lshl_b32 s15, s4, 8\n"
      "s_add_u32 s14, s14, s15\n v_lshl_add_u32 v6, v5, 2, s14",
      {.grid = {1, 2, 3}}, 192);
  CHECK(yz.report.distinct_faults == 0);
  for (unsigned g = 0; g < 6; ++g) CHECK(yz.output[g * 32] == ((g % 2) << 4 | g / 2));
}

TEST_CASE("Lanes beyond the workgroup are off", "[sim][launch]") {
  auto b = make_bench({.body = "s_mov_b32 s10, exec_lo"}, {}, 20);
  b->probe->run();
  CHECK(b->probe->sgpr(10) == 0xFFFFF);
  CHECK(b->probe->vgpr_defined(0, 19));
  CHECK_FALSE(b->probe->vgpr_defined(0, 20));
}

TEST_CASE("Nothing else is defined at the start", "[sim][launch]") {
  auto b = make_bench({.body = "s_nop 0"});
  for (const unsigned s : {0U, 1U, 2U, 3U, 4U, isa::sreg::exec_lo}) CHECK(b->probe->sgpr_defined(s));
  for (const unsigned s : {5U, 6U, 50U, isa::sreg::vcc_lo, isa::sreg::m0})
    CHECK_FALSE(b->probe->sgpr_defined(s));
  CHECK(b->probe->vgpr_defined(0, 3));
  CHECK_FALSE(b->probe->vgpr_defined(1, 3));
}

TEST_CASE("The dispatch packet gives sizes to kernels that ask", "[sim][launch]") {
  const sim::Program program = make_program(
      {.body =
           "s_load_b32 s10, s[0:1], 0x4\n s_load_b32 s11, s[0:1], 0xc\n s_load_b64 s[12:13], s[2:3], 0x0\n "
           "s_waitcnt lgkmcnt(0)\n"
           "v_mov_b32 v1, s10\n v_mov_b32 v2, s11\n v_mov_b32 v6, 0\n global_store_b64 v6, v[1:2], s[12:13]",
       .kernarg_bytes = 8,
       .descriptor = "\t\t.amdhsa_user_sgpr_dispatch_ptr 1\n"});
  sim::Memory memory;
  const auto out = memory.allocate(8, 8, "out");
  const std::uint64_t pointer = *out;
  sim::LaunchParams params{
      .grid = {3, 1, 1}, .block = {16, 2, 1}, .kernarg = std::as_bytes(std::span(&pointer, 1))};
  const auto report = sim::run(program, memory, params);
  REQUIRE(report);
  INFO(text(report->faults));
  CHECK(report->distinct_faults == 0);
  std::uint32_t words[2];
  REQUIRE(memory.read(*out, std::as_writable_bytes(std::span(words))));
  CHECK(words[0] == (16 | 2 << 16));  // workgroup sizes x and y, 16 bits each
  CHECK(words[1] == 48);              // grid size x in work-items
}

TEST_CASE("The kernarg segment is exactly as long as given", "[sim][launch]") {
  const sim::Program program = make_program({.body = "s_load_b64 s[10:11], s[0:1], 0x8", .kernarg_bytes = 8});
  sim::Memory memory;
  const std::uint64_t arguments[2] = {1, 2};
  sim::LaunchParams params;
  params.kernarg = std::as_bytes(std::span(arguments));
  CHECK(sim::run(program, memory, params)->distinct_faults == 0);
  params.kernarg = params.kernarg.first(8);
  const auto report = sim::run(program, memory, params);
  CHECK(report->totals[static_cast<std::size_t>(FaultKind::out_of_bounds)] == 2);
  CHECK(report->faults.at(0).nearest.empty());
  CHECK(report->faults.at(0).detail.find("kernarg") != std::string::npos);
}

TEST_CASE("Launches that cannot be", "[sim][launch]") {
  const sim::Program program = make_program({.body = "s_nop 0", .kernarg_bytes = 16, .lds_bytes = 1024});
  sim::Memory memory;
  const std::vector<std::byte> kernarg(16);
  const auto refused = [&](sim::LaunchParams p, std::string_view field) {
    if (p.kernarg.empty()) p.kernarg = kernarg;
    const auto r = sim::run(program, memory, p);
    REQUIRE_FALSE(r);
    INFO(r.error().message);
    CHECK(r.error().code == ErrorCode::invalid_argument);
    CHECK(r.error().field == field);
  };
  refused({.grid = {0, 1, 1}}, "grid");
  refused({.block = {0, 1, 1}}, "block");
  refused({.block = {1025, 1, 1}}, "block");
  refused({.grid = {16777216, 1, 1}, .block = {256, 1, 1}}, "grid");  // 2^32 work-items: cases.md 73
  // Products of 2^64 and of 2^33.
  refused({.grid = {4194304, 2097152, 2097152}}, "grid");
  refused({.grid = {1U << 22, 1U << 11, 1}}, "grid");
  refused({.block = {1U << 22, 1U << 21, 1U << 21}}, "block");
  refused({.dynamic_lds_bytes = 65536 - 1023}, "LDS");
  refused({.kernarg = std::span(kernarg).first(15)}, "kernarg");
  refused({.grid = {2, 2, 1}, .workgroups = {4}}, "workgroups");
  sim::LaunchParams fine{.dynamic_lds_bytes = 65536 - 1024};
  fine.kernarg = kernarg;
  CHECK(sim::run(program, memory, fine).has_value());
}

TEST_CASE("An unknown instruction is refused before anything runs", "[sim][launch]") {
  lower::DecodedKernel kernel;
  kernel.name = "odd";
  isa::Instruction none;
  kernel.instructions.push_back({.inst = none, .address = 0x1234, .size = 4, .text = "s_strange 7"});
  const auto program = sim::Program::create(kernel, *target::find("gfx1151"));
  REQUIRE_FALSE(program);
  CHECK(program.error().code == ErrorCode::unknown_instruction);
  CHECK(program.error().message.find("s_strange 7") != std::string::npos);
  CHECK(program.error().message.find("0x1234") != std::string::npos);
  kernel.instructions.clear();
  CHECK(sim::Program::create(kernel, *target::find("gfx1151")).error().code ==
        ErrorCode::invalid_code_object);
}

TEST_CASE("Operands that cannot be are refused", "[sim][launch]") {
  const auto create = [](isa::Operand dst, isa::Operand src) {
    lower::DecodedKernel kernel;
    kernel.name = "odd";
    isa::Instruction i;
    i.op = isa::Opcode::v_mov_b32;
    i.dst_count = i.src_count = 1;
    i.dst[0] = dst;
    i.src[0] = src;
    kernel.instructions.push_back({.inst = i, .address = 0, .size = 4, .text = "x"});
    return sim::Program::create(kernel, *target::find("gfx1151"));
  };
  CHECK(create(isa::vgpr(1), isa::vgpr(255)).has_value());
  for (const auto& [dst, src] : {std::pair{isa::vgpr(1), isa::vgpr(256)},
                                 {isa::vgpr(1000), isa::vgpr(0)},
                                 {isa::vgpr(1, 2), isa::vgpr(0)},
                                 {isa::sgpr(1), isa::vgpr(0)},
                                 {isa::vgpr(1), isa::sgpr(4000)},
                                 {isa::vgpr(1), isa::label(3)},
                                 {isa::vgpr(1), isa::Operand{}},
                                 {isa::imm(1), isa::vgpr(0)}}) {
    const auto program = create(dst, src);
    REQUIRE_FALSE(program);
    CHECK(program.error().code == ErrorCode::invalid_code_object);
  }
  isa::Operand unassigned = isa::vgpr(3);
  unassigned.is_virtual = true;
  CHECK_FALSE(create(isa::vgpr(1), unassigned));
}

TEST_CASE("Running off the end is a fault, not a crash", "[sim][launch]") {
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
  const auto report = sim::run(*program, memory, {});
  REQUIRE(report);
  CHECK(report->totals[static_cast<std::size_t>(FaultKind::control_flow)] == 1);
}

TEST_CASE("A sample of workgroups, progress and threads", "[sim][launch]") {
  std::atomic<unsigned> calls{0};
  std::uint64_t last = 0;
  sim::LaunchParams params{.grid = {100, 1, 1}, .workgroups = {7, 99, 0}};
  params.options.progress = [&](std::uint64_t done, std::uint64_t all) {
    ++calls;
    last = std::max(last, done);
    CHECK(all == 3);
  };
  const auto r = launch("v_mov_b32 v1, 1", params, 3200);
  CHECK(calls == 3);
  CHECK(last == 3);
  CHECK(r.report.workgroups == 3);
  CHECK(std::ranges::count(r.output, 1U) == 96);
  CHECK(r.output[7 * 32] == 1);
  CHECK(r.output[8 * 32] == 0);
}

TEST_CASE("The report does not depend on the number of threads", "[sim][launch]") {
  const auto run = [](unsigned threads) {
    sim::LaunchParams params{.grid = {50, 1, 1}};
    params.options.threads = threads;
    return launch("v_add_nc_u32 v1, v9, v5", params, 1600).report;  // v9 is undefined
  };
  const sim::RunReport one = run(1);
  const sim::RunReport four = run(4);
  CHECK(one.distinct_faults == 1);
  CHECK(one.totals == four.totals);
  CHECK(one.wave_instructions == four.wave_instructions);
  CHECK(one.executed == four.executed);
  REQUIRE(four.faults.size() == 1);
  CHECK(sim::to_string(one.faults[0]) == sim::to_string(four.faults[0]));
  CHECK(one.faults[0].count == 50);
  CHECK(one.faults[0].workgroup[0] == 0);
}

TEST_CASE("Instructions are counted by class, a pair once", "[sim][launch]") {
  const sim::Program program = make_program(
      {.body =
           "v_dual_mov_b32 v2, 1 :: v_dual_mov_b32 v3, 2\n v_mov_b32 v4, 3\n s_mov_b32 s10, 4\n s_nop 0"});
  sim::Memory memory;
  sim::LaunchParams params;
  params.block = {64, 1, 1};
  const auto r = sim::run(program, memory, params);
  REQUIRE(r);
  CHECK(r->waves == 2);
  CHECK(r->per_pipe[static_cast<std::size_t>(isa::Pipe::valu)] == 4);
  CHECK(r->per_pipe[static_cast<std::size_t>(isa::Pipe::salu)] == 2);
  CHECK(r->per_pipe[static_cast<std::size_t>(isa::Pipe::hint)] == 2);
  CHECK(r->wave_instructions == 10);  // with s_endpgm
}

TEST_CASE("At most max_faults are described, all are counted", "[sim][launch]") {
  std::string body;
  for (int i = 0; i < 10; ++i) body += "v_add_nc_u32 v1, v2, v0\n";
  sim::Options options;
  options.max_faults = 3;
  const sim::Program program = make_program({.body = body});
  sim::Memory memory;
  sim::LaunchParams params;
  params.options = options;
  const auto r = sim::run(program, memory, params);
  REQUIRE(r);
  CHECK(r->faults.size() == 3);
  CHECK(r->distinct_faults == 10);
  CHECK(r->faults[0].index == 0);  // in the order of execution
  CHECK(r->faults[2].index == 2);
}

TEST_CASE("Scratch is private to each lane and byte-exact", "[sim][launch]") {
  const auto run = [](const char* body) {
    auto b = make_bench({.body = body, .private_bytes = 32});
    b->probe->run();
    return b;
  };
  auto good =
      run("scratch_store_b32 off, v0, off offset:28\n s_waitcnt_vscnt null, 0\n scratch_load_b32 v2, off, "
          "off offset:28\n s_waitcnt vmcnt(0)");
  INFO(text(good->probe->faults()));
  CHECK(good->probe->faults().empty());
  CHECK(good->probe->vgpr(2, 9) == 9);
  CHECK(count(run("scratch_store_b32 off, v0, off offset:32")->probe->faults(), FaultKind::out_of_bounds) ==
        1);
  CHECK(count(run("scratch_load_b32 v2, off, off offset:8\n s_waitcnt vmcnt(0)\n v_add_nc_u32 v3, v2, v0")
                  ->probe->faults(),
              FaultKind::undefined_value) == 1);
}

TEST_CASE("Atomics return what was there", "[sim][launch][memory]") {
  auto b = make_bench(
      {.body = "v_mov_b32 v1, 0\n v_mov_b32 v2, 3\n global_atomic_add_u32 v3, v1, v2, s[10:11] glc\n "
               "s_waitcnt vmcnt(0)\n"
               "global_atomic_max_u32 v1, v0, s[10:11] offset:4\n v_mov_b32 v4, 9\n v_mov_b32 v5, 7\n"
               "global_atomic_cmpswap_b32 v6, v1, v[4:5], s[10:11] offset:8 glc\n s_waitcnt vmcnt(0)"});
  const std::uint32_t words[] = {100, 5, 7};
  const std::uint64_t data = upload(b->memory, words);
  set_pair(*b->probe, 10, data);
  b->probe->run();
  INFO(text(b->probe->faults()));
  CHECK(b->probe->faults().empty());
  CHECK(b->probe->vgpr(3, 0) == 100);
  CHECK(b->probe->vgpr(3, 31) == 193);
  CHECK(b->probe->vgpr(6, 0) == 7);
  CHECK(b->probe->vgpr(6, 1) == 9);
  std::uint32_t after[3];
  REQUIRE(b->memory.read(data, std::as_writable_bytes(std::span(after))));
  CHECK(after[0] == 196);
  CHECK(after[1] == 31);
  CHECK(after[2] == 9);
  auto lds = make_bench({.body = "v_mov_b32 v1, 0\n v_mov_b32 v2, 2\n ds_store_b32 v1, v1\n ds_add_rtn_u32 "
                                 "v3, v1, v2\n ds_load_b32 v4, v1\n s_waitcnt lgkmcnt(0)",
                         .lds_bytes = 4});
  lds->probe->run();
  CHECK(lds->probe->faults().empty());
  CHECK(lds->probe->vgpr(3, 31) == 62);
  CHECK(lds->probe->vgpr(4, 0) == 64);
}

}  // namespace
}  // namespace wavejit::test
