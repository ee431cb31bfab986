// SPDX-License-Identifier: MIT
// wavejit published: the kernels that selection takes for the published MI350X products, counted and
// modelled.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "runtime/support/guarded.hpp"
#include "tools/wavejit/commands.hpp"
#include "tools/wavejit/options.hpp"
#include "tools/wavejit/published_report.hpp"

namespace wavejit::tools {
namespace {

struct Options {
  std::vector<std::string> targets{"gfx942", "gfx950"};
  std::vector<std::string> tables{"decode", "prefill", "grouped", "batched"};
  std::vector<std::int64_t> only;  ///< M, N, K
  std::string scale_type = "bf16", config;
  PublishedOptions model;
  unsigned threads = 1;
  bool json = false, markdown = false;
};

struct Task {
  const target::Target* target = nullptr;
  PublishedRow row;
};

Result<std::vector<Task>> tasks_of(const Options& o) {
  std::vector<Task> tasks;
  for (const std::string& name : o.targets) {
    const target::Target* target = target::find(name);
    if (target == nullptr)
      return fail_field(ErrorCode::unknown_target, "target", name, "one of " + target_names());
    for (const PublishedRow& row : published_rows())
      if (std::ranges::find(o.tables, tools::name(row.table)) != o.tables.end() &&
          (o.only.empty() || o.only == std::vector{row.m, row.n, row.k}))
        tasks.push_back({target, row});
  }
  if (tasks.empty())
    return fail_field(ErrorCode::invalid_argument, "only", fmt::format("{}", fmt::join(o.only, ",")),
                      "M,N,K of a row of the tables asked for");
  return tasks;
}

Result<void> published(Options o) {
  if (!o.config.empty()) {
    const auto config = templates::parse_config(o.config);
    if (!config) return std::unexpected(config.error());
    o.model.config = *config;
  }
  if (o.scale_type == "f32") o.model.scale_type = templates::DataType::f32;
  const auto tasks = tasks_of(o);
  if (!tasks) return std::unexpected(tasks.error());
  std::vector<Result<PublishedResult>> answers(tasks->size());
  std::atomic<std::size_t> next = 0;
  {
    std::vector<std::jthread> pool;
    for (unsigned t = 0; t < std::max(o.threads, 1U); ++t)
      pool.emplace_back([&] {
        for (std::size_t i; (i = next++) < tasks->size();)
          answers[i] = guarded([&] { return model_row((*tasks)[i].row, *(*tasks)[i].target, o.model); });
      });
  }
  std::vector<PublishedResult> results;
  for (Result<PublishedResult>& a : answers) {
    if (!a) return std::unexpected(a.error());
    results.push_back(*std::move(a));
  }
  if (o.json)
    fmt::print("{}\n", to_json(results, o.model).dump(2));
  else
    print_published(results, o.model, o.markdown);
  return {};
}

}  // namespace

Action add_published(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  app.add_option("--target", o->targets, "GPU architectures of the int4 operations")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--tables", o->tables, "Published tables")
      ->delimiter(',')
      ->check(CLI::IsMember({"decode", "prefill", "grouped", "batched"}))
      ->capture_default_str();
  app.add_option("--only", o->only, "M,N,K of one row")->delimiter(',')->expected(3);
  app.add_option("--config", o->config,
                 "Canonical text of a Config in place of the selected ones (--json has them)");
  app.add_option("--group", o->model.group, "Weights that share a scale (not published)")
      ->capture_default_str();
  app.add_option("--scales", o->scale_type, "Type of scales and zero points (not published)")
      ->check(CLI::IsMember({"bf16", "f32"}))
      ->capture_default_str();
  app.add_option("--launch-gap", o->model.launch_gap_us,
                 "Microseconds before each kernel, counted in comparisons with published times")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--markdown", o->markdown, "Tables for a document");
  app.add_flag("--json", o->json, "Everything as JSON on stdout");
  app.add_option("-j,--threads", o->threads, "Rows at once")->capture_default_str();
  return [o] {
    const auto ok = published(*o);
    return ok ? exit_ok : refuse(ok.error(), o->json);
  };
}

}  // namespace wavejit::tools
