#include <fmt/format.h>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include "tools/wavejit/streams.hpp"
using namespace wavejit;
#include <algorithm>
#include <array>
#include <map>
#include "runtime/device/sim/record.hpp"
#include "tools/wavejit/access_notes.hpp"
static void curve(const tools::PreparedKernel& kernel, const target::Target& target, std::int64_t) {
  const auto& launch = kernel.launch;
  sim::LaunchParams params; params.workgroups.push_back(0);
  sim::Memory memory;
  const auto kernarg = tools::place_tensors(launch, memory);
  params.grid = launch.grid; params.block = launch.block; params.kernarg = *kernarg;
  const auto object = lower::decode(kernel.kernel.code_object);
  const auto program = sim::Program::create(object->kernels.at(0), target);
  const auto rec = sim::record(*program, memory, params);
  double last = 0;
  for (int cut = 0; cut <= 2000; cut += 20) {
    std::vector<std::vector<model::Executed>> waves; bool more = false;
    std::uint32_t at = 0;
    for (auto& w : rec->groups[0].waves) {
      std::vector<model::Executed> all;
      for (auto& e : w) {
        if (all.size() >= (size_t)cut) { more = true; break; }
        const bool store = kernel.code[e.index].has(isa::flag::store), memory_ = kernel.code[e.index].pipe() == isa::Pipe::vmem;
        all.push_back({e.index, (std::uint32_t)(memory_ && !store ? tools::line_bytes * e.lines : e.bytes), (float)e.conflict_cycles});
        at = e.index;
      }
      waves.push_back(all);
    }
    if (cut == 0) continue;
    auto steps = model::prepare_streams(kernel.code, waves, target);
    std::vector<std::vector<const model::Steps*>> queue(1);
    for (auto& s : steps) queue[0].push_back(&s);
    double c = model::run_streams(queue, {1, kernel.facts.waves, true}, target);
    fmt::print("{:4} {:6.0f} +{:5.0f}  {}\n", cut, c, c - last, isa::to_text(kernel.code[at], target)); last = c;
    if (!more) break;
  }
}
int main(int argc, char** argv) {
  const target::Target& t = *target::find(argv[1]);
  templates::Problem p;
  const std::string op = argv[2];
  p.op = op[0] == 'w' ? templates::Operation::w4a16 : templates::Operation::int4_gemm;
  if (op[0] != 'w') p.layout = templates::WeightLayout::row_major_signed;
  const std::int64_t m = atoll(argv[3]);
  p.n = atoll(argv[4]); p.k = atoll(argv[5]); p.group = atoll(argv[6]);
  const bool z = argv[7][0] == 'z';
  if (z) p.zero_points = op[0] == 'w' ? templates::ZeroPoints::packed : templates::ZeroPoints::additive;
  if (op.find("h") != std::string::npos) p.activation = templates::DataType::f16;
  for (int a = 8; a < argc; ++a) {
    auto c = std::string(argv[a]) == "-" ? templates::select_config(p, t, m) : templates::parse_config(argv[a]);
    if (!c) { fmt::print("config: {}\n", c.error().message); continue; }
    auto n = templates::normalise(p, t);
    if (!n) { fmt::print("problem: {}\n", n.error().message); return 1; }
    auto cc = templates::normalise(*c, *n, t);
    if (!cc) { fmt::print("{}: {}\n", argv[a], cc.error().message); continue; }
    auto kp = tools::prepare_generated(p, *cc, t, m);
    if (!kp) { fmt::print("{}: {}\n", argv[a], kp.error().message); continue; }
    if (getenv("ASM")) { std::ofstream(getenv("ASM")) << kp->kernel.assembly; }
    auto occ = model::occupancy(kp->facts, t);
    auto s = tools::play_streams(*kp, t, m);
    if (!s) { fmt::print("{}: {}\n", argv[a], s.error().message); continue; }
    if (getenv("CURVE")) curve(*kp, t, m);
    double bytes = 0; for (auto& x : kp->launch.arguments) bytes += x.bytes;
    const double dram = model::memory_cycles({bytes, bytes, bytes}, t);
    const double us = s->clocks / t.timing.clock_megahertz;
    fmt::print("{} | vgprs {} lds {} wg/cu {} ({}) | grid {}x{}x{} played {} | clocks {:.0f} dram {:.0f} us {:.2f} GB/s(w) {:.0f} TF {:.0f} gen {:.1f} ms instr/wave {}\n",
      templates::canonical(kp->kernel.config), kp->facts.vgprs, kp->facts.lds_bytes, occ.workgroups, occ.limit, kp->launch.grid[0], kp->launch.grid[1], kp->launch.grid[2], s->played,
      s->clocks, dram, us, p.n * p.k / 2 / us * 1e-3, 2.0*m*p.n*p.k/us*1e-6, kp->kernel.times.generate_ms+kp->kernel.times.assemble_ms, s->instructions / kp->facts.waves / s->kinds);
  }
}
