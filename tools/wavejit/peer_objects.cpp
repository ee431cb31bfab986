// SPDX-License-Identifier: MIT
#include "tools/wavejit/peer_objects.hpp"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "generator/model/loops.hpp"
#include "runtime/device/sim/simulator.hpp"
#include "runtime/support/json.hpp"
#include "tools/wavejit/access_notes.hpp"
#include "tools/wavejit/files.hpp"
#include "tools/wavejit/model_kernel.hpp"

namespace wavejit::tools {
namespace {

using Json = nlohmann::ordered_json;  // the order of the scalars is that of the arguments

/// Reduction steps that the simulated workgroup does.
constexpr std::int64_t simulated_steps = 16;

std::uint64_t allocate(sim::Memory& memory, std::uint64_t bytes, const std::string& name) {
  const auto address = memory.allocate(bytes + 4096, 256, name);
  if (!address) return 0;
  if (auto ok = memory.fill(*address, bytes + 4096, std::byte{0x11}); !ok) return 0;
  return *address;
}

/// Upper bounds of the tensors' bytes, by the pointer's name (peers/README.md).
std::uint64_t tensor_bytes(const PeerObject& p, const std::string& pointer) {
  const auto bytes = [](std::int64_t count, std::int64_t each) {
    return static_cast<std::uint64_t>(count * each);
  };
  if (pointer.starts_with("a") || pointer.starts_with("xe") || pointer.starts_with("xo"))
    return bytes(p.m * p.k, 2);
  if (pointer.starts_with("b") || pointer.starts_with("w")) return bytes(p.n * p.k, 1) / 2;
  if (pointer.starts_with("c") || pointer.starts_with("y")) return bytes(p.m * p.n * p.split_k, 4);
  return bytes(p.n * (p.k / p.group), 4);
}

std::vector<std::byte> kernarg_of(const PeerObject& p, const Json& description, sim::Memory& memory) {
  const lower::DecodedKernel& kernel = p.object.kernels[0];
  std::vector<std::uint64_t> values;
  for (const auto& [pointer, type] : description["pointers"].items())
    values.push_back(allocate(memory, tensor_bytes(p, pointer), pointer));
  for (const auto& [name, value] : description["scalars"].items()) {
    if (description["constants_baked_in"].contains(name) || value == 1) continue;
    std::int64_t v = value.get<std::int64_t>();
    if (name == "K") v = std::min(v, simulated_steps * p.bk);
    if (name == "K2") v = std::min(v, simulated_steps * p.bk / 2 * p.split_k);
    values.push_back(static_cast<std::uint64_t>(v));
  }
  std::vector<std::byte> kernarg(std::max(kernel.kernarg_segment_size, kernel.descriptor.kernarg_size));
  for (std::size_t i = 0; i < std::min(values.size(), kernel.args.size()); ++i) {
    const lower::ArgMetadata& a = kernel.args[i];
    if (a.offset + a.size <= kernarg.size())
      std::memcpy(kernarg.data() + a.offset, &values[i], std::min<std::size_t>(a.size, sizeof values[i]));
  }
  return kernarg;
}

void read_sizes(PeerObject& p, const Json& d) {
  const Json& meta = d["meta"];
  const Json& scalars = d["scalars"];
  p.bm = meta["BLOCK_M"];
  p.bn = meta["BLOCK_N"];
  p.m = scalars["M"];
  p.n = scalars["N"];
  const bool rowwise = scalars.contains("K2");
  p.bk = meta["BLOCK_K"].get<std::int64_t>() * (rowwise ? 2 : 1);
  p.k = rowwise ? scalars["K2"].get<std::int64_t>() * 2 : scalars["K"].get<std::int64_t>();
  p.group = scalars["group_size"];
  p.rows_fastest = !rowwise;  // its grid's order is the program's own
  p.split_k = meta.value("SPLIT_K", 1);
}

}  // namespace

Result<PeerObject> read_peer(const std::filesystem::path& folder, const std::string& name) {
  const auto bytes = read_file(folder / (name + ".hsaco"));
  if (!bytes) return std::unexpected(bytes.error());
  const auto text = read_file(folder / (name + ".json"));
  if (!text) return std::unexpected(text.error());
  const auto parsed = parse_json<Json>(*text);
  if (!parsed) return fail(ErrorCode::io, name + ".json is " + parsed.error());
  const Json& description = *parsed;
  auto object = lower::decode(*bytes);
  if (!object) return std::unexpected(object.error());
  PeerObject p;
  p.name = name;
  p.object = *std::move(object);
  p.target = p.object.target;
  read_sizes(p, description);
  const lower::DecodedKernel& kernel = p.object.kernels.at(0);
  for (const lower::DecodedInstruction& i : kernel.instructions) p.code.push_back(i.inst);
  const unsigned lds = description["dynamic_lds_bytes"];
  const std::uint32_t threads = description["block"][0];
  // With AGPRs, the metadata's VGPR count is of both kinds together.
  p.facts = {kernel.vgpr_count, 0, lds + kernel.group_segment_size, threads / p.target->wave_size,
             (kernel.descriptor.rsrc1 >> 29 & 1U) != 0};
  sim::Memory memory;
  const auto kernarg = kernarg_of(p, description, memory);
  const auto units = [](std::int64_t of, std::int64_t by) {
    return static_cast<std::uint32_t>((of + by - 1) / by);
  };
  const bool rowwise = description["scalars"].contains("K2");
  sim::LaunchParams launch;
  launch.grid = rowwise ? std::array<std::uint32_t, 3>{units(p.m, p.bm) * units(p.n, p.bn),
                                                       static_cast<std::uint32_t>(p.split_k), 1}
                        : std::array<std::uint32_t, 3>{units(p.m, p.bm), units(p.n, p.bn), 1};
  launch.block = {threads, 1, 1};
  launch.kernarg = kernarg;
  launch.dynamic_lds_bytes = lds;
  launch.options.kept_lines = kept_lines(*p.target, resident_workgroups(p.facts, *p.target, launch.grid));
  std::vector<std::uint64_t> executed;
  auto notes = access_notes(kernel, *p.target, memory, launch, &executed);
  if (!notes) return std::unexpected(notes.error());
  p.notes = *std::move(notes);
  p.peeled = simulated_steps - static_cast<std::int64_t>(iterations_in(p.code, p.facts.waves, executed));
  return p;
}

model::LaunchShape shape_of(const PeerObject& p, std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto up = [](std::int64_t of, std::int64_t by) {
    return static_cast<std::uint64_t>((of + by - 1) / by);
  };
  model::LaunchShape s;
  s.workgroups = up(m, p.bm) * up(n, p.bn) * static_cast<std::uint64_t>(p.split_k);
  s.iterations = static_cast<std::uint64_t>(std::max<std::int64_t>(k / p.bk / p.split_k - p.peeled, 1));
  const auto d = [](std::int64_t x) { return static_cast<double>(x); };
  s.useful_flop = 2 * d(m) * d(n) * d(k);
  s.dram_bytes = d(m) * d(k) * 2 + d(n) * d(k) / 2 + d(n) * d(k) / d(p.group) * 2 + d(m) * d(n) * 2;
  s.tiling = model::Tiling{.rows = static_cast<std::uint64_t>(m),
                           .columns = static_cast<std::uint64_t>(n),
                           .tile_rows = static_cast<std::uint64_t>(p.bm),
                           .tile_columns = static_cast<std::uint64_t>(p.bn),
                           .row_bytes = d(k) * 2,
                           .column_bytes = d(k) / 2 + d(k) / d(p.group) * 2,
                           .rows_fastest = p.rows_fastest};
  return s;
}

}  // namespace wavejit::tools
