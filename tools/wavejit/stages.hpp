// SPDX-License-Identifier: MIT
// Which of the kernels that a launch runs is meant (templates::stages): told by their arguments, so that a
// new family needs nothing here.
#pragma once

#include "generator/lower/lower.hpp"
#include "templates/kernel.hpp"

namespace wavejit::tools {

/// The stage whose arguments `kernel` has, by name and in order. Errors: those of launch();
/// invalid_code_object when there is none, with what each stage has.
Result<unsigned> stage_of(const lower::DecodedKernel& kernel, const templates::Problem& problem,
                          const templates::Config& config, const target::Target& target, std::int64_t m);

}  // namespace wavejit::tools
