// SPDX-License-Identifier: MIT
// Stage 1 of split-K: output[r, n] = sum over slices s of workspace[b, s, r - b M, n] with r = b M .. b M + M
// - 1, added in f32 in the order s = 0, 1, …, then bias[n] if there is one, then rounded once to the output's
// type, nearest even. Bits
// depend on nothing but the numbers: no atomics, one work-item per element. Each workgroup has a piece of one
// row.
#pragma once

#include "generator/ir/kernel.hpp"
#include "generator/passes/passes.hpp"
#include "templates/problem.hpp"

namespace wavejit::templates::cdna {

/// Elements of a work-item: 4 where every row starts at a multiple of 4, 1 else.
unsigned reduce_width(const Problem& problem);
/// Work-items of a workgroup: enough for a row, 256 at most.
std::int64_t reduce_threads(const Problem& problem);
/// Workgroups for `m` rows per batch.
std::int64_t reduce_workgroups(const Problem& problem, std::int64_t m);

/// The kernel before the passes; arguments as arguments(problem, config, 1) has them. split_k 1 to 16.
ir::Kernel build_reduce(const Problem& problem, const Config& config, const target::Target& target);

/// … and after them.
Result<ir::Kernel> compile_reduce(const Problem& problem, const Config& config, const target::Target& target,
                                  const passes::Observer& observer);

}  // namespace wavejit::templates::cdna
