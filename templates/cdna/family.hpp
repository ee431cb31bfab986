// SPDX-License-Identifier: MIT
// Private to templates/: the CDNA family's entry in the table of families.
#pragma once

#include "templates/cdna/launch.hpp"
#include "templates/family.hpp"

namespace wavejit::templates::cdna {

/// gfx9 with the matrix instructions of gfx940 and later; others (gfx90a) are simulated only.
inline bool serves(const target::Target& target) {
  return target.generation == target::Generation::gfx9 && !target.matrix_shapes.empty();
}

/// The group that -1 stands for. K = 0 has none, and any will do: sums of nothing are zeros.
inline std::int64_t all_of_k(const Problem& problem) { return problem.k == 0 ? 64 : problem.k; }

Result<Problem> normalise(const Problem& problem, const target::Target& target);
Result<Config> normalise(const Config& config, const Problem& problem, const target::Target& target);
std::string config_text(const Config& config);
Result<Config> parse_config(const std::string& canonical_text);
Result<std::vector<Selection>> select(const Problem& problem, const target::Target& target,
                                      std::int64_t first, std::int64_t last);
Result<ir::Kernel> compile(const Problem& problem, Config& config, unsigned stage,
                           const target::Target& target, const passes::Observer& observer);

inline unsigned stages(const Problem& /*problem*/, const Config& config) {
  return config.split_k > 1 ? 2 : 1;
}

inline constexpr Family int4_gemm{
    .normalise = normalise,
    .normalise_config = normalise,
    .select = select,
    .stages = stages,
    .compile = compile,
    .launch = launch,
};

inline constexpr Family int4_grouped{
    .normalise = normalise,
    .normalise_config = normalise,
    .select = select,
    .stages = stages,
    .compile = compile,
    .launch = launch,
};

}  // namespace wavejit::templates::cdna
