// SPDX-License-Identifier: MIT
// Activations that go from memory to LDS without registers (gfx950): against the oracle, and that the wait in
// front of the barrier is what makes it right.
#include <catch2/catch.hpp>
#include <regex>

#include "generator/lower/lower.hpp"
#include "tests/templates/cdna/requests.hpp"

using namespace wavejit;
using test::int4;

namespace {

templates::Config direct(unsigned bm, unsigned bn, unsigned bk, unsigned waves, unsigned split_k = 1) {
  templates::Config c = test::mfma(bm, bn, bk, waves, split_k);
  c.lds_dma = true;
  c.lds_buffers = 2;
  return c;
}

harness::Request request(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t group,
                         const templates::Config& config) {
  harness::Request r = int4(m, n, k, group, "gfx950");
  r.problem.zero_points = templates::ZeroPoints::additive;
  r.config = config;
  return r;
}

}  // namespace

TEST_CASE("direct to LDS: 1 to 5 and 8 steps, both shapes of matrix instruction, tails", "[cdna][lds_dma]") {
  const std::int64_t steps = GENERATE(1, 2, 3, 4, 5, 8);
  const bool tall = GENERATE(false, true);
  harness::Request r = tall ? request(40, 72, 64 * steps, 64, direct(64, 64, 64, 2))
                            : request(17, 200, 128 * steps, 128, direct(16, 128, 128, 4));
  r.config->unroll = GENERATE(1U, 2U);
  r.config->pipeline_depth = GENERATE(0U, 1U);
  const harness::Outcome outcome = harness::passes(r);
  CHECK(outcome);
  REQUIRE(outcome.report);
  CHECK(outcome.report->run.lds_conflict_cycles == 0);
}

TEST_CASE("direct to LDS: split K, batches, padded rows, several blocks and passes", "[cdna][lds_dma]") {
  harness::Request r = request(70, 136, 1024, 128, direct(64, 128, 128, 4, GENERATE(1U, 2U)));
  r.problem.batch = 2;
  r.problem.activation_stride = 1024 + 64;
  r.problem.activation = GENERATE(templates::DataType::bf16, templates::DataType::f16);
  CHECK(harness::passes(r));
}

TEST_CASE("direct to LDS: grouped and W4A16", "[cdna][lds_dma]") {
  harness::Request grouped = test::int4_grouped({33, 0, 1, 64}, 104, 96, 256, 64, "gfx950");
  grouped.config = direct(32, 64, 64, 2);
  CHECK(harness::passes(grouped));
  harness::Request w4a16;
  w4a16.target = "gfx950";
  w4a16.m = 70;
  w4a16.problem.n = 136;
  w4a16.problem.k = 512;
  w4a16.problem.group = 32;
  w4a16.problem.zero_points = templates::ZeroPoints::packed;
  w4a16.config = direct(64, 128, 64, 4);
  CHECK(harness::passes(w4a16));
}

TEST_CASE("direct to LDS: no activation passes through a register", "[cdna][lds_dma]") {
  const harness::Request r = request(128, 128, 1024, 128, direct(128, 128, 64, 4));
  const auto kernel = templates::generate(r.problem, *r.config, *target::find("gfx950"), {.assemble = false});
  REQUIRE(kernel);
  unsigned direct_loads = 0;
  for (const ir::Block& block : kernel->ir.blocks)
    for (const ir::Instruction& i : block.insts) {
      CHECK_FALSE((i.mi.pipe() == isa::Pipe::lds && i.mi.has(isa::flag::store)));
      if (!block.is_loop_body || !isa::loads_to_lds(i.mi)) continue;
      CHECK(i.mi.op == isa::Opcode::buffer_load_b128);
      ++direct_loads;
    }
  CHECK(direct_loads == 128 * 64 * 2 / (256 * 16));  // bytes of the step over those that all lanes load
}

TEST_CASE("direct to LDS: without the wait at the barrier the simulator objects", "[cdna][lds_dma]") {
  const harness::Request r = request(64, 128, 512, 128, direct(64, 128, 64, 4));
  const target::Target& target = *target::find("gfx950");
  const auto kernel = templates::generate(r.problem, *r.config, target, {.assemble = false});
  REQUIRE(kernel);
  const std::regex wait("s_waitcnt vmcnt\\([0-9]+\\)[^\n]*\n[\t ]*s_barrier");
  const std::string text = std::regex_replace(kernel->assembly, wait, "s_barrier");
  REQUIRE(text != kernel->assembly);
  const auto object = lower::assemble(text, target);
  REQUIRE(object);
  const auto linked = lower::link(*object);
  REQUIRE(linked);
  const auto report = harness::run_object(*linked, r);
  REQUIRE(report);
  CHECK_FALSE(report->ok());
  CHECK(report->run.totals[static_cast<std::size_t>(sim::FaultKind::unwaited_at_barrier)] > 0);
}

TEST_CASE("direct to LDS is refused where it cannot be", "[cdna][lds_dma]") {
  harness::Request r = request(64, 128, 512, 128, direct(64, 128, 64, 4));
  r.target = "gfx942";  // one dword a lane
  CHECK(harness::refused(r, "lds_dma"));
  r.target = "gfx950";
  r.config->lds_buffers = 1;
  CHECK(harness::refused(r, "lds_buffers"));
  r.config->lds_buffers = 2;
  r.config->pipeline_depth = 2;
  CHECK(harness::refused(r, "pipeline_depth"));
}

TEST_CASE("direct to LDS is part of a Config's text", "[cdna][lds_dma]") {
  const harness::Request r = request(64, 128, 512, 128, direct(64, 128, 64, 4));
  const auto config = templates::normalise(
      *r.config, *templates::normalise(r.problem, *target::find("gfx950")), *target::find("gfx950"));
  REQUIRE(config);
  const auto again = templates::parse_config(templates::canonical(*config));
  REQUIRE(again);
  CHECK(again->lds_dma);
  CHECK(templates::canonical(*again) == templates::canonical(*config));
  CHECK_FALSE(templates::parse_config(templates::canonical(*config) + " lds-dma"));
}
