// SPDX-License-Identifier: MIT
// The `wavejit` command.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "tools/wavejit/commands.hpp"
#include "tools/wavejit/json.hpp"

namespace wavejit::tools {

int refuse(const Error& error, bool json) {
  fmt::print(stderr, "wavejit: error: {}\n", error.message);
  if (json) fmt::print("{}\n", Json{{"error", to_json(error)}}.dump(2));
  return exit_refused;
}

}  // namespace wavejit::tools

namespace {

int run_command(int argc, char** argv) {
  using namespace wavejit::tools;
  CLI::App app("Writes AMDGCN machine code for quantised matrix products, and runs it on a simulator");
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  std::vector<std::pair<CLI::App*, Action>> commands;
  const auto add = [&](const char* name, const char* what, Action (*setup)(CLI::App&)) {
    CLI::App* sub = app.add_subcommand(name, what);
    commands.emplace_back(sub, setup(*sub));
  };
  add("emit", "Generate a kernel: assembly, code object, description", add_emit);
  add("run", "Run a kernel on the simulator and compare it with the oracle", add_run);
  add("verify", "Check a code object or an edited .s without running it", add_verify);
  add("mutate", "Break correct kernels and count what the checks catch", add_mutate);
  add("bundle", "Compile a list of problems into one file that an engine opens", add_bundle);
  add("cache", "Look after the cache of compiled kernels", add_cache);
  add("explain", "What a kernel costs, where its clocks go, what binds", add_explain);
  add("ablate", "What each technique is worth, by the timing model", add_ablate);
  add("choices", "What selection chooses, held against the timing model", add_choices);
  add("sweep", "Choose and generate over a grid of problems, on each target", add_sweep);
  add("tune", "Time the best Configs of a problem and keep the times for an engine", add_tune);
  add("model", "Which kernel serves how many of the bytes that a token reads of a model", add_model);
  add("calibrate", "Compare the timing model with what was measured on GPUs", add_calibrate);
  add("published", "The published MI350X int4 products: our kernels counted, modelled, compared",
      add_published);
  add("selftest", "Run every kernel family on a device against the oracles and time it", add_selftest);
  add("info", "Targets, LLVM version, devices", add_info);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_ok : exit_refused;
  }
  for (const auto& [sub, action] : commands)
    if (sub->parsed()) return action();
  return exit_refused;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_command(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("wavejit: error: the host has no memory left\n", stderr);
    return wavejit::tools::exit_refused;
  } catch (const std::exception& error) {
    fmt::print(stderr, "wavejit: error: {}\n", error.what());
    return wavejit::tools::exit_refused;
  }
}
