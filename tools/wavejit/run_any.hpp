// SPDX-License-Identifier: MIT
// Runs any code object's kernel with the arguments of a launch file (launch_file.hpp).
#pragma once

#include <filesystem>
#include <string>

#include "generator/support/error.hpp"
#include "runtime/device/sim/simulator.hpp"

namespace wavejit::tools {

/// True when no fault was found and every "expect" holds. `kernel_name` overrides the file's; `target`
/// is what a `.s` is assembled for. Outputs are written only after a run that could be started.
Result<bool> run_any(const std::filesystem::path& object, const std::filesystem::path& args,
                     const std::string& kernel_name, const std::string& target, const sim::Options& checks,
                     bool json);

/// Wave-instructions of a run, in millions a second by the wall clock; 0 for a run too short to tell.
double millions_per_second(const sim::RunReport& report);

}  // namespace wavejit::tools
