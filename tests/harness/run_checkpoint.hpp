// SPDX-License-Identifier: MIT
// A layer of a checkpoint through everything that a server would do: repacked by runtime/repack, run on the
// simulator by the generated kernel, and compared with the oracle, which dequantises straight from the
// checkpoint's tensors by the definition of their format (checkpoint.hpp) and knows nothing of repacking.
#pragma once

#include "runtime/checkpoint/layer.hpp"
#include "tests/harness/run.hpp"

namespace wavejit::harness {

/// n, k, group, zero points and bias of `like` replaced by the layer's; strides, type and rounding stay.
templates::Problem problem_of(const checkpoint::Layer& layer, const templates::Problem& like);

struct CheckpointReport {
  Report report;
  repack::ScaleConversion scales;
  bool gathered = false;  ///< activations were fed in the order that g_idx asks for
};

/// `request.problem` must be problem_of(layer, …). `request.values` gives activations only, in the
/// checkpoint's order of K; unset = random. The oracle looks at `judge` where it is given: tests of the
/// comparison itself show it another layer. Errors: those of repack::plan and of run().
Result<CheckpointReport> run_checkpoint(const checkpoint::Layer& layer, Request request,
                                        const checkpoint::Layer* judge = nullptr);

}  // namespace wavejit::harness
