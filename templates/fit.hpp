// SPDX-License-Identifier: MIT
// Private to templates/: the highest of some occupancies at which a kernel's registers fit.
#pragma once

#include <functional>
#include <initializer_list>
#include <vector>

#include "templates/kernel.hpp"

namespace wavejit::templates {

/// Waves per SIMD from `most` down to `fewest`; of those with one register budget only the first.
std::vector<unsigned> falling_occupancies(unsigned most, unsigned fewest, const target::Target& target);

/// Registers that scheduling leaves free, in the order of the tries: a schedule that fills the budget to the
/// brim may not pack into tuples.
using Margins = std::initializer_list<int>;

/// What `build` makes after all passes, with the budget of the first of `tries` waves per SIMD, and of
/// `margins`, at which the registers fit; `waves_per_simd` then says which. Errors: those of the passes,
/// out_of_registers of the last try among them; `tries` must not be empty.
Result<ir::Kernel> compile_fitting(const std::vector<unsigned>& tries, unsigned& waves_per_simd,
                                   passes::Options options, const passes::Observer& observer,
                                   const std::function<ir::Kernel()>& build, Margins margins = {4, 16});

}  // namespace wavejit::templates
