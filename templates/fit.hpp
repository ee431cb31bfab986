// SPDX-License-Identifier: MIT
// Private to templates/: the highest of some occupancies at which a kernel's registers fit.
#pragma once

#include <functional>
#include <vector>

#include "templates/kernel.hpp"

namespace wavejit::templates {

/// Waves per SIMD from `most` down to `fewest`; of those with one register budget only the first.
std::vector<unsigned> falling_occupancies(unsigned most, unsigned fewest, const target::Target& target);

/// What `build` makes after all passes, with the first of `tries` waves per SIMD at which the
/// registers fit; `waves_per_simd`, which `build` looks at, says which. Errors: those of the passes,
/// out_of_registers of the last try among them; `tries` must not be empty. `margins`: VGPRs of the budget that
/// scheduling leaves free, one after the other: a schedule that fills the budget to the brim may not pack into
/// tuples, or find that nothing frees registers any more.
Result<ir::Kernel> compile_fitting(const std::vector<unsigned>& tries, unsigned& waves_per_simd,
                                   passes::Options options, const passes::Observer& observer,
                                   const std::function<ir::Kernel()>& build,
                                   const std::vector<int>& margins = {4, 16});

}  // namespace wavejit::templates
