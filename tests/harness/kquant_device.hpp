// SPDX-License-Identifier: MIT
// A kquant problem's tensors on any Device, as a caller of the engine has them: described as Arguments, with
// a workspace, read back and judged. For tests of the engine and for `wavejit selftest`.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/engine/engine.hpp"

namespace wavejit::harness::kquant {

struct DeviceRequest {
  templates::Problem problem{};  ///< normalised
  std::int64_t m = 1;
  std::uint64_t workspace_bytes = 0;
  std::uint64_t seed = 1;
  /// Bytes of a row of weights; unset = oracle::kquant::random_row(seed).
  std::function<std::vector<std::uint8_t>(std::int64_t n)> weights{};
  /// Activation (m, k), rounded to the problem's type; unset = N(0, 1) from (seed, m).
  std::function<float(std::int64_t m, std::int64_t k)> activations{};
};

/// Distance to the oracle, as harness/kquant.hpp has it.
struct Distance {
  double exact = 0;        ///< NMSE against dequantised weights and the activations as they are
  double model = 0;        ///< NMSE against activations quantised as the contract says
  double worst_exact = 0;  ///< largest error of an element as a share of its bound
  double worst_model = 0;
  [[nodiscard]] bool ok() const { return worst_exact <= 1 && worst_model <= 1; }
};

class DeviceTensors {
 public:
  /// Allocates, uploads; the output is NaN. Errors: those of the device.
  static Result<DeviceTensors> create(std::shared_ptr<device::Device> device, const DeviceRequest& request);
  DeviceTensors(DeviceTensors&&) noexcept = default;
  DeviceTensors& operator=(DeviceTensors&&) noexcept = default;
  /// Gives the memory back.
  ~DeviceTensors();

  /// Editable: tests spoil it on purpose.
  [[nodiscard]] Arguments& arguments() { return arguments_; }
  [[nodiscard]] const Arguments& arguments() const { return arguments_; }
  /// M x N. Wait for the stream first.
  [[nodiscard]] Result<std::vector<float>> output() const;
  Result<void> clear_output();
  [[nodiscard]] Result<Distance> judge() const;

 private:
  DeviceTensors() = default;
  Result<device::Address> upload(std::span<const std::byte> bytes);
  Result<void> add(Tensor& tensor, templates::DataType type, std::int64_t rows, std::int64_t columns,
                   std::span<const std::byte> bytes);

  std::shared_ptr<device::Device> device_;
  DeviceRequest request_;
  Arguments arguments_;
  std::vector<std::vector<float>> x_;               ///< as the device sees them
  std::vector<std::vector<std::uint8_t>> weights_;  ///< by row
  std::vector<device::Address> owned_;
};

}  // namespace wavejit::harness::kquant
