// SPDX-License-Identifier: MIT
// Decode kernels of CDNA on the simulator, all checks on, against the oracle of the dequantised weights.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "templates/cdna/decode/choose.hpp"
#include "tests/oracle/format.hpp"
#include "tests/templates/cdna/requests.hpp"

using namespace wavejit;
using test::decode;
using test::int4;

namespace {

std::string any_target() { return GENERATE(std::string("gfx942"), std::string("gfx950")); }

}  // namespace

TEST_CASE("decode: rows on both sides of every height", "[cdna][decode]") {
  const std::string target = any_target();
  struct Shape {
    unsigned bm;
    std::int64_t group;
  };
  const Shape s = GENERATE(Shape{4, 128}, Shape{8, 128}, Shape{16, 256}, Shape{8, 64}, Shape{16, 64},
                           Shape{32, 128}, Shape{32, 64});
  const std::int64_t m = GENERATE(0, 1, 2);
  harness::Request r = int4(m == 0 ? 1 : m == 1 ? s.bm : s.bm + 1, 96, 1024, s.group, target);
  r.problem.zero_points = m == 1 ? templates::ZeroPoints::symmetric : templates::ZeroPoints::additive;
  r.config = decode(s.bm, 32, 512, 4);
  CHECK(harness::passes(r));
}

TEST_CASE("decode: tiles, waves, steps and depths", "[cdna][decode]") {
  struct Cut {
    unsigned bn, waves, blocks, depth;
  };
  const Cut c = GENERATE(Cut{16, 1, 1, 1}, Cut{32, 2, 2, 2}, Cut{64, 3, 1, 0}, Cut{64, 4, 1, 2},
                         Cut{16, 7, 1, 2}, Cut{32, 8, 1, 1}, Cut{16, 16, 1, 2}, Cut{32, 16, 1, 2});
  const std::string target = any_target();
  const std::int64_t k = GENERATE(384, 3584);
  harness::Request r = int4(3, 200, k, 128, target);
  r.problem.zero_points = c.depth == 1 ? templates::ZeroPoints::additive : templates::ZeroPoints::symmetric;
  r.config = decode(4, c.bn, 128 * c.waves * c.blocks, c.waves, c.depth);
  CHECK(harness::passes(r));
}

TEST_CASE("decode: types of activations, scales and zeros", "[cdna][decode]") {
  const std::string target = any_target();
  harness::Request r = int4(5, 72, 896, 128, target);
  r.problem.activation = GENERATE(templates::DataType::bf16, templates::DataType::f16);
  r.problem.scale_type =
      GENERATE(templates::DataType::bf16, templates::DataType::f16, templates::DataType::f32);
  r.problem.zero_points = GENERATE(templates::ZeroPoints::symmetric, templates::ZeroPoints::additive);
  r.config = decode(8, 16, 384, 3, 1);
  CHECK(harness::passes(r));
}

TEST_CASE("decode: ExLlama weights, integer zero points, bias", "[cdna][decode]") {
  const std::string target = any_target();
  harness::Request r;
  r.target = target;
  r.m = GENERATE(1, 17);
  r.problem.n = GENERATE(40, 129);
  r.problem.k = 1152;
  r.problem.group = GENERATE(64, 128, -1);
  r.problem.activation = GENERATE(templates::DataType::bf16, templates::DataType::f16);
  r.problem.zero_points = GENERATE(templates::ZeroPoints::symmetric, templates::ZeroPoints::packed);
  r.problem.bias = r.m == 1;
  r.config = r.m == 1 ? decode(8, 32, 512, 4, 1) : decode(16, 64, 256, 2, 2);
  CHECK(harness::passes(r));
}

TEST_CASE("decode: batches, padded rows", "[cdna][decode]") {
  harness::Request r = int4(3, 100, 512, 128, any_target());
  r.problem.batch = GENERATE(2, 3);
  r.problem.zero_points = templates::ZeroPoints::additive;
  r.problem.activation_stride = 512 + 64;
  r.problem.weight_stride = 64 + 4;
  r.problem.scale_stride = 128;
  r.problem.output_stride = 136;
  r.config = decode(4, 16, 256, 2, 1);
  CHECK(harness::passes(r));
}

TEST_CASE("decode: groups of rows on the device, empty ones and a large one", "[cdna][decode]") {
  const std::vector<std::vector<std::int64_t>> sizes{{0, 0, 5}, {0, 0, 0}, {1, 40, 0, 3}, {2}};
  const auto& rows = sizes.at(static_cast<std::size_t>(GENERATE(0, 1, 2, 3)));
  harness::Request r = test::int4_grouped(rows, 48, 72, 384, 128, any_target());
  r.problem.zero_points = GENERATE(templates::ZeroPoints::symmetric, templates::ZeroPoints::additive);
  r.config = decode(8, 32, 256, 2, 1);
  CHECK(harness::passes(r));
}

TEST_CASE("decode, case 49: an infinity gives what each weight's sign says, and other rows keep their bits",
          "[cdna][decode][cases]") {
  // Through 136 + q and the sum of the activations alone every element of row 0 would be NaN.
  const std::string target = any_target();
  const bool w4a16 = GENERATE(false, true);
  harness::Request r = int4(3, 40, 1152, 128, target);
  if (w4a16) {
    r.problem.op = templates::Operation::w4a16;
    r.problem.layout = templates::WeightLayout::exllama;
  }
  r.problem.activation = GENERATE(templates::DataType::bf16, templates::DataType::f16);
  const unsigned waves = GENERATE(1U, 4U);
  r.config = decode(4, 16, 128 * waves, waves);
  const std::int64_t place = GENERATE(7, 1030);
  oracle::Values values = oracle::random_values(3);
  // Two's complement nibbles 0 .. 7 are themselves and 8 .. 15 negative; with zero point 8 it is the other
  // way.
  values.nibbles = oracle::each_nibble([](std::int64_t n, std::int64_t) { return static_cast<int>(n % 16); });
  values.scales = oracle::each([](auto, auto) { return 0.5; });
  r.values = values;
  const harness::Outcome finite = harness::passes(r);
  REQUIRE(finite);
  const auto plain = values.activations;
  values.activations = [plain, place](std::int64_t m, std::span<double> row) {
    plain(m, row);
    if (m == 0) row[static_cast<std::size_t>(place)] = std::numeric_limits<double>::infinity();
  };
  r.values = values;
  const harness::Outcome outcome = harness::passes(r);
  CHECK(outcome);
  REQUIRE(outcome.report);
  const oracle::Format format =
      r.problem.activation == templates::DataType::bf16 ? oracle::Format::bf16 : oracle::Format::f16;
  for (std::int64_t column = 0; column < 40; ++column) {
    CAPTURE(column);
    const int nibble = static_cast<int>(column % 16), weight = w4a16 ? nibble - 8 : nibble - nibble / 8 * 16;
    const double value = oracle::decode(outcome.report->at(0, column), format);
    if (weight == 0) {
      CHECK(std::isnan(value));
    } else {
      CHECK(value == (weight < 0 ? -1 : 1) * std::numeric_limits<double>::infinity());
    }
    for (std::int64_t m = 1; m < 3; ++m) CHECK(outcome.report->at(m, column) == finite.report->at(m, column));
  }
}

TEST_CASE("decode: a large common part of the activations does not drown the result", "[cdna][decode]") {
  // 136 (24) times a sum of activations is added and taken off again: in f32 that costs 2^-24 of it.
  harness::Request r = int4(2, 32, 4096, 128, any_target());
  r.problem.activation = GENERATE(templates::DataType::bf16, templates::DataType::f16);
  r.problem.zero_points = GENERATE(templates::ZeroPoints::symmetric, templates::ZeroPoints::additive);
  oracle::Values values = oracle::random_values(2);
  const auto plain = values.activations;
  values.activations = [plain](std::int64_t m, std::span<double> row) {
    plain(m, row);
    for (double& a : row) a += 50;
  };
  r.values = values;
  r.config = decode(4, 32, 512, 4, 2);
  CHECK(harness::passes(r));
}

TEST_CASE("decode: Configs that will not do are refused by what is wrong", "[cdna][decode]") {
  harness::Request r = int4(4, 64, 512, 128, "gfx942");
  const auto refused = [&](const templates::Config& c, const char* field) {
    r.config = c;
    CHECK(harness::refused(r, field));
  };
  refused(decode(2, 32, 512, 4), "bm");
  refused(decode(4, 24, 512, 4), "bn");
  refused(decode(4, 32, 500, 4), "bk");
  refused(decode(4, 32, 512, 17), "waves");
  refused(decode(4, 32, 512, 4, 3), "pipeline_depth");
  refused(decode(16, 32, 4096, 8), "lds");
  templates::Config split = decode(4, 32, 512, 4);
  split.split_k = 2;
  refused(split, "split_k");
  r.problem.group = 64;
  refused(decode(4, 32, 512, 4), "bm");
  r.problem.op = templates::Operation::w4a16;
  r.problem.layout = templates::WeightLayout::exllama;
  r.problem.group = 32;
  refused(decode(8, 32, 512, 4), "path");
  r.target = "gfx1151";
  refused(decode(8, 32, 512, 4), "path");
}

TEST_CASE("decode: the canonical text says it all", "[cdna][decode]") {
  templates::Config c = decode(16, 64, 1024, 4, 2);
  c.waves_per_simd = 2;
  c.techniques.bank_assignment = false;
  const std::string text = templates::canonical(c);
  CHECK(text == "decode 16x64x1024 waves 4 depth 2 unroll 1 occupancy 2 techniques 11101");
  const auto again = templates::parse_config(text);
  REQUIRE(again);
  CHECK(templates::canonical(*again) == text);
  CHECK_FALSE(templates::parse_config(text + " "));
  CHECK_FALSE(templates::parse_config("decode 16x64 waves 4"));
}

TEST_CASE("decode: every Config that is chosen has registers enough", "[cdna][decode][select]") {
  const target::Target& target = *target::find(any_target());
  templates::Problem p;
  p.op = GENERATE(templates::Operation::int4_gemm, templates::Operation::w4a16);
  const bool rows = p.op == templates::Operation::int4_gemm;
  if (rows) p.layout = templates::WeightLayout::row_major_signed;
  p.zero_points = GENERATE(0, 1) == 0 ? templates::ZeroPoints::symmetric
                  : rows              ? templates::ZeroPoints::additive
                                      : templates::ZeroPoints::packed;
  p.activation = GENERATE(templates::DataType::bf16, templates::DataType::f16);
  struct Shape {
    std::int64_t n, k, group;
  };
  const Shape s =
      GENERATE(Shape{896, 5120, 128}, Shape{8192, 3584, 64}, Shape{40, 256, 256}, Shape{28672, 8192, 128});
  p.n = s.n;
  p.k = s.k;
  p.group = s.group;
  const auto problem = templates::normalise(p, target);
  REQUIRE(problem);
  unsigned chosen = 0;
  for (const std::int64_t m : {1, 4, 8, 16, 128}) {
    const auto choice = templates::cdna::decode::choose(*problem, target, m);
    REQUIRE(choice);
    CAPTURE(templates::canonical(*problem), templates::canonical(choice->config));
    CHECK((choice->config.bm >= m || choice->config.bm >= 16));
    const auto kernel = templates::generate(p, choice->config, target);
    INFO((kernel ? std::string() : kernel.error().message));
    CHECK(kernel);
    ++chosen;
  }
  CHECK(chosen == 5);
  CHECK_FALSE(templates::cdna::decode::choose(*problem, target, templates::cdna::decode::most_rows + 1));
}

TEST_CASE("decode: waits in the loop leave loads in flight, and weights take less than 2 vector instructions",
          "[cdna][decode][bars]") {
  const target::Target& target = *target::find(any_target());
  const unsigned rows = GENERATE(4U, 16U);
  templates::Problem p = int4(1, 512, 16384, 128).problem;
  p.zero_points = GENERATE(templates::ZeroPoints::symmetric, templates::ZeroPoints::additive);
  const auto kernel = templates::generate(p, decode(rows, 32, 512, 4, 2), target, {.assemble = false});
  REQUIRE(kernel);
  const auto loop = std::ranges::find(kernel->ir.blocks, "k_loop", &ir::Block::label);
  REQUIRE(loop != kernel->ir.blocks.end());
  unsigned vector = 0, wide = 0, waits = 0;
  double weights = 0;  // of a lane
  for (const ir::Instruction& i : loop->insts) {
    vector += i.mi.pipe() == isa::Pipe::valu ? 1 : 0;
    if (i.mi.op == isa::Opcode::s_waitcnt) {
      const unsigned left = isa::decode_waitcnt(static_cast<std::uint16_t>(i.mi.src[0].value), target).vmcnt;
      CHECK(left >= 1);
      ++waits;
    }
    if (i.mi.pipe() != isa::Pipe::vmem) continue;
    const std::string& tensor = kernel->ir.args.at(static_cast<std::size_t>(i.mem.object)).name;
    if (tensor == "scales" || tensor == "zero_points") continue;
    CHECK(i.mi.op == isa::Opcode::buffer_load_b128);
    ++wide;
    if (tensor == "weights") weights += 32;
  }
  CAPTURE(target.name, rows, vector, weights);
  CHECK(wide > 0);
  CHECK(waits > 0);
  REQUIRE(weights > 0);
  CHECK(vector / weights <= 2.0);
  CHECK(kernel->ir.vgprs_used <= target::vgpr_budget(target, 2));
}

TEST_CASE("decode: what is chosen can be launched, however many columns or products there are",
          "[cdna][decode][select]") {
  const target::Target& target = *target::find(any_target());
  templates::Problem p = int4(1, 65535 * 16 + 1, 256, 128).problem;
  if (GENERATE(false, true)) {
    p.n = 64;
    p.batch = 70000;
  }
  const std::int64_t m = GENERATE(1, 16);
  const auto config = templates::select_config(p, target, m);
  REQUIRE(config);
  CAPTURE(p.n, p.batch, templates::canonical(*config));
  const auto launch = templates::launch(p, *config, target, m);
  INFO((launch ? std::string() : launch.error().message));
  CHECK(launch);
}
