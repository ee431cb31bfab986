// SPDX-License-Identifier: MIT
// Rows of shared/cases.md about memory: tails, strides, tensors beyond 2 and 4 GiB, descriptors,
// launches. Tensors end exactly at their allocation's last byte and nothing lies around them, so "no
// access past the end" is checked by every run. Big ones hold only the rows that the chosen tiles use.
#include <catch2/catch.hpp>

#include "generator/lower/lower.hpp"
#include "tests/templates/w4a16_request.hpp"

using namespace wavejit;
using test::request;

TEST_CASE("case 19: columns of a last, narrower tile are computed", "[w4a16][cases]") {
  harness::Request r = request(1, GENERATE(32, 96), 1024, 32);
  r.config = harness::tile(16, 64, 32, 4);
  CHECK(harness::passes(r));
}

TEST_CASE("case 21: fewer rows than the tile: nothing is read past the activations", "[w4a16][cases]") {
  harness::Request r = request(GENERATE(1, 17), 64, 2560, 32);
  r.config = harness::tile(128, 64, 32, 8);
  CHECK(harness::passes(r));
}

TEST_CASE("case 22: the last row tile writes no row that does not exist", "[w4a16][cases]") {
  harness::Request r = request(17, 16, 64, 32);
  r.problem.output_stride = GENERATE(16, 24);  // with padding, its bytes are canaries too
  r.config = harness::tile(GENERATE(16U, 32U), 16, 32, 1);
  CHECK(harness::passes(r));
}

TEST_CASE("case 23: N = 72 runs, K = 1000 with group 8 does not", "[w4a16][cases]") {
  CHECK(harness::passes(request(8, 72, 1024, 128)));
  CHECK(harness::refused(request(8, 72, 1000, 8), "group"));
}

TEST_CASE("case 24: columns beyond 32767 are written", "[w4a16][cases]") {
  harness::Request r = request(16, 73448, 2560, 64);
  r.config = harness::tile(16, 64, 32, 4);
  r.tiles = {{.row = 0, .column = 511}, {.row = 0, .column = 512}, {.row = 0, .column = 1147}};
  const harness::Outcome outcome = harness::passes(r);
  CHECK(outcome);
  REQUIRE(outcome.report);
  CHECK(outcome.report->tiles.back().block.column_end == 73448);
}

TEST_CASE("case 33: a row's K steps stop before the next row", "[w4a16][cases]") {
  harness::Request r = request(2, 16, 96, 32);
  oracle::Values values = oracle::constant_values(0, 1, 1);
  values.activations = oracle::each([](std::int64_t m, std::int64_t) { return m == 0 ? 0.0 : 1000.0; });
  r.values = values;
  for (const unsigned depth : {0U, 1U, 2U}) {
    r.config = harness::tile(16, 16, 32, 1);
    r.config->pipeline_depth = depth;
    const harness::Outcome outcome = harness::passes(r);
    CHECK(outcome);
    REQUIRE(outcome.report);
    for (std::int64_t n = 0; n < 16; ++n) {
      CHECK(outcome.report->at(0, n) == 0);
      CHECK(outcome.report->at(1, n) == oracle::encode(96000, oracle::Format::bf16));
    }
  }
  r.config = harness::tile(16, 16, 64, 1);
  CHECK(harness::refused(r, "bk"));  // BK 64 would straddle groups of 32
}

TEST_CASE("case 35: M * K over 2^31 elements", "[w4a16][cases]") {
  harness::Request r = request(524289, 8, 4096, 32);  // activations end 4 GiB + 8192 bytes in
  r.config = harness::tile(128, 16, 32, 8);
  r.tiles = {{.row = 524288 / 128, .column = 0}, {.row = 0, .column = 0}};
  const harness::Outcome outcome = harness::passes(r);
  CHECK(outcome);
  REQUIRE(outcome.report);
  CHECK(outcome.report->tiles.front().block.rows() == 1);
}

TEST_CASE("case 36: output index over 2^31", "[w4a16][cases]") {
  harness::Request r = request(32769, 65536, 32, 32);  // the row's K = 16 is no whole group here
  r.config = harness::tile(128, 64, 32, 8);
  r.tiles = {{.row = 256, .column = 1023}, {.row = 256, .column = 0}, {.row = 255, .column = 1023}};
  CHECK(harness::passes(r));
}

TEST_CASE("case 37: activation rows beyond 2^31 bytes", "[w4a16][cases]") {
  harness::Request r = request(131073, 16, 8192, 128);
  r.config = harness::tile(32, 16, 32, 2);
  r.tiles = {{.row = 131072 / 32, .column = 0}, {.row = 131071 / 32, .column = 0}};
  CHECK(harness::passes(r));
}

TEST_CASE("case 38: a tensor of 4 GiB and a little: low rows do not read as zero", "[w4a16][cases]") {
  harness::Request r = request(262145, 16, 8192, 128);
  r.config = harness::tile(32, 16, 32, 2);
  r.tiles = {{.row = 0, .column = 0}, {.row = 262144 / 32, .column = 0}};
  CHECK(harness::passes(r));
}

TEST_CASE("weights over 4 GiB", "[w4a16][cases]") {
  harness::Request r = request(16, 1100000, 8192, 128);  // 4.2 GiB of int4
  r.config = harness::tile(16, 64, 32, 4);
  r.tiles = {{.row = 0, .column = 17187}, {.row = 0, .column = 0}};  // the last: columns 1099968..1099999
  const harness::Outcome outcome = harness::passes(r);
  CHECK(outcome);
  REQUIRE(outcome.report);
  CHECK(outcome.report->tiles.front().block.columns() == 32);
}

TEST_CASE("case 39: a masked lane stays masked whatever the scalar offset", "[w4a16][cases]") {
  // Lanes beyond the tile's rows are masked by their offset while soffset walks along K: under neither
  // rule may the sum wrap back into the tensor. (The bare wrap is a test of the simulator.)
  harness::Request r = request(1, 8, 4096, 128);
  r.config = harness::tile(64, 64, 32, 4);
  r.config->techniques.exact_descriptors = GENERATE(true, false);
  r.sim.soffset = GENERATE(sim::SoffsetRule::excluded, sim::SoffsetRule::included, sim::SoffsetRule::both);
  CHECK(harness::passes(r));
}

TEST_CASE("case 40: every descriptor that the code builds carries the target's word 3", "[w4a16][cases]") {
  const target::Target& target = *target::find("gfx1151");
  CHECK(target.buffer_word3 == 0x31027000);  // OOB_SELECT = 3, the row's right value for gfx11
  templates::Problem p = request(1, 64, 256, 32).problem;
  const auto kernel = templates::generate(p, harness::tile(64, 64, 32, 4), target);
  REQUIRE(kernel);
  const auto object = lower::decode(kernel->code_object);
  REQUIRE(object);
  unsigned found = 0;
  for (const lower::DecodedInstruction& d : object->kernels.at(0).instructions)
    for (unsigned i = 0; i < d.inst.src_count; ++i)
      found +=
          d.inst.src[i].kind == isa::Operand::Kind::imm && (d.inst.src[i].value & 0xFFFFFFFF) == 0x31027000;
  CHECK(found >= 4);  // activations, weights, scales, output
}

TEST_CASE("case 42: activation rows at a stride of their own", "[w4a16][cases]") {
  harness::Request r = request(GENERATE(1, 2), 8, 128, 32);
  r.problem.activation_stride = 6288;
  CHECK(harness::passes(r));
}

TEST_CASE("case 45: a base that is not aligned enough is refused, one that is just enough runs",
          "[w4a16][cases]") {
  harness::Request r = request(1, 16, 1024, 32);
  r.alignment["activations"] = 2;
  CHECK(harness::refused(r, "activations"));
  r.alignment["activations"] = 16;
  CHECK(harness::passes(r));
}

TEST_CASE("case 73: a grid of 2^32 work-items in x is refused", "[w4a16][cases]") {
  templates::Problem p = request(1, 64, 64, 32).problem;
  const target::Target& target = *target::find("gfx1151");
  const auto config = harness::tile(16, 64, 32, 4);  // 128 work-items
  const std::int64_t most = ((1LL << 32) / 128 - 1) * 16;
  const auto fits = templates::launch(p, config, target, most);
  REQUIRE(fits);
  CHECK(static_cast<std::uint64_t>(fits->grid[0]) * fits->block[0] < (1ULL << 32));
  const auto too_many = templates::launch(p, config, target, most + 1);
  REQUIRE_FALSE(too_many);
  CHECK(too_many.error().message.contains("2^32"));
}
