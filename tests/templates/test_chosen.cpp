// SPDX-License-Identifier: MIT
// The kernels that selection gives for the published shapes have none of the costs that can be had for
// nothing: LDS bank conflicts, matrix sources that share a bank, VALU stalls for want of a hint. Judged by
// the simulator (addresses) and by model/, neither of which shares code with the passes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "generator/lower/lower.hpp"
#include "generator/model/delay_hints.hpp"
#include "generator/model/mix.hpp"
#include "runtime/device/sim/simulator.hpp"
#include "templates/kernel.hpp"
#include "tests/skip.hpp"

using namespace wavejit;

namespace {

struct Shape {
  const char* name;
  std::int64_t n, k;
};
/// shared/published.md and shared/domain.md: gfx1151, group 32.
constexpr Shape shapes[] = {{"gate_up", 19456, 2560},
                            {"qkv", 6144, 2560},
                            {"o_proj", 4096, 2560},
                            {"o_proj_t", 2560, 4096},
                            {"down", 2560, 9728}};

/// Workgroup 0 over zeroed tensors: addresses do not depend on the data.
Result<sim::RunReport> simulate(const lower::DecodedKernel& kernel, const templates::Launch& launch,
                                const target::Target& target) {
  const auto program = sim::Program::create(kernel, target);
  if (!program) return std::unexpected(program.error());
  sim::Memory memory;
  std::vector<std::byte> kernarg(launch.kernarg_size);
  for (const templates::Argument& a : launch.arguments) {
    std::uint64_t value = static_cast<std::uint64_t>(a.value);
    if (a.kind == ir::ArgKind::buffer) {
      const auto address = memory.allocate(static_cast<std::uint64_t>(a.bytes), 256, a.name);
      if (!address) return std::unexpected(address.error());
      if (auto ok = memory.fill(*address, static_cast<std::uint64_t>(a.bytes), std::byte{0}); !ok)
        return std::unexpected(ok.error());
      value = *address;
    }
    std::memcpy(kernarg.data() + a.offset, &value, std::min<std::size_t>(a.size, sizeof value));
  }
  sim::LaunchParams params;
  params.grid = launch.grid;
  params.block = launch.block;
  params.kernarg = kernarg;
  params.dynamic_lds_bytes = launch.dynamic_lds_bytes;
  params.workgroups = {0};
  return sim::run(*program, memory, params);
}

/// A skinny kernel is judged whole, as short reductions leave no loop: it has no matrix instructions, and
/// LDS only where waves share a row.
void check_skinny_wastes_nothing(std::span<const isa::Instruction> code, const sim::RunReport& report,
                                 const target::Target& target) {
  CHECK(model::mix(code).dot > 0);
  CHECK(model::mix(code).matrix == 0);
  for (const sim::AccessStatistics& a : report.accesses)
    if (code[a.index].pipe() == isa::Pipe::lds) CHECK(a.conflict_cycles == 0);
  const auto loop = model::hot_loop(code);
  if (!loop) return;
  for (const model::MissingHint& h : model::missing_hints(code, loop->own, target)) CHECK(h.clocks == 0);
}

/// One kernel: no clock of the loop lost to what assignment, layout and hints can avoid.
void check_wastes_nothing(const templates::GeneratedKernel& kernel, std::int64_t m,
                          const target::Target& target) {
  // Workgroup 0 sees no more rows than its tile has.
  const auto launch =
      templates::launch(kernel.problem, kernel.config, target, std::min<std::int64_t>(m, kernel.config.bm));
  REQUIRE(launch);
  const auto object = lower::decode(kernel.code_object);
  REQUIRE(object);
  const lower::DecodedKernel& decoded = object->kernels.at(0);
  std::vector<isa::Instruction> code;
  for (const auto& i : decoded.instructions) code.push_back(i.inst);
  const auto report = simulate(decoded, *launch, target);
  REQUIRE(report);
  CHECK(report->clean());
  if (kernel.config.path == templates::Path::skinny)
    return check_skinny_wastes_nothing(code, *report, target);

  const auto loop = model::hot_loop(code);
  REQUIRE(loop);
  const std::set<std::size_t> in_loop(loop->own.begin(), loop->own.end());
  std::size_t lds_accesses = 0;
  for (const sim::AccessStatistics& a : report->accesses) {
    if (!in_loop.contains(a.index) || code[a.index].pipe() != isa::Pipe::lds) continue;
    INFO(decoded.instructions[a.index].text);
    CHECK(a.conflict_cycles == 0);
    lds_accesses += a.executed;
  }
  CHECK(lds_accesses > 0);

  const auto body = model::body(code, *loop);
  CHECK(model::mix(body).matrix > 0);
  CHECK(model::bank_conflicts(body, target).matrix == 0);
  for (const model::MissingHint& h : model::missing_hints(code, loop->own, target)) {
    INFO(decoded.instructions[h.index].text << " reads " << decoded.instructions[h.producer].text);
    CHECK(h.clocks == 0);
  }
}

/// The choices for all shapes and for M from decoding to long prompts; each Config once.
void check_chosen(templates::DataType activation, templates::ZeroPoints zero_points) {
  const target::Target& gfx1151 = *target::find("gfx1151");
  std::set<std::string> seen;
  for (const Shape& shape : shapes)
    for (const std::int64_t m : {1, 16, 64, 256, 1322, 2858, 4096}) {
      templates::Problem problem;
      problem.activation = activation;
      problem.zero_points = zero_points;
      problem.n = shape.n;
      problem.k = shape.k;
      problem.group = 32;
      CAPTURE(shape.name, m);
      const auto config = templates::select_config(problem, gfx1151, m);
      REQUIRE(config);
      if (!seen.insert(templates::canonical(*config)).second) continue;
      CAPTURE(templates::canonical(*config));
      const auto kernel = templates::generate(problem, *config, gfx1151);
      REQUIRE(kernel);
      check_wastes_nothing(*kernel, m, gfx1151);
    }
  CHECK(seen.size() > 5);
}

}  // namespace

TEST_CASE("chosen bf16 kernels waste nothing that is free", "[w4a16][select][chosen]") {
  check_chosen(templates::DataType::bf16, templates::ZeroPoints::symmetric);
}

TEST_CASE("chosen bf16 kernels with zero points waste nothing that is free", "[w4a16][select][chosen]") {
  check_chosen(templates::DataType::bf16, templates::ZeroPoints::packed);
}

TEST_CASE("chosen f16 kernels waste nothing that is free", "[w4a16][select][chosen]") {
  check_chosen(templates::DataType::f16, templates::ZeroPoints::symmetric);
}

TEST_CASE("chosen f16 kernels with zero points waste nothing that is free", "[w4a16][select][chosen]") {
  check_chosen(templates::DataType::f16, templates::ZeroPoints::packed);
}

TEST_CASE("the judge of hints agrees with LLVM's on Triton's kernels", "[w4a16][select][chosen]") {
  // LLVM placed the hints. With them nothing is missing, without them much is.
  for (const char* name :
       {"A01_bf16_shuf_g32_128x64x32_s2", "A02_bf16_shuf_g32_128x64x32_s1", "A08_bf16_shuf_g32_asym_s2",
        "A09_bf16_shuf_g32_asym_s1", "A18_bf16_g32_down_128x512x32_w16_s2"}) {
    std::ifstream file(test::shared(fmt::format("peers/triton/{}.hsaco", name)), std::ios::binary);
    const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
    const auto object = lower::decode(bytes);
    REQUIRE(object);
    std::vector<isa::Instruction> code;
    std::vector<std::size_t> all, bare;
    for (const auto& i : object->kernels.at(0).instructions) {
      all.push_back(code.size());
      if (i.inst.op != isa::Opcode::s_delay_alu) bare.push_back(code.size());
      code.push_back(i.inst);
    }
    const std::size_t hints = all.size() - bare.size();
    const auto with = model::missing_hints(code, all, *object->target);
    const std::size_t without = model::missing_hints(code, bare, *object->target).size();
    INFO(name << ": " << hints << " hints, " << without << " missing without them");
    CHECK(hints >= 5);
    for (const model::MissingHint& h : with) {
      INFO(h.index << " " << object->kernels[0].instructions[h.index].text << " reads "
                   << object->kernels[0].instructions[h.producer].text << " " << h.producer);
      // LLVM leaves some selects by a mask that a compare has just written without one.
      const std::string_view reader = code[h.index].info().name, producer = code[h.producer].info().name;
      CHECK((reader.starts_with("v_cndmask") && producer.starts_with("v_cmp")));
    }
    CHECK(2 * without >= hints);
  }
}
