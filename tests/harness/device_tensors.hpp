// SPDX-License-Identifier: MIT
// A problem's tensors on any Device, as a caller of the engine has them: filled from the oracle's values,
// described as Arguments, read back and judged. For tests of the engine and for `wavejit selftest`.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/engine/engine.hpp"
#include "tests/harness/tiles.hpp"
#include "tests/oracle/compare.hpp"
#include "tests/oracle/problem.hpp"

namespace wavejit::harness {

class DeviceTensors {
 public:
  /// `problem` normalised; `group_rows` of a grouped one. Allocates, uploads. Errors: those of the device.
  static Result<DeviceTensors> create(std::shared_ptr<device::Device> device,
                                      const templates::Problem& problem, std::int64_t m,
                                      const oracle::Values& values,
                                      const std::vector<std::int64_t>& group_rows = {});
  DeviceTensors(DeviceTensors&&) noexcept = default;
  DeviceTensors& operator=(DeviceTensors&&) noexcept = default;
  /// Gives the memory back.
  ~DeviceTensors();

  /// Scratch memory of NaNs among the arguments; 0 bytes: none. Errors: those of the device.
  Result<void> add_workspace(std::uint64_t bytes);

  /// Editable: tests spoil it on purpose.
  [[nodiscard]] Arguments& arguments() { return arguments_; }
  [[nodiscard]] const Arguments& arguments() const { return arguments_; }
  /// Output bits, M (of all batches) x N without padding. Wait for the stream first.
  [[nodiscard]] Result<std::vector<std::uint16_t>> output() const;
  /// Fills the output with NaN bits.
  Result<void> clear_output();
  /// Against the oracle; `rounding` is what the kernel promises of weights.
  [[nodiscard]] Result<oracle::Verdict> judge(oracle::WeightRounding rounding) const;

 private:
  DeviceTensors() = default;
  Result<void> add_rowwise(const oracle::Shape& shape);
  Result<void> add_int4(const oracle::Shape& shape, const std::vector<std::int64_t>& group_rows);
  Result<void> add(Tensor& tensor, templates::DataType type, std::int64_t rows, std::int64_t columns,
                   std::int64_t stride, const std::vector<std::byte>& bytes);

  std::shared_ptr<device::Device> device_;
  templates::Problem problem_;
  std::int64_t m_ = 0;  ///< rows of activations and output
  std::vector<Product> products_;
  oracle::Values values_;
  Arguments arguments_;
  std::vector<device::Address> owned_;
};

}  // namespace wavejit::harness
