// SPDX-License-Identifier: MIT
// wavejit selftest: what a person with a new card runs first. Every kind of kernel that the card serves
// (selftest_cases.hpp), judged by the CPU oracle and, of W4A16, where hiprtc can compile for the card, by a
// plain kernel on the device itself; timed by events; one report file that can be sent in, which also says
// what was not run and why.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "generator/lower/lower.hpp"
#include "runtime/cache/key.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/engine/fallback.hpp"
#include "tests/harness/device_tensors.hpp"
#include "tests/harness/kquant_device.hpp"
#include "tests/harness/tensors.hpp"
#include "tools/wavejit/commands.hpp"
#include "tools/wavejit/files.hpp"
#include "tools/wavejit/json.hpp"
#include "tools/wavejit/options.hpp"
#include "tools/wavejit/progress.hpp"
#include "tools/wavejit/selftest_cases.hpp"

namespace wavejit::tools {
namespace {

struct SelftestOptions {
  std::string device = "auto", report;
  unsigned rounds = 0;
  bool json = false;
};

/// What the kernels promise of a dequantised weight: bf16 by RDNA's dot product truncates (docs/numerics.md),
/// skinny kernels do not round at all.
oracle::WeightRounding promised(const templates::Problem& problem, const templates::Config& config,
                                const target::Target& target) {
  if (config.path == templates::Path::skinny) return oracle::WeightRounding::nearest;
  const bool truncates = problem.activation == templates::DataType::bf16 &&
                         problem.rounding == templates::WeightRounding::fastest &&
                         target.dot2_bf16 == target::Dot2Bf16Rounding::toward_zero;
  return truncates ? oracle::WeightRounding::toward_zero : oracle::WeightRounding::nearest;
}

Json metrics(const oracle::Verdict& v) {
  return {{"ok", v.ok},
          {"nmse", v.metrics.nmse},
          {"gain", v.metrics.gain},
          {"worst_error", v.metrics.worst_error},
          {"reason", v.reason}};
}

/// The plain kernel on the same tensors. An error says why there is none.
Result<std::vector<std::uint16_t>> plain_output(device::Device& device, harness::DeviceTensors& tensors,
                                                const templates::Problem& problem, std::int64_t m) {
  const auto p = engine::fallback::normalise(problem);
  if (!p) return std::unexpected(p.error());
  const auto payload = engine::fallback::compile(*p, device.info());
  if (!payload) return std::unexpected(payload.error());
  const auto record = cache::parse_record(*payload);
  if (!record) return std::unexpected(record.error());
  const auto module = device.load(std::as_bytes(std::span(record->code_object)), record->kernel);
  if (!module) return std::unexpected(module.error());
  const engine::Layout layout = engine::fallback::layout(*p);
  std::array<std::byte, engine::max_kernarg_bytes> kernarg{};
  if (auto ok = engine::bind(layout, tensors.arguments(), m, kernarg); !ok)
    return std::unexpected(ok.error());
  constexpr std::int64_t tile = engine::fallback::tile;
  device::Geometry g;
  g.grid = {static_cast<std::uint32_t>((p->n + tile - 1) / tile),
            static_cast<std::uint32_t>((m + tile - 1) / tile), 1};
  g.block = {tile, tile, 1};
  auto ok = device.launch(**module, g, std::span(kernarg).first(layout.kernarg_bytes), nullptr);
  if (ok) ok = device.synchronise(nullptr);
  if (!ok) return std::unexpected(ok.error());
  return tensors.output();
}

/// Milliseconds of one launch: the median of `rounds`, each between two events.
Result<double> time_launch(device::Device& device, const Plan& plan, const Arguments& arguments,
                           unsigned rounds) {
  const auto start = device.create_event(), stop = device.create_event();
  if (!start) return std::unexpected(start.error());
  if (!stop) return std::unexpected(stop.error());
  std::vector<double> times;
  for (unsigned i = 0; i < rounds; ++i) {
    auto ok = device.record(*start, nullptr);
    if (ok) ok = plan.launch(nullptr, arguments);
    if (ok) ok = device.record(*stop, nullptr);
    if (ok) ok = device.synchronise(nullptr);
    if (!ok) return std::unexpected(ok.error());
    const auto t = device.milliseconds_between(*start, *stop);
    if (!t) return t;
    times.push_back(*t);
  }
  for (const device::Event event : {*start, *stop})
    if (auto ok = device.destroy_event(event); !ok) return std::unexpected(ok.error());
  std::ranges::sort(times);
  return times[times.size() / 2];
}

double tflops(const templates::Problem& p, std::int64_t m, double milliseconds) {
  return 2.0 * static_cast<double>(m * p.n) * static_cast<double>(p.k) / milliseconds / 1e9;
}

Result<Json> run_kquant_case(Engine& engine, const SelftestCase& c, unsigned rounds) {
  const auto device = engine.device();
  const auto plan = engine.prepare(c.problem, {c.m, c.m});
  if (!plan) return std::unexpected(plan.error());
  const auto workspace = plan->workspace_bytes(c.m);
  if (!workspace) return std::unexpected(workspace.error());
  auto tensors = harness::kquant::DeviceTensors::create(
      device, {.problem = plan->problem(), .m = c.m, .workspace_bytes = *workspace});
  if (!tensors) return std::unexpected(tensors.error());
  auto ok = plan->launch(nullptr, tensors->arguments());
  if (ok) ok = device->synchronise(nullptr);
  if (!ok) return std::unexpected(ok.error());
  const auto distance = tensors->judge();
  if (!distance) return std::unexpected(distance.error());
  Json json = {{"kinds", kinds_of(plan->problem(), plan->variants().back().config)},
               {"kernel", plan->variants().back().kernel},
               {"oracle", {{"nmse", distance->exact}, {"nmse_model", distance->model}}}};
  const auto time = time_launch(*device, *plan, tensors->arguments(), rounds);
  if (!time) return std::unexpected(time.error());
  json["milliseconds"] = *time;
  if (device->info().kind == device::Kind::hip) json["tflops"] = tflops(plan->problem(), c.m, *time);
  json["ok"] = distance->ok();
  return json;
}

/// One case; an Error becomes part of the report, so that the rest still runs.
Result<Json> run_case(Engine& engine, const SelftestCase& c, unsigned rounds) {
  if (c.problem.op == templates::Operation::kquant) return run_kquant_case(engine, c, rounds);
  const auto device = engine.device();
  const target::Target& target = *target::find(device->info().target);
  const auto plan = engine.prepare(c.problem, {c.m, c.m});
  if (!plan) return std::unexpected(plan.error());
  const templates::Problem& p = plan->problem();
  auto tensors = harness::DeviceTensors::create(device, p, c.m, oracle::random_values(1), c.group_rows);
  if (!tensors) return std::unexpected(tensors.error());
  const auto workspace = plan->workspace_bytes(c.m);
  if (!workspace) return std::unexpected(workspace.error());
  auto ok = tensors->add_workspace(*workspace);
  if (ok) ok = plan->launch(nullptr, tensors->arguments());
  if (ok) ok = device->synchronise(nullptr);
  if (!ok) return std::unexpected(ok.error());
  const oracle::WeightRounding rounding = promised(p, plan->variants().front().config, target);
  const auto verdict = tensors->judge(rounding);
  if (!verdict) return std::unexpected(verdict.error());
  const auto bits = tensors->output();
  if (!bits) return std::unexpected(bits.error());
  Json json = {{"kinds", kinds_of(p, plan->variants().front().config)},
               {"kernel", plan->variants().front().kernel},
               {"oracle", metrics(*verdict)}};
  const auto time = time_launch(*device, *plan, tensors->arguments(), rounds);
  if (!time) return std::unexpected(time.error());
  json["milliseconds"] = *time;
  if (device->info().kind == device::Kind::hip) json["tflops"] = tflops(p, p.batch * c.m, *time);

  json["ok"] = verdict->ok;
  if (p.op != templates::Operation::w4a16) return json;
  bool right = verdict->ok;
  const auto plain = plain_output(*device, *tensors, p, c.m);
  if (plain) {
    const oracle::Shape shape = harness::oracle_shape(p);
    const oracle::Block block{0, c.m, 0, p.n};
    oracle::Reference reference = oracle::reference(shape, oracle::random_values(1), block);
    for (Eigen::Index i = 0; i < reference.value.size(); ++i)
      reference.value.data()[i] = oracle::decode((*plain)[static_cast<std::size_t>(i)], shape.format);
    const auto against = oracle::compare(reference, *bits, block, shape.format, rounding);
    json["plain_kernel"] = metrics(against);
    right = right && against.ok;
  } else {
    json["plain_kernel"] = {{"none", plain.error().message}};
  }
  json["ok"] = right;
  return json;
}

Json describe(const device::Info& info) {
  return {{"kind", device::name(info.kind)},       {"name", info.name},
          {"target_id", info.target_id},           {"compute_units", info.compute_units},
          {"clock_khz", info.clock_khz},           {"memory_bytes", info.memory_bytes},
          {"driver_version", info.driver_version}, {"unique", info.unique}};
}

/// As the option says; "auto" without a GPU is the simulator here, and only here, and that is said.
Result<std::shared_ptr<device::Device>> open(const std::string& name) {
  auto opened = device::open(name);
  if (opened || name != "auto" || opened.error().code != ErrorCode::no_device) return opened;
  const auto driver = device::hip_driver();
  fmt::print(stderr, "no GPU ({}); this runs on the simulator\n",
             driver ? opened.error().message : driver.error().message);
  return device::open("sim");
}

Result<int> selftest(const SelftestOptions& options) {
  auto device = open(options.device);
  if (!device) return std::unexpected(device.error());
  EngineOptions engine_options;
  engine_options.opened = {*device};
  engine_options.cache_folder = "";  // what is tested is this build, not what an earlier one left
  engine_options.environment = false;
  const auto engine = Engine::create(engine_options);
  if (!engine) return std::unexpected(engine.error());
  const device::Info& info = (*engine)->device()->info();
  if (target::find(info.target) == nullptr)
    return fail_field(ErrorCode::unknown_target, "device", info.target_id, target_names());
  const bool gpu = info.kind == device::Kind::hip;
  const unsigned rounds = options.rounds != 0 ? options.rounds : (gpu ? 20 : 1);

  Json report = {{"wavejit", cache::generator_build_id()},
                 {"llvm", lower::llvm_version()},
                 {"device", describe(info)},
                 {"time_is", gpu ? "device time by events, median" : "host time of the simulator"}};
  const SelftestPlan todo = selftest_plan(*target::find(info.target), gpu);
  const std::vector<SelftestCase>& all = todo.cases;
  std::map<std::string, std::size_t> kinds;
  std::size_t wrong = 0, failed = 0;
  ProgressBar bar("cases");
  for (std::size_t i = 0; i < all.size(); ++i) {
    Json entry = {{"problem", to_json(all[i].problem)}, {"m", all[i].m}};
    auto result = run_case(**engine, all[i], rounds);
    if (result) {
      for (const Json& kind : (*result)["kinds"]) ++kinds[kind.get<std::string>()];
      if (!(*result)["ok"].get<bool>()) ++wrong;
      entry.update(*result);
    } else {
      ++failed;
      entry["ok"] = false;
      entry["error"] = to_json(result.error());
    }
    report["cases"].push_back(std::move(entry));
    bar.update(i + 1, all.size());
  }
  bar.finish();
  report["kinds"] = kinds;
  report["not_run"] = Json::array();
  for (const NotRun& n : todo.not_run) report["not_run"].push_back({{"what", n.what}, {"why", n.why}});
  report["summary"] = {{"cases", all.size()}, {"kinds", kinds.size()}, {"wrong", wrong}, {"failed", failed}};
  if (!options.report.empty()) {
    Outputs files;
    files.add(options.report, report.dump(2) + "\n");
    if (auto ok = files.commit(); !ok) return std::unexpected(ok.error());
  }
  if (options.json) {
    fmt::print("{}\n", report.dump(2));
  } else {
    fmt::print("{} on {} ({}): {} cases of {} kinds, {} wrong, {} failed\n", info.target_id, info.name,
               device::name(info.kind), all.size(), kinds.size(), wrong, failed);
    for (const auto& [kind, count] : kinds) fmt::print("  {:32} {:>4}\n", kind, count);
    for (const NotRun& n : todo.not_run) fmt::print("  not run: {}: {}\n", n.what, n.why);
    for (const Json& c : report["cases"])
      if (!c["ok"].get<bool>()) fmt::print("  {}\n", c.dump());
  }
  return wrong + failed == 0 ? exit_ok : exit_wrong;
}

}  // namespace

Action add_selftest(CLI::App& app) {
  const auto options = std::make_shared<SelftestOptions>();
  app.add_option("--device", options->device,
                 "auto (a GPU, else the simulator), hip, hip:N, sim or sim:TARGET")
      ->capture_default_str();
  app.add_option("-o,--report", options->report, "Write the whole report (JSON) here");
  app.add_option("--rounds", options->rounds, "Timed launches per case (0: 20 on a GPU, 1 on the simulator)");
  app.add_flag("--json", options->json, "The whole report on stdout");
  return [options] {
    const auto code = selftest(*options);
    return code ? *code : refuse(code.error(), options->json);
  };
}

}  // namespace wavejit::tools
