// SPDX-License-Identifier: MIT
// The activations of kquant.hpp from rows of f32, f16 or bf16: for each 32 elements d = max |x| / 127, q = x
// / d rounded half away from zero, s = the sum of x in f32; d and s are stored times 2^-16. One wave takes
// 256 elements of a row, or what is left of it: the rest of its 320 bytes are zeros.
//
// A block whose largest |x| is below 2^-100 counts as zero (d = 0, q = 0). An infinity or NaN among the
// inputs makes d NaN, so that it shows in the row's result of whatever type of weights. Nothing else does:
// the sum of 32 finite numbers times 2^-16 is finite.
#pragma once

#include "templates/kquant/kquant.hpp"

namespace wavejit::templates::kquant {

struct QuantiseProblem {
  DataType input = DataType::bf16;  ///< bf16, f16 or f32; rows are dense
  std::int64_t k = 0;               ///< a multiple of 32
  std::int64_t m = 1;               ///< rows; m * ceil(k / 256) below 2^27
};

Result<QuantiseProblem> normalise(const QuantiseProblem& problem, const target::Target& target);
/// Arguments: activations, workspace. `problem` is normalised, as in the next.
Launch launch(const QuantiseProblem& problem, const target::Target& target);
Result<ir::Kernel> compile(const QuantiseProblem& problem, const target::Target& target,
                           const passes::Observer& observer);

}  // namespace wavejit::templates::kquant
