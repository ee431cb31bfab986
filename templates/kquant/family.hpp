// SPDX-License-Identifier: MIT
// Private to templates/: the K-quant family's entry in the table of families. Stage 0 quantises the
// activations into the workspace, stage 1 multiplies.
#pragma once

#include "templates/family.hpp"
#include "templates/kquant/kquant.hpp"

namespace wavejit::templates::kquant {

Result<templates::Problem> normalise_problem(const templates::Problem& problem, const target::Target& target);
Result<templates::Config> normalise_config(const templates::Config& config, const templates::Problem& problem,
                                           const target::Target& target);
Result<std::vector<Selection>> select(const templates::Problem& problem, const target::Target& target,
                                      std::int64_t first, std::int64_t last);
Result<ir::Kernel> compile_stage(const templates::Problem& problem, templates::Config& config, unsigned stage,
                                 const target::Target& target, const passes::Observer& observer);
Result<Launch> launch_stage(const templates::Problem& problem, const templates::Config& config,
                            unsigned stage, const target::Target& target, std::int64_t m);

inline constexpr Family family{
    .most_rows = max_m,
    .normalise = normalise_problem,
    .normalise_config = normalise_config,
    .select = select,
    .stages = [](const templates::Problem&, const templates::Config&) { return 2U; },
    .compile = compile_stage,
    .launch = launch_stage,
};

}  // namespace wavejit::templates::kquant
