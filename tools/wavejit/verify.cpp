// SPDX-License-Identifier: MIT
// wavejit verify: the static checker on a final code object or an edited `.s`. Runs nothing.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "generator/lower/lower.hpp"
#include "runtime/check/checker.hpp"
#include "tools/wavejit/commands.hpp"
#include "tools/wavejit/files.hpp"
#include "tools/wavejit/json.hpp"
#include "tools/wavejit/options.hpp"

namespace wavejit::tools {
namespace {

struct VerifyOptions {
  std::string file, target = "gfx1151";
  std::vector<std::string> without;
  std::size_t limit = check::Options{}.max_findings;
  bool strict = false, json = false;
};

Json to_json(const check::Report& report) {
  Json findings = Json::array();
  for (const check::Finding& f : report.findings)
    findings.push_back({{"kind", check::name(f.kind)},
                        {"severity", check::name(f.severity)},
                        {"source", check::name(f.source)},
                        {"rule", f.rule},
                        {"address", f.address},
                        {"instruction", f.text},
                        {"message", f.message},
                        {"path", f.path}});
  return {
      {"kernel", report.kernel}, {"ok", report.ok()}, {"findings", findings}, {"dropped", report.dropped}};
}

Result<bool> verify(const VerifyOptions& options) {
  const target::Target* target = target::find_simulated(options.target);
  if (target == nullptr)
    return fail_field(ErrorCode::unknown_target, "target", options.target, target_names());
  check::Options checks;
  // What a person edits is a kernel of ours; an object may be anybody's.
  checks.strict = options.strict || options.file.ends_with(".s");
  checks.max_findings = options.limit;
  for (const std::string& name : options.without) {
    const auto kind = check::find_kind(name);
    if (!kind)
      return fail_field(ErrorCode::invalid_argument, "without", name, "the name of a kind of finding");
    checks.without(*kind);
  }
  const auto bytes = read_object(options.file, *target);
  if (!bytes) return std::unexpected(bytes.error());
  const auto object = lower::decode(*bytes);
  if (!object) return std::unexpected(object.error());
  bool ok = true;
  Json all = Json::array();
  for (const check::Report& report : check::check(*object, checks)) {
    ok = ok && report.ok();
    if (options.json) {
      all.push_back(to_json(report));
    } else if (report.findings.empty()) {
      fmt::print("{}: clean\n", report.kernel);
    } else {
      fmt::print("{}", check::to_string(report));
    }
  }
  if (options.json) fmt::print("{}\n", all.dump(2));
  return ok;
}

}  // namespace

Action add_verify(CLI::App& app) {
  const auto options = std::make_shared<VerifyOptions>();
  app.add_option("file", options->file, "A .hsaco, or a .s to assemble for --target")->required();
  app.add_option("--target", options->target, "For a .s")->capture_default_str();
  app.add_option("--without", options->without, "Switch a kind of finding off (repeatable)");
  app.add_option("--limit", options->limit, "Findings to list per kernel; more are only counted")
      ->capture_default_str();
  app.add_flag("--strict", options->strict,
               "What LLVM alone asks for is an error, too, as for our own kernels; always so for a .s");
  app.add_flag("--json", options->json, "Findings as JSON on stdout");
  return [options] {
    const auto right = verify(*options);
    if (!right) return refuse(right.error(), options->json);
    return *right ? exit_ok : exit_wrong;
  };
}

}  // namespace wavejit::tools
