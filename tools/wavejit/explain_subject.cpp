// SPDX-License-Identifier: MIT
#include "tools/wavejit/explain_subject.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "generator/model/loops.hpp"
#include "runtime/support/json.hpp"
#include "tools/wavejit/access_notes.hpp"
#include "tools/wavejit/files.hpp"
#include "tools/wavejit/launch_memory.hpp"
#include "tools/wavejit/model_kernel.hpp"
#include "tools/wavejit/own_header.hpp"
#include "tools/wavejit/peer_objects.hpp"
#include "tools/wavejit/stages.hpp"

namespace wavejit::tools {
namespace {

namespace fs = std::filesystem;

/// Instructions up to the padding behind the last end.
void take_kernel(Subject& s, lower::DecodedKernel kernel) {
  s.kernel = std::move(kernel);
  for (const lower::DecodedInstruction& i : s.kernel.instructions) s.code.push_back(i.inst);
}

std::string described(const templates::Problem& problem, const templates::Config& config, std::int64_t m) {
  return fmt::format("{}, M {}; {}", templates::canonical(problem), m, templates::canonical(config));
}

Result<void> take_launch(Subject& s, const templates::Problem& p, const templates::Config& c, std::int64_t m,
                         unsigned stage) {
  s.about = described(p, c, m);
  s.kernels = templates::stages(p, c);
  if (s.kernels > 1)
    s.about += fmt::format("; of the {} kernels of a launch only number {}", s.kernels, stage + 1);
  const bool gemv = c.path == templates::Path::gemv;
  s.bm = gemv ? c.tokens : c.bm;
  s.bn = gemv ? c.rows : c.bn;
  s.bk = gemv ? 1024 : std::int64_t{c.bk} * c.unroll;  // gemv: a pass of four superblocks
  s.m = m;
  s.n = p.n;
  s.k = p.k;
  const auto others = other_kernels_us(p, c, *s.target, m, stage);
  if (!others) return std::unexpected(others.error());
  s.others_us = *others;
  return {};
}

/// What the object says of itself: waves and LDS per workgroup at most.
model::KernelFacts facts_of(const lower::DecodedKernel& k, const target::Target& target) {
  std::uint32_t threads = k.required_workgroup_size[0];
  for (std::size_t i = 1; threads > 0 && i < 3; ++i)
    threads *= std::max(k.required_workgroup_size[i], std::uint32_t{1});
  if (threads == 0) threads = std::max<std::uint32_t>(k.max_flat_workgroup_size, target.wave_size);
  const bool gfx9 = target.generation == target::Generation::gfx9;
  return {k.vgpr_count, k.agpr_count, k.group_segment_size,
          (threads + target.wave_size - 1) / target.wave_size, gfx9 || (k.descriptor.rsrc1 >> 29 & 1U) != 0};
}

bool describes_a_peer(const fs::path& json) {
  const auto text = read_file(json);
  if (!text) return false;
  const auto parsed = parse_json<nlohmann::json>(*text);
  if (!parsed || !parsed->is_object()) return false;
  const nlohmann::json& d = *parsed;
  for (const char* field : {"meta", "scalars", "pointers", "constants_baked_in"})
    if (!d.contains(field) || !d[field].is_object()) return false;
  for (const char* field : {"BLOCK_M", "BLOCK_N", "BLOCK_K"})
    if (!d["meta"].contains(field)) return false;
  for (const char* field : {"M", "N", "group_size"})
    if (!d["scalars"].contains(field)) return false;
  return d.contains("dynamic_lds_bytes") && d.contains("block") &&
         (d["scalars"].contains("K") || d["scalars"].contains("K2"));
}

Result<Subject> from_peer(const fs::path& path, const AssumedSizes& sizes) {
  auto peer = read_peer(path.parent_path(), path.stem().string());
  if (!peer) return std::unexpected(peer.error());
  Subject s;
  s.name = path.stem().string();
  s.target = peer->target;
  s.facts = peer->facts;
  s.notes = std::move(peer->notes);
  s.simulated = true;
  s.m = sizes.m.value_or(peer->m);
  s.n = sizes.n.value_or(peer->n);
  s.k = sizes.k.value_or(peer->k);
  s.bm = peer->bm;
  s.bn = peer->bn;
  s.bk = peer->bk;
  s.shape = shape_of(*peer, s.m, s.n, s.k);
  s.about = fmt::format("code object for {}, launched as {} says; M {} N {} K {}, tile {}x{}x{}, {} waves",
                        s.target->name, path.stem().string() + ".json", s.m, s.n, s.k, s.bm, s.bn, s.bk,
                        s.facts.waves);
  take_kernel(s, std::move(peer->object.kernels.at(0)));
  return s;
}

/// A `.s` of ours, edited or not: launched as its header says.
Result<void> launch_as_own(Subject& s, const OwnHeader& own, std::int64_t m) {
  if (own.config.path == templates::Path::gemv) m = own.config.tokens;
  const auto stage = stage_of(s.kernel, own.problem, own.config, *s.target, m);
  if (!stage) return std::unexpected(stage.error());
  const auto launch = templates::launch(own.problem, own.config, *s.target, m, *stage);
  if (!launch) return std::unexpected(launch.error());
  std::vector<std::uint64_t> executed;
  s.facts.waves = launch->block[0] / s.target->wave_size;
  auto notes = notes_of(s.kernel, s.facts, *s.target, *launch, &executed);
  if (!notes) return std::unexpected(notes.error());
  s.notes = *std::move(notes);
  s.simulated = true;
  s.shape = shape_of(own.problem, own.config, *launch, m, iterations_in(s.code, s.facts.waves, executed));
  return take_launch(s, own.problem, own.config, m, *stage);
}

/// Of a matrix instruction, whose name says its shape on CDNA; elsewhere there is one that matters.
double multiply_adds_of(const isa::Instruction& inst, const target::Target& target) {
  for (const target::MatrixShape& s : target.matrix_shapes)
    if (inst.info().name.find(fmt::format("{}x{}x{}", s.m, s.n, s.k)) != std::string_view::npos)
      return 1.0 * s.m * s.n * s.k;
  const target::MatrixShape& s = target.wmma16;
  return 1.0 * s.m * s.n * s.k;
}

/// Any kernel, launched as the launch file says. What it computes is not known: all its matrix work counts as
/// useful, each buffer crosses the memory once.
Result<void> launch_with(Subject& s, const LaunchFile& file) {
  sim::Memory memory;
  const auto prepared = prepare_launch(memory, s.kernel, file);
  if (!prepared) return std::unexpected(prepared.error());
  sim::LaunchParams params;
  params.grid = file.grid;
  params.block = file.block;
  params.kernarg = std::as_bytes(std::span(prepared->kernarg));
  params.dynamic_lds_bytes = file.dynamic_lds_bytes;
  const std::uint32_t threads = file.block[0] * file.block[1] * file.block[2];
  s.facts.waves = (threads + s.target->wave_size - 1) / s.target->wave_size;
  s.facts.lds_bytes += file.dynamic_lds_bytes;
  params.options.kept_lines = kept_lines(*s.target, resident_workgroups(s.facts, *s.target, file.grid));
  std::vector<std::uint64_t> executed;
  auto notes = access_notes(s.kernel, *s.target, memory, params, &executed);
  if (!notes) return std::unexpected(notes.error());
  s.notes = *std::move(notes);
  s.simulated = true;
  model::LaunchShape shape;
  shape.workgroups = std::uint64_t{file.grid[0]} * file.grid[1] * file.grid[2];
  shape.iterations = iterations_in(s.code, s.facts.waves, executed);
  double multiply_adds = 0;
  for (std::size_t i = 0; i < s.code.size(); ++i)
    if (s.code[i].pipe() == isa::Pipe::matrix)
      multiply_adds += multiply_adds_of(s.code[i], *s.target) * static_cast<double>(executed[i]);
  shape.useful_flop = 2.0 * multiply_adds * static_cast<double>(shape.workgroups);
  for (const auto& [argument, address] : prepared->buffers)
    shape.dram_bytes += static_cast<double>(memory.find(address)->size);
  s.shape = shape;
  s.about = fmt::format("{}, launched as the given file says: grid {} x {} x {}, {} waves", s.target->name,
                        file.grid[0], file.grid[1], file.grid[2], s.facts.waves);
  return {};
}

}  // namespace

Result<Subject> subject_of(const Job& job, std::string name) {
  const std::int64_t m = std::min(job.m, templates::most_rows(job.problem));
  auto made = model_generated(job.problem, job.config, *job.target, m);
  if (!made) return std::unexpected(made.error());
  auto object = lower::decode(made->kernel.code_object);
  if (!object) return std::unexpected(object.error());
  if (auto ok = lower::note_source_lines(*object, made->kernel.assembly, made->kernel.name + ".s"); !ok)
    return std::unexpected(ok.error());
  Subject s;
  s.name = std::move(name);
  s.target = job.target;
  s.facts = made->facts;
  s.notes = std::move(made->notes);
  s.simulated = true;
  s.shape = made->shape;
  if (auto ok = take_launch(s, made->kernel.problem, made->kernel.config, m, made->kernel.stage); !ok)
    return std::unexpected(ok.error());
  if (m < job.m) s.about += fmt::format("; {} rows are several launches, this is the first", job.m);
  take_kernel(s, std::move(object->kernels.at(0)));
  return s;
}

Result<Subject> subject_of(const fs::path& path, const target::Target& target, const AssumedSizes& sizes) {
  fs::path description = path;
  description.replace_extension(".json");
  const auto text = read_assembly(path);
  if (!text) return std::unexpected(text.error());
  if (!*text && sizes.args.empty() && describes_a_peer(description)) return from_peer(path, sizes);
  const auto bytes = read_object(path, target);
  if (!bytes) return std::unexpected(bytes.error());
  auto object = lower::decode(*bytes);
  if (!object) return std::unexpected(object.error());
  if (auto ok = note_lines(*object, path); !ok) return std::unexpected(ok.error());
  std::optional<LaunchFile> launch;
  if (!sizes.args.empty()) {
    auto file = read_launch_file(sizes.args);
    if (!file) return std::unexpected(file.error());
    launch = *std::move(file);
  }
  const auto kernel = find_kernel(*object, launch ? launch->kernel : std::string());
  if (!kernel) return std::unexpected(kernel.error());
  Subject s;
  s.name = path.filename().string();
  s.target = object->target;
  s.facts = facts_of(**kernel, *s.target);
  take_kernel(s, **kernel);
  if (launch) {
    if (auto ok = launch_with(s, *launch); !ok) return std::unexpected(ok.error());
    return s;
  }
  if (*text) {
    const auto own = read_own_header(**text, *s.target);
    if (!own) return std::unexpected(own.error());
    if (*own) {
      constexpr std::int64_t usual = 1322;
      if (auto ok = launch_as_own(s, **own, sizes.m.value_or(usual)); !ok) return std::unexpected(ok.error());
      return s;
    }
  }
  s.about = fmt::format(
      "{}; no description of a w4a16 launch beside it, no launch file, no header of ours: its launch is not "
      "known, LDS conflicts are "
      "taken to be none, memory accesses to be dense",
      s.target->name);
  return s;
}

}  // namespace wavejit::tools
