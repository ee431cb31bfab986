// SPDX-License-Identifier: MIT
// Private to templates/: W4A16 with few rows of activations (decode), Path::skinny of Operation::w4a16.
//
// A workgroup computes `bm` (1 to 16) rows of activations times `bn` (1, 2, 4 or 8) rows of weights; its
// `waves` split K among them. Lane l of the workgroup takes the l-th run of 32 weights of each stretch of
// 1024 * waves along K, 16 bytes of every row, so that the lanes of a load read 512 neighbouring bytes; what
// is left of a row is read with 8 and then 4 bytes a lane. Nothing is staged: a wave reads the activations
// that meet its weights into registers and uses them for all its rows. Weights are read once and say so
// (non-temporal).
//
// Weights are never rounded. f16: n - zero exactly, two by an instruction, into v_dot2_f32_f16. bf16: 128 + n
// goes straight into v_dot2_f32_bf16, and 128 + zero times the activations' sum comes off in f32; a row whose
// result is not finite that way is computed again from n - zero, so that infinities among the activations
// give what they should. Scales multiply in f32, once per lane, row and pass.
#pragma once

#include "templates/family.hpp"

namespace wavejit::templates::skinny {

inline constexpr unsigned max_m = 16;

/// SIMDs that a workgroup's waves share: those of one CU.
constexpr unsigned cu_simds(const target::Target& target) {
  return target.simds_per_wgp > 1 ? target.simds_per_wgp / 2U : 1U;
}

/// Config fields that mean something here: bm, bn, waves, pipeline_depth, unroll, waves_per_simd and the
/// techniques pipelined_loads, bank_assignment, scalar_offsets. The others are set to what they amount to:
/// bk = 1024 * waves (an iteration of the loop), waves_m = 1, waves_n = waves, one LDS buffer, CU mode.
Result<Config> normalise(const Config& config, const Problem& problem, const target::Target& target);

/// "skinny 1x2 waves 1 depth 1 unroll 1 occupancy 0 techniques 11111".
std::string canonical(const Config& config);
Result<Config> parse(std::string_view canonical_text);

/// Kernel IR before any pass. Problem and Config are normalised.
ir::Kernel build(const Problem& problem, const Config& config, const target::Target& target);

/// After all passes; with no occupancy asked for the highest at which the registers fit.
Result<ir::Kernel> compile(const Problem& problem, Config& config, const target::Target& target,
                           const passes::Observer& observer);

}  // namespace wavejit::templates::skinny
