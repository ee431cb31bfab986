// SPDX-License-Identifier: MIT
// What the hot loop of the CDNA kernels does per weight and how it loads and waits: the bars of issue 8,
// counted on the instructions after the last pass. Weights of a body come from the Config, not from the code.
#include <catch2/catch.hpp>

#include "generator/isa/instruction.hpp"
#include "templates/kernel.hpp"

using namespace wavejit;

namespace {

templates::Problem problem(bool zeros, std::int64_t group = 128) {
  templates::Problem p;
  p.op = templates::Operation::int4_gemm;
  p.layout = templates::WeightLayout::row_major_signed;
  p.n = 8192;
  p.k = 3584;
  p.group = group;
  if (zeros) p.zero_points = templates::ZeroPoints::additive;
  return p;
}

struct Loop {
  templates::GeneratedKernel kernel;
  const ir::Block* body = nullptr;
  double weights = 0;  ///< of one lane in one pass through the body
};

Loop hot_loop(const templates::Problem& p, const templates::Config& c, const target::Target& target) {
  auto kernel = templates::generate(p, c, target, {.assemble = false});
  REQUIRE(kernel);
  Loop loop{.kernel = *std::move(kernel)};
  for (const ir::Block& block : loop.kernel.ir.blocks)
    if (block.is_loop_body) loop.body = &block;
  REQUIRE(loop.body != nullptr);
  // The body multiplies whole steps: as many as its matrix instructions say.
  const templates::Config& k = loop.kernel.config;
  const unsigned side = k.bm % 32 == 0 ? 32 : 16;
  double matrix = 0;
  for (const ir::Instruction& i : loop.body->insts)
    if (i.mi.pipe() == isa::Pipe::matrix) matrix += i.mi.src[0].width * 2.0 * 64;  // elements of A
  const double tiles_m = static_cast<double>(k.bm) / (k.waves_m * side);
  loop.weights = matrix / tiles_m / 64;
  return loop;
}

templates::Config mfma(unsigned bm, unsigned bn, unsigned bk, unsigned waves, unsigned buffers) {
  templates::Config c;
  c.path = templates::Path::mfma;
  c.bm = bm;
  c.bn = bn;
  c.bk = bk;
  c.waves = waves;
  c.lds_buffers = buffers;
  return c;
}

unsigned count(const Loop& loop, isa::Pipe pipe) {
  unsigned n = 0;
  for (const ir::Instruction& i : loop.body->insts) n += i.mi.pipe() == pipe ? 1 : 0;
  return n;
}

}  // namespace

TEST_CASE("CDNA: vector instructions per weight in the hot loop", "[cdna][bars]") {
  struct Bar {
    const char* target;
    double most;
  };
  const auto bar = GENERATE(Bar{"gfx942", 4.0}, Bar{"gfx950", 2.5});
  const bool zeros = GENERATE(false, true);
  const unsigned buffers = GENERATE(1U, 2U);
  const target::Target& target = *target::find(bar.target);
  CAPTURE(bar.target, zeros, buffers);
  const Loop loop = hot_loop(problem(zeros), mfma(128, 128, 64, 4, buffers), target);
  const double valu =
      count(loop, isa::Pipe::valu) + count(loop, isa::Pipe::trans) + count(loop, isa::Pipe::dot);
  CHECK(valu / loop.weights <= bar.most);
  CHECK(valu / loop.weights >= 1.5);  // the count itself: convert, half a multiply, pack
  CHECK(loop.kernel.ir.vgprs_used <= target::vgpr_budget(target, 2));
}

/// vmcnt and lgkmcnt of the loop's waits.
std::vector<isa::WaitCounts> waits(const Loop& loop) {
  std::vector<isa::WaitCounts> result;
  for (const ir::Instruction& i : loop.body->insts)
    if (i.mi.op == isa::Opcode::s_waitcnt)
      result.push_back(
          isa::decode_waitcnt(static_cast<std::uint16_t>(i.mi.src[0].value), *loop.kernel.target));
  return result;
}

TEST_CASE("CDNA: the loop loads 128 bits at a time and never waits for all loads", "[cdna][bars]") {
  const std::string name = GENERATE("gfx942", "gfx950");
  auto config = GENERATE(mfma(128, 128, 64, 4, 1), mfma(16, 128, 128, 4, 1), mfma(64, 128, 64, 4, 2));
  config.pipeline_depth = GENERATE(1U, 2U);
  config.lds_dma = name == "gfx950" && config.lds_buffers == 2 && config.pipeline_depth == 1;
  CAPTURE(name, templates::canonical(config));
  const Loop loop = hot_loop(problem(true), config, *target::find(name));
  for (const isa::WaitCounts& wait : waits(loop)) CHECK(wait.vmcnt >= 1);
  unsigned wide = 0;
  for (const ir::Instruction& i : loop.body->insts) {
    if (i.mi.pipe() != isa::Pipe::vmem) continue;
    const bool global = i.mem.space == ir::MemoryTag::Space::global;
    const std::string tensor =
        global ? loop.kernel.ir.args[static_cast<std::size_t>(i.mem.object)].name : "activations";
    if (tensor == "scales" || tensor == "zero_points") continue;  // one per column, consecutive over lanes
    CHECK(i.mi.op == isa::Opcode::buffer_load_b128);
    ++wide;
  }
  CHECK(wide > 0);
}

TEST_CASE("CDNA: waits of the selected kernels leave loads in flight", "[cdna][bars]") {
  struct Shape {
    std::int64_t m, n, k;
  };
  const std::string name = GENERATE("gfx942", "gfx950");
  const auto s = GENERATE(Shape{2048, 8192, 3584}, Shape{2048, 7168, 8192}, Shape{4096, 7168, 8192},
                          Shape{64, 8192, 3584}, Shape{192, 2048, 5120}, Shape{256, 4096, 4096},
                          Shape{512, 8192, 3584}, Shape{1024, 4096, 14336}, Shape{8192, 8192, 8192});
  const bool zeros = GENERATE(false, true);
  const target::Target& target = *target::find(name);
  templates::Problem p = problem(zeros);
  p.n = s.n;
  p.k = s.k;
  const auto config = templates::select_config(p, target, s.m);
  REQUIRE(config);
  CAPTURE(name, s.m, s.n, s.k, zeros, templates::canonical(*config));
  const Loop loop = hot_loop(p, *config, target);
  unsigned for_all_of_lds = 0, least = isa::WaitCounts::unlimited;
  for (const isa::WaitCounts& wait : waits(loop)) {
    least = std::min<unsigned>(least, wait.vmcnt);
    for_all_of_lds += wait.lgkmcnt == 0 ? 1 : 0;
  }
  CAPTURE(least, for_all_of_lds);
  CHECK(least >= 1);
  // Stores are complete before one barrier and reads before the other; at prefill all but few of the reads
  // of a step are waited for with others behind them.
  if (s.m >= 2048) CHECK(for_all_of_lds <= 3);
}
