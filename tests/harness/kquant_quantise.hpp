// SPDX-License-Identifier: MIT
// Runs the quantiser of K-quant activations on the simulator with every check on, after the static checker.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/device/sim/simulator.hpp"
#include "templates/kquant/quantise.hpp"
#include "tests/oracle/kquant.hpp"

namespace wavejit::harness::kquant {

struct QuantiseRequest {
  templates::kquant::QuantiseProblem problem{};
  std::string target = "gfx1151";
  /// Input (m, k), rounded to the input's type.
  std::function<double(std::int64_t m, std::int64_t k)> input{};
  std::vector<std::uint8_t> code_object{};  ///< in place of the generated kernel's
  sim::Options sim{};
};

struct QuantiseReport {
  std::string checker;  ///< findings of the static checker; empty when clean
  sim::RunReport run;
  std::uint64_t unwritten_bytes = 0;
  std::vector<float> input;                  ///< as the kernel saw it, m x k
  std::vector<std::uint8_t> bytes;           ///< the output
  std::vector<oracle::kquant::Q8_1> blocks;  ///< the same taken apart, m x k / 32

  /// Empty when nothing is wrong with the run, nor with a value.
  [[nodiscard]] std::string reason() const;
};

Result<QuantiseReport> quantise(const QuantiseRequest& request);

}  // namespace wavejit::harness::kquant
