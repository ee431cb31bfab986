// SPDX-License-Identifier: MIT
// The W4A16 prefill family: output[M,N] = activations[M,K] * dequantised(weights[N,K])^T (+ bias[N]) with
// WMMA, for bf16 and f16, with zero points or without.
//
// A workgroup computes a bm x bn tile. Each work-item loads a share of the activations (16 bytes a
// chunk) and of the weights (one word of eight int4), dequantises its weights once per workgroup and
// writes both to LDS; waves read fragments and multiply. The weights are SRC0, so D holds columns
// along registers and rows along lanes: a lane ends with eight consecutive columns of one row.
#pragma once

#include "generator/ir/kernel.hpp"
#include "templates/problem.hpp"

namespace wavejit::templates::w4a16 {

/// Kernel IR before any pass. Problem and Config are normalised.
ir::Kernel build(const Problem& problem, const Config& config, const target::Target& target);

/// Kernel arguments in kernarg order: activations, weights, scales, zero_points and bias where the problem
/// has them, output, m. Offsets are natural alignment's.
std::vector<ir::KernelArg> arguments(const Problem& problem);

/// Bytes of the kernarg segment that holds `arguments`, a multiple of 8.
std::uint32_t kernarg_size(const std::vector<ir::KernelArg>& arguments);

}  // namespace wavejit::templates::w4a16
