// SPDX-License-Identifier: MIT
// wavejit run --gguf: a tensor of a GGUF file as the weights of the decode kernels, on the simulator. Random
// activations go through the quantiser's kernel and then through the product's; the oracle dequantises the
// file's bytes by the format's definition.
#pragma once

#include <cstdint>
#include <string>

#include "generator/support/error.hpp"

namespace wavejit::tools {

struct GgufRun {
  std::string file, tensor, target;
  std::string activation;   ///< of the quantiser's input: "bf16", "f16" or "f32"
  std::int64_t m = 1;       ///< 1 to 8
  std::int64_t rows = 64;   ///< of weights, spread over the tensor, first and last among them; 0 = all
  std::int64_t expert = 0;  ///< which matrix of a tensor of several
  std::uint64_t seed = 1;
  bool json = false;
};

/// Prints the report; whether all was right. Errors: of the file, of what no kernel serves.
Result<bool> run_gguf(const GgufRun& options);

}  // namespace wavejit::tools
