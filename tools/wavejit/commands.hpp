// SPDX-License-Identifier: MIT
// The subcommands. Each adds its flags to a CLI::App and returns what to do once they are parsed.
// Exit codes: 0 right, 1 a run whose verdict is wrong, 2 a request that was refused.
#pragma once

#include <functional>
#include <string>

#include "generator/support/error.hpp"

namespace CLI {
class App;
}

namespace wavejit::tools {

inline constexpr int exit_ok = 0, exit_wrong = 1, exit_refused = 2;

using Action = std::function<int()>;

Action add_emit(CLI::App& app);
Action add_run(CLI::App& app);
Action add_info(CLI::App& app);
Action add_verify(CLI::App& app);
Action add_mutate(CLI::App& app);
Action add_bundle(CLI::App& app);
Action add_cache(CLI::App& app);
Action add_calibrate(CLI::App& app);
Action add_published(CLI::App& app);
Action add_selftest(CLI::App& app);
Action add_ablate(CLI::App& app);
Action add_explain(CLI::App& app);
Action add_choices(CLI::App& app);
Action add_tune(CLI::App& app);
Action add_model(CLI::App& app);
Action add_sweep(CLI::App& app);

/// Says the error on stderr, and on stdout as JSON when asked; returns exit_refused.
int refuse(const Error& error, bool json);

}  // namespace wavejit::tools
