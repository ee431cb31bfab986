// SPDX-License-Identifier: MIT
// Files that a person or a download brings: models, launches, lists of shapes, a Config's text.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/checkpoint/layer.hpp"
#include "runtime/device/sim/simulator.hpp"
#include "templates/fields.hpp"
#include "templates/kernel.hpp"
#include "tests/fuzz/gguf/gguf_fuzzer.hpp"
#include "tests/fuzz/scratch.hpp"
#include "tests/fuzz/targets.hpp"
#include "tools/wavejit/launch_memory.hpp"
#include "tools/wavejit/shapes_file.hpp"

namespace wavejit::test {
namespace {

Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

templates::GeneratedKernel small_kernel() {
  templates::Problem problem;
  problem.n = 16;
  problem.k = 64;
  problem.group = 32;
  const target::Target& target = *target::find("gfx1151");
  return *templates::generate(
      problem, *templates::select_config(*templates::normalise(problem, target), target, 1), target);
}

/// The header's length in eight bytes, the header, `data` zeros.
std::string safetensors(const std::string& header, std::size_t data) {
  std::string file(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(file.data(), &length, 8);
  return file + header + std::string(data, '\0');
}

}  // namespace

bool take_gguf(std::span<const std::uint8_t> bytes) {
  const Verdict verdict = judge_gguf(bytes);
  if (verdict == Verdict::broken) std::abort();  // what was read does not hold
  return verdict == Verdict::read;
}

std::vector<Bytes> gguf_seeds() {
  std::vector<Bytes> all;
  for (const auto& entry : std::filesystem::directory_iterator(WAVEJIT_GGUF_CORPUS)) {
    std::ifstream stream(entry.path(), std::ios::binary);
    all.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return all;
}

bool take_checkpoint(std::span<const std::uint8_t> bytes) {
  static const Scratch scratch;
  const auto zero = std::ranges::find(bytes, 0);
  const auto config = bytes.first(static_cast<std::size_t>(zero - bytes.begin()));
  scratch.write("config.json", config);
  scratch.write("model.safetensors", zero == bytes.end() ? bytes.first(0) : bytes.subspan(config.size() + 1));
  const auto inventory = checkpoint::read_inventory(scratch.path("."));
  if (!inventory) return false;
  bool taken = false;
  for (const std::string name : {"layers.0.mlp.up_proj", "layers.1.q"})
    taken = checkpoint::read_layer(*inventory, name).has_value() || taken;
  return taken;
}

std::vector<Bytes> checkpoint_seeds() {
  const auto seed = [](const std::string& config, const std::string& header, std::size_t data) {
    return bytes_of(config + std::string(1, '\0') + safetensors(header, data));
  };
  // AWQ and GPTQ of a layer with K 64, N 32, groups of 32.
  return {
      seed(
          R"({"quantization_config":{"quant_method":"awq","bits":4,"group_size":32,"zero_point":true,"version":"gemm"}})",
          R"({"layers.0.mlp.up_proj.qweight":{"dtype":"I32","shape":[64,4],"data_offsets":[0,1024]},)"
          R"("layers.0.mlp.up_proj.qzeros":{"dtype":"I32","shape":[2,4],"data_offsets":[1024,1056]},)"
          R"("layers.0.mlp.up_proj.scales":{"dtype":"F16","shape":[2,32],"data_offsets":[1056,1184]}})",
          1184),
      seed(
          R"({"quantization_config":{"quant_method":"gptq","bits":4,"group_size":32,"desc_act":false,"sym":true}})",
          R"({"layers.1.q.qweight":{"dtype":"I32","shape":[8,32],"data_offsets":[0,1024]},)"
          R"("layers.1.q.qzeros":{"dtype":"I32","shape":[2,4],"data_offsets":[1024,1056]},)"
          R"("layers.1.q.scales":{"dtype":"F16","shape":[2,32],"data_offsets":[1056,1184]}})",
          1184)};
}

bool take_launch(std::span<const std::uint8_t> bytes) {
  static const Scratch scratch;
  static const auto object = *lower::decode(small_kernel().code_object);
  const auto launch = tools::read_launch_file(scratch.write("launch.json", bytes));
  if (!launch) return false;
  // Files of the machine are no part of this.
  for (const tools::LaunchArgument& a : launch->arguments)
    if (!a.output.empty() || a.expect || a.source == tools::LaunchArgument::Source::file ||
        a.bytes > (64U << 20))
      return true;
  const auto kernel = tools::find_kernel(object, launch->kernel);
  if (!kernel) return false;
  sim::Memory memory;
  const auto prepared = tools::prepare_launch(memory, **kernel, *launch);
  if (!prepared) return false;
  const auto program = sim::Program::create(**kernel, *object.target);
  sim::LaunchParams params;
  params.grid = launch->grid;
  params.block = launch->block;
  params.kernarg = std::as_bytes(std::span(prepared->kernarg));
  params.dynamic_lds_bytes = launch->dynamic_lds_bytes;
  params.options.max_instructions_per_wave = 2000;
  params.options.threads = 1;
  // Sizes are checked before anything runs; of the many workgroups of what passes a few are enough.
  if (std::uint64_t{launch->grid[0]} * launch->grid[1] * launch->grid[2] > 4) params.workgroups = {0, 1};
  return sim::run(*program, memory, params).has_value();
}

std::vector<Bytes> launch_seeds() {
  const auto kernel = small_kernel();
  const auto launch = *templates::launch(kernel.problem, kernel.config, *target::find("gfx1151"), 1);
  nlohmann::json args = nlohmann::json::array();
  for (const templates::Argument& a : launch.arguments) {
    if (a.kind == ir::ArgKind::buffer)
      args.push_back({{"name", a.name}, {"bytes", a.bytes}, {"fill", 0}});
    else
      args.push_back({{"name", a.name}, {"value", 1}});
  }
  const nlohmann::json file = {
      {"kernel", kernel.name}, {"grid", launch.grid}, {"block", launch.block}, {"args", args}};
  return {bytes_of(file.dump())};
}

bool take_shapes(std::span<const std::uint8_t> bytes) {
  static const Scratch scratch;
  auto items = tools::read_shapes(scratch.write("shapes.json", bytes));
  if (!items) return false;
  bool taken = false;
  for (tools::ShapeItem& item : *items) {
    item.options.target = "gfx1151";
    item.options.m = item.first;
    taken = tools::resolve(item.options).has_value() || taken;
  }
  return taken;
}

std::vector<Bytes> shapes_seeds() {
  return {
      bytes_of(R"([{"shape": "gate_up", "m": [1, 2048]},
 {"n": 6144, "k": 2560, "group": 32, "m": 16, "rounding": "nearest", "tile": [64, 64, 32], "waves": 4}])"),
      bytes_of(R"({"shapes": [{"op": "kquant", "type": "q4_k", "n": 64, "k": 512, "m": 2, "act": "f32"}]})")};
}

bool take_config(std::span<const std::uint8_t> bytes) {
  constexpr std::array names{"gfx1151", "gfx1201", "gfx942", "gfx950"};
  if (bytes.empty()) return false;
  const target::Target& target = *target::find(names[bytes[0] % names.size()]);
  const auto config = templates::parse_config(std::string(bytes.begin() + 1, bytes.end()));
  if (!config) return false;
  static_cast<void>(templates::canonical(*config));
  bool taken = false;
  for (std::size_t op = 0; op < templates::operations; ++op) {
    templates::Problem problem = templates::blank(static_cast<templates::Operation>(op));
    problem.n = 72;
    problem.k = 512;
    if (problem.op == templates::Operation::int4_grouped) problem.groups = 2;
    const auto normal = templates::normalise(problem, target);
    if (!normal) continue;
    const auto fitted = templates::normalise(*config, *normal, target);
    if (!fitted) continue;
    taken = true;
    for (const std::int64_t m : {std::int64_t{1}, std::int64_t{3000}})
      static_cast<void>(templates::launch(*normal, *fitted, target, m, 0));
    static_cast<void>(templates::generate(*normal, *fitted, target));
  }
  return taken;
}

std::vector<Bytes> config_seeds() {
  std::vector<Bytes> all;
  const auto add = [&](std::uint8_t target, std::string_view text) {
    Bytes seed{target};
    seed.insert(seed.end(), text.begin(), text.end());
    all.push_back(std::move(seed));
  };
  add(0, "tile 64x64x32 waves 2x2 depth 1 unroll 1 lds 2 occupancy 0 wgp techniques 11111");
  add(1, "skinny 1x2 waves 1 depth 1 unroll 1 occupancy 0 techniques 11111");
  add(0, "gemv tokens 1 rows 1 depth 1 occupancy 0");
  add(2, "mfma 32x64x128 waves 1x2 depth 1 unroll 1 lds 1 occupancy 4 split 2 techniques 11111");
  add(3, "decode 16x16x512 waves 4 depth 0 unroll 1 occupancy 0 techniques 11111");
  return all;
}

}  // namespace wavejit::test
