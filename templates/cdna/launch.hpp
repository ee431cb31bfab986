// SPDX-License-Identifier: MIT
// Private to templates/: how the CDNA kernels are launched. Stage 0 multiplies; with split-K it leaves
// partial sums in a workspace [batch, split_k, M, N] of f32 and stage 1 adds them (reduce.hpp).
#pragma once

#include <vector>

#include "templates/cdna/schedule.hpp"
#include "templates/kernel.hpp"

namespace wavejit::templates::cdna {

/// The order of tiles of stage 0.
Schedule schedule_of(const Problem& problem, const Config& config, const target::Target& target);

/// In kernarg order. Stage 0: activations, weights, scales, zero_points if any, bias if any and split_k is 1,
/// output or (split_k > 1) workspace, group_rows if grouped, m. Stage 1: workspace, output, bias if any, m.
std::vector<ir::KernelArg> arguments(const Problem& problem, const Config& config, unsigned stage);
std::uint32_t kernarg_size(const std::vector<ir::KernelArg>& arguments);

/// Alignment of the output that the kernels' widest store needs.
std::uint32_t output_alignment(const Problem& problem);

/// For `m` rows of each batch, or of the buffers of a grouped problem. Nothing to do (no groups): a grid of 0
/// workgroups, which is not to be launched. Errors: rows, columns or workgroups that 31 bits do not hold, a
/// grid of 2^32 work-items and more.
Result<Launch> launch(const Problem& problem, const Config& config, unsigned stage,
                      const target::Target& target, std::int64_t m);

}  // namespace wavejit::templates::cdna
