// SPDX-License-Identifier: MIT
// wavejit cache stats|verify|purge|explain: looks after the folder of compiled kernels. Makes no folder.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cache/bundle.hpp"
#include "runtime/cache/disk_cache.hpp"
#include "templates/kernel.hpp"
#include "tools/wavejit/commands.hpp"
#include "tools/wavejit/json.hpp"
#include "tools/wavejit/options.hpp"
#include "tools/wavejit/stages.hpp"

namespace wavejit::tools {
namespace {

struct CacheOptions {
  std::string folder, bundle;
  bool remove = false, json = false;
  std::optional<unsigned> stage;
  ProblemOptions problem;
};

/// Errors: io, with the reason for which the folder is not used, or, to remove something, is only read.
Result<std::unique_ptr<cache::DiskCache>> open(const CacheOptions& options, bool to_remove = false) {
  auto warning = std::make_shared<std::string>();
  cache::DiskOptions disk;
  disk.folder = options.folder;
  disk.create = false;
  disk.log = [warning](cache::LogLevel level, std::string_view message) {
    if (level == cache::LogLevel::warning) *warning = message;
  };
  auto opened = std::make_unique<cache::DiskCache>(std::move(disk));
  if (!opened->on()) return fail(ErrorCode::io, *warning);
  if (to_remove && opened->read_only())
    return fail(ErrorCode::io,
                fmt::format("the cache folder {} belongs to root; only root can remove what is in it",
                            opened->folder().string()));
  return opened;
}

void say(const Json& json, bool as_json, const std::string& text) {
  fmt::print("{}\n", as_json ? json.dump(2) : text);
}

Result<int> stats(const CacheOptions& options) {
  const auto disk = open(options);
  if (!disk) return std::unexpected(disk.error());
  const cache::DiskContents c = (*disk)->contents();
  const std::string folder = (*disk)->folder().string();
  say({{"folder", folder},
       {"entries", c.entries},
       {"entry_bytes", c.entry_bytes},
       {"temporaries", c.temporaries},
       {"quarantined", c.quarantined}},
      options.json,
      fmt::format("{}: {} kernels, {} bytes, {} temporaries, {} quarantined", folder, c.entries,
                  c.entry_bytes, c.temporaries, c.quarantined));
  return exit_ok;
}

Result<int> verify(const CacheOptions& options) {
  const auto disk = open(options, options.remove);
  if (!disk) return std::unexpected(disk.error());
  const cache::VerifyReport report = (*disk)->verify(options.remove);
  Json bad = Json::array();
  std::string text;
  for (const cache::VerifyReport::Bad& b : report.bad) {
    bad.push_back({{"file", b.file}, {"reason", cache::name(b.miss)}, {"detail", b.detail}});
    text += fmt::format("{}: {} ({}){}\n", b.file, cache::name(b.miss), b.detail,
                        options.remove ? ", removed" : "");
  }
  text += fmt::format("{} sound, {} bad", report.good, report.bad.size());
  say({{"sound", report.good}, {"bad", bad}, {"removed", options.remove}}, options.json, text);
  return report.bad.empty() ? exit_ok : exit_wrong;
}

Result<int> purge(const CacheOptions& options) {
  const auto disk = open(options, true);
  if (!disk) return std::unexpected(disk.error());
  const std::uint64_t removed = (*disk)->purge();
  say({{"removed", removed}}, options.json, fmt::format("removed {} files", removed));
  return exit_ok;
}

Json to_json(const cache::Explanation& e) {
  Json different = Json::array();
  for (const cache::Difference& d : e.different)
    different.push_back({{"part", d.part}, {"ours", d.ours}, {"theirs", d.theirs}});
  return {{"hit", e.miss == cache::Miss::none},
          {"reason", cache::name(e.miss)},
          {"summary", e.summary},
          {"nearest", e.nearest},
          {"different", different}};
}

Result<int> explain(const CacheOptions& options) {
  const auto job = resolve(options.problem);
  if (!job) return std::unexpected(job.error());
  const unsigned stage = options.stage.value_or(templates::product_stage(job->problem, job->config));
  const auto keys =
      cache::device_keys(job->problem, job->config, *job->target, options.problem.target, stage);
  if (!keys) return std::unexpected(keys.error());
  const cache::Key& key = keys->back();  // under which an engine makes and stores it
  cache::Explanation e;
  if (options.bundle.empty()) {
    const auto disk = open(options);
    if (!disk) return std::unexpected(disk.error());
    e = (*disk)->explain(key);
  } else {
    const auto opened = cache::Bundle::open(options.bundle);
    if (!opened) return std::unexpected(opened.error());
    e = opened->explain(key);
    for (const cache::Key& other : *keys)
      if (opened->get(other)) e = opened->explain(other);
  }
  Json json = to_json(e);
  json["key"] = to_hex(key.digest);
  json["key_text"] = key.text;
  say(json, options.json, fmt::format("key {}\n{}{}", to_hex(key.digest), key.text, e.summary));
  return exit_ok;
}

}  // namespace

Action add_cache(CLI::App& app) {
  const auto options = std::make_shared<CacheOptions>();
  const auto chosen = std::make_shared<std::function<Result<int>(const CacheOptions&)>>();
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* what, Result<int> (*run)(const CacheOptions&)) {
    CLI::App* sub = app.add_subcommand(name, what);
    sub->add_option("--folder", options->folder, "Instead of $XDG_CACHE_HOME/wavejit or ~/.cache/wavejit");
    sub->add_flag("--json", options->json, "As JSON on stdout");
    sub->callback([chosen, run] { *chosen = run; });
    return sub;
  };
  add("stats", "What is in it", stats);
  add("verify", "Check every entry", verify)->add_flag("--remove", options->remove, "Remove the bad ones");
  add("purge", "Remove every entry", purge);
  CLI::App* why = add("explain", "Why this kernel would be a hit or a miss, and its key", explain);
  why->add_option("--bundle", options->bundle, "Ask this bundle instead of the folder");
  why->add_option("--stage", options->stage,
                  "Which kernel of those that a launch runs; default the one that multiplies");
  add_problem_options(*why, options->problem);
  return [options, chosen] {
    const auto result = (*chosen)(*options);
    return result ? *result : refuse(result.error(), options->json);
  };
}

}  // namespace wavejit::tools
