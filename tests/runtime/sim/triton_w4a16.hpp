// SPDX-License-Identifier: MIT
// Triton's W4A16 kernels (tests/skip.hpp, "peers/triton") on the simulator, against a float64 reference of
// the dequantised weights. Third-party code: nothing here was made for this simulator.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "runtime/device/sim/simulator.hpp"

namespace wavejit::test {

struct TritonShape {
  std::string name;  ///< of the object, without suffix
  std::uint32_t m = 17, n = 64, k = 64;
};

struct TritonOutcome {
  sim::RunReport run;
  double one_minus_cosine = 1;
  double worst_error = 0;  ///< largest |error| over the bar for one element; right if <= 1
  std::uint64_t unwritten_bytes = 0;
};

/// Fails the running test where a step does.
TritonOutcome run_triton(const TritonShape& shape, const sim::Options& options = {});

/// The same launch for `wavejit run NAME.hsaco --args args.json`: args.json, its inputs, and the product in
/// float64 rounded to the output's type as what to expect, within the bar for one element.
void write_triton_launch(const TritonShape& shape, const std::filesystem::path& folder);

}  // namespace wavejit::test
