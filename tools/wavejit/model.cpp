// SPDX-License-Identifier: MIT
// wavejit model: a model file or folder -> which kernel serves how many of the bytes that a token reads.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "tools/wavejit/budget_report.hpp"
#include "tools/wavejit/commands.hpp"
#include "tools/wavejit/options.hpp"

namespace wavejit::tools {
namespace {

struct ModelOptions {
  std::string path, target = "gfx1151";
  bool header_only = false, each = false, json = false;
};

Result<Budget> read_budget(const ModelOptions& options) {
  std::error_code ignored;
  if (std::filesystem::is_directory(options.path, ignored))
    return budget_of(std::filesystem::path(options.path));
  const auto data = options.header_only ? gguf::Data::may_be_absent : gguf::Data::present;
  const auto file = gguf::File::open(options.path, data);
  if (!file) return std::unexpected(file.error());
  return budget_of(*file);
}

Result<void> run(const ModelOptions& options) {
  const target::Target* target = target::find(options.target);
  if (target == nullptr)
    return fail_field(ErrorCode::unknown_target, "target", options.target, target_names());
  auto budget = read_budget(options);
  if (!budget) return std::unexpected(budget.error());
  Prices prices(*target);
  const auto report = price(*std::move(budget), prices);
  if (!report) return std::unexpected(report.error());
  if (options.json)
    fmt::print("{}\n", to_json(*report).dump(2, ' ', true, Json::error_handler_t::replace));
  else
    print_text(*report, options.each);
  return {};
}

}  // namespace

Action add_model(CLI::App& app) {
  const auto options = std::make_shared<ModelOptions>();
  app.add_option("model", options->path,
                 "A .gguf file (of a split one any part), or a folder of .safetensors")
      ->required();
  app.add_option("--target", options->target, "GPU that the kernels are for")->capture_default_str();
  app.add_flag("--header-only", options->header_only, "Take a .gguf that ends with its header");
  app.add_flag("--each", options->each, "A line for each tensor, in the file's order");
  app.add_flag("--json", options->json, "Report as JSON on stdout");
  return [options] {
    const auto ok = run(*options);
    return ok ? exit_ok : refuse(ok.error(), options->json);
  };
}

}  // namespace wavejit::tools
