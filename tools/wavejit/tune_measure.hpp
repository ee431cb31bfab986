// SPDX-License-Identifier: MIT
// What a device's events say of several Configs of one problem.
#pragma once

#include <functional>
#include <vector>

#include "runtime/device/device.hpp"
#include "runtime/engine/tuning.hpp"
#include "templates/problem.hpp"

namespace wavejit::tools {

/// Median microseconds of a call with `m` rows by each Config, between events around all of its kernels.
/// Every one of `rounds` rounds, and one more that warms up, calls each Config once, so that clocks that
/// drift drift for all. Tensors hold random bits, which draw the power that real weights do, and all Configs
/// have the same; a grouped problem's rows are shared evenly among its groups. A Config that needs more
/// registers than there are is left out. `problem` and `configs` must be normalised for `target`, which is
/// the device's; `progress(done, of)` is called after each call. Errors: those of generate(), launch() and
/// the device.
Result<std::vector<engine::TunedTime>> measure_configs(
    device::Device& device, const templates::Problem& problem, const target::Target& target, std::int64_t m,
    const std::vector<templates::Config>& configs, unsigned rounds,
    const std::function<void(std::uint64_t, std::uint64_t)>& progress);

}  // namespace wavejit::tools
