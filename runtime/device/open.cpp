// SPDX-License-Identifier: MIT
// Finds a device by kind and number, or by the words that a user writes.
#include <fmt/format.h>

#include <charconv>

#include "runtime/device/device.hpp"
#include "runtime/device/hip/hip_device.hpp"
#include "runtime/device/simulated/sim_device.hpp"

namespace wavejit::device {
namespace {

constexpr int sim_ordinals = 16;

Result<std::shared_ptr<Device>> open_sim(int ordinal, const OpenOptions& options) {
  if (ordinal < 0 || ordinal >= sim_ordinals) {
    return fail(ErrorCode::no_device,
                fmt::format("there is no simulated device {}; they are 0 to {}", ordinal, sim_ordinals - 1));
  }
  SimOptions sim;
  if (!options.sim_target.empty()) sim.target = options.sim_target;
  sim.ordinal = ordinal;
  return SimDevice::create(sim);
}

}  // namespace

std::string_view name(Kind kind) { return kind == Kind::hip ? "hip" : "sim"; }

Result<int> count(Kind kind, const OpenOptions& options) {
  // One, though any ordinal up to the last opens another: nobody wants to see sixteen in a list.
  if (kind == Kind::sim) return 1;
  return hip::count_devices(options);
}

Result<Driver> hip_driver(const OpenOptions& options) { return hip::driver(options); }

Result<std::shared_ptr<Device>> open(Kind kind, int ordinal, const OpenOptions& options) {
  if (kind == Kind::sim) return open_sim(ordinal, options);
  return hip::open_device(ordinal, options);
}

Result<std::shared_ptr<Device>> open(std::string_view description, const OpenOptions& options) {
  if (description.empty() || description == "auto") {
    const auto gpus = count(Kind::hip, options);
    if (gpus) return open(Kind::hip, 0, options);
    return fail(
        ErrorCode::no_device,
        fmt::format("there is no GPU to use ({}); to run on the simulator, name the device \"sim\" or "
                    "\"sim:TARGET\"",
                    gpus.error().message));
  }
  const std::size_t colon = description.find(':');
  const std::string_view kind = description.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? "" : description.substr(colon + 1);
  if (kind != "hip" && kind != "sim") {
    return fail_field(ErrorCode::invalid_argument, "device", std::string(description),
                      "\"hip\", \"sim\", either with \":ordinal\", \"sim:target\" or \"auto\"");
  }
  int ordinal = 0;
  const auto [end, wrong] = std::from_chars(rest.data(), rest.data() + rest.size(), ordinal);
  const bool is_ordinal = !rest.empty() && wrong == std::errc() && end == rest.data() + rest.size();
  if (kind == "hip") {
    if (colon != std::string_view::npos && !is_ordinal)
      return fail_field(ErrorCode::invalid_argument, "device ordinal", std::string(rest), "a number");
    return open(Kind::hip, ordinal, options);
  }
  if (rest.empty() || is_ordinal) return open(Kind::sim, ordinal, options);
  OpenOptions with_target = options;
  with_target.sim_target = rest;
  return open(Kind::sim, 0, with_target);
}

}  // namespace wavejit::device
