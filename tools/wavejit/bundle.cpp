// SPDX-License-Identifier: MIT
// wavejit bundle: compiles a list of problems for a list of GPUs into one file that an engine opens.
#include "runtime/cache/bundle.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cache/record.hpp"
#include "runtime/support/guarded.hpp"
#include "tools/wavejit/commands.hpp"
#include "tools/wavejit/files.hpp"
#include "tools/wavejit/json.hpp"
#include "tools/wavejit/progress.hpp"
#include "tools/wavejit/shapes_file.hpp"

namespace wavejit::tools {
namespace {

struct BundleOptions {
  std::string shapes, output;
  std::vector<std::string> arch;
  unsigned threads = 0;
  bool json = false;
};

/// One kernel to be made.
struct Work {
  cache::Key key;
  Job job;
  unsigned stage = 0;
  std::string place;
};

std::unexpected<Error> at(const std::string& place, Error error) {
  error.message = place + ": " + error.message;
  return std::unexpected(std::move(error));
}

/// Every Config that selection gives to some M of the range, with what the item says of it itself.
Result<void> add_work(const ShapeItem& item, const std::string& target_id, std::map<std::string, Work>& all) {
  ProblemOptions options = item.options;
  options.target = target_id;
  options.m = item.first;
  const auto whole = resolve(options);
  if (!whole) return at(item.place, whole.error());
  const auto selections = templates::select_configs(whole->problem, *whole->target, item.first, item.last);
  if (!selections) return at(item.place, selections.error());
  for (const templates::Selection& selection : *selections) {
    options.m = selection.first;
    auto job = resolve(options);
    if (!job) return at(item.place, job.error());
    for (unsigned stage = 0; stage < templates::stages(job->problem, job->config); ++stage) {
      const auto parts = cache::key_parts(job->problem, job->config, *job->target, target_id, stage);
      if (!parts) return std::unexpected(parts.error());
      Work work{.key = cache::make_key(*parts), .job = *job, .stage = stage, .place = item.place};
      all.try_emplace(work.key.text, std::move(work));
    }
  }
  return {};
}

Result<std::vector<Work>> plan(const BundleOptions& options) {
  const auto items = read_shapes(options.shapes);
  if (!items) return std::unexpected(items.error());
  std::map<std::string, Work> all;
  for (const std::string& arch : options.arch) {
    const auto target_id = cache::canonical_target_id(arch);
    if (!target_id) return std::unexpected(target_id.error());
    for (const ShapeItem& item : *items)
      if (auto ok = add_work(item, *target_id, all); !ok) return std::unexpected(ok.error());
  }
  std::vector<Work> list;
  list.reserve(all.size());
  for (auto& [text, work] : all) list.push_back(std::move(work));
  return list;
}

struct Made {
  cache::Record record;
  cache::Entry entry;
};

Result<Made> make(const Work& work) {
  const auto kernel = templates::generate(work.job.problem, work.job.config, *work.job.target,
                                          {.stage = work.stage, .verify = false});
  if (!kernel) return at(work.place, kernel.error());
  Made made{.record = cache::make_record(*kernel), .entry = {.key_text = work.key.text, .payload = {}}};
  made.entry.payload = serialise(made.record);
  return made;
}

/// On all cores, in any order; the result has the order of `list`. The first failure ends it.
Result<std::vector<Made>> make_all(const std::vector<Work>& list, unsigned threads) {
  std::vector<Made> made(list.size());
  std::optional<Error> error;
  std::mutex mutex;
  std::atomic<std::size_t> next = 0;
  std::size_t done = 0;
  ProgressBar bar("kernels");
  const auto worker = [&] {
    for (std::size_t i; (i = next++) < list.size();) {
      auto one = guarded([&] { return make(list[i]); });
      const std::lock_guard lock(mutex);
      if (one) {
        made[i] = *std::move(one);
      } else {
        if (!error) error = one.error();
        next = list.size();
      }
      bar.update(++done, list.size());
    }
  };
  {
    std::vector<std::jthread> pool;
    const std::size_t count = std::min<std::size_t>(threads, list.size());
    for (std::size_t t = 1; t < count; ++t) pool.emplace_back(worker);
    worker();
  }
  bar.finish();
  if (error) return std::unexpected(*error);
  return made;
}

Json describe(const std::vector<Work>& list, const std::vector<Made>& made, const std::string& path,
              std::size_t bytes) {
  Json kernels = Json::array();
  for (std::size_t i = 0; i < list.size(); ++i)
    kernels.push_back({{"key", to_hex(list[i].key.digest)},
                       {"kernel", made[i].record.kernel},
                       {"target", made[i].record.target},
                       {"problem", templates::canonical(list[i].job.problem)},
                       {"config", templates::canonical(list[i].job.config)},
                       {"code_bytes", made[i].record.code_object.size()}});
  return {{"bundle", path}, {"bytes", bytes}, {"kernels", kernels}};
}

Result<void> bundle(const BundleOptions& options) {
  const auto list = plan(options);
  if (!list) return std::unexpected(list.error());
  const unsigned cores = std::max(std::thread::hardware_concurrency(), 1U);
  const auto made = make_all(*list, options.threads == 0 ? cores : options.threads);
  if (!made) return std::unexpected(made.error());
  std::vector<cache::Entry> entries;
  for (const Made& one : *made) entries.push_back(one.entry);
  const auto bytes = cache::serialise_bundle(std::move(entries));
  if (!bytes) return std::unexpected(bytes.error());
  Outputs files;
  files.add(options.output, *bytes);
  if (auto ok = files.commit(); !ok) return ok;
  if (options.json) {
    fmt::print("{}\n", describe(*list, *made, options.output, bytes->size()).dump(2));
  } else {
    fmt::print("wrote {}: {} kernels, {} bytes\n", options.output, list->size(), bytes->size());
  }
  return {};
}

}  // namespace

Action add_bundle(CLI::App& app) {
  const auto options = std::make_shared<BundleOptions>();
  app.add_option("shapes", options->shapes, "List of problems as JSON (tools/wavejit/shapes_file.hpp)")
      ->required();
  app.add_option("--arch", options->arch,
                 "Target IDs as the devices report them, with features: gfx1151,gfx942:sramecc+:xnack-")
      ->delimiter(',')
      ->required();
  app.add_option("-o,--output", options->output, "The bundle to write")->required();
  app.add_option("-j,--threads", options->threads, "Kernels made at once; default: one a core");
  app.add_flag("--json", options->json, "List the kernels as JSON on stdout");
  return [options] {
    const auto result = bundle(*options);
    return result ? exit_ok : refuse(result.error(), options->json);
  };
}

}  // namespace wavejit::tools
