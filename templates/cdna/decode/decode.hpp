// SPDX-License-Identifier: MIT
// Private to templates/: products of few rows on CDNA (decode), Path::decode of int4_gemm, int4_grouped and
// w4a16.
//
// A workgroup computes `bm` rows of activations times `bn` columns; its waves split K among them and add up
// through LDS, in the order of waves, so that one kernel does it all and every compute unit gets work from
// narrow outputs too. A wave meets its weights straight from memory; the activations of a step, `bk` along K
// for all waves together, go through LDS. Weights are never rounded (unpack.hpp).
#pragma once

#include <array>

#include "templates/family.hpp"

namespace wavejit::templates::cdna::decode {

inline constexpr std::array<unsigned, 4> heights{4, 8, 16, 32};

/// Config fields that mean something here: bm (one of heights), bn, bk, waves (any number up to 16),
/// pipeline_depth, unroll, waves_per_simd and the techniques pipelined_loads, bank_assignment,
/// scalar_offsets. The others are set to what they amount to: waves_m = 1, waves_n = waves, two LDS buffers.
/// Groups of weights must be multiples of 64, and of 128 for bm = 4.
Result<Config> normalise(const Config& config, const Problem& problem, const target::Target& target);

/// "decode 4x32x1024 waves 8 depth 2 unroll 1 occupancy 0 techniques 11111".
std::string canonical(const Config& config);
Result<Config> parse(std::string_view canonical_text);

/// Kernel IR before any pass. Problem and Config are normalised.
ir::Kernel build(const Problem& problem, const Config& config, const target::Target& target);

/// After all passes; with no occupancy asked for the highest at which the registers fit.
Result<ir::Kernel> compile(const Problem& problem, Config& config, const target::Target& target,
                           const passes::Observer& observer);

}  // namespace wavejit::templates::cdna::decode
