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

/// Waves per SIMD of one workgroup by itself, spread over `simds`: with registers for fewer it could not be
/// launched.
constexpr unsigned fewest_waves(unsigned waves, unsigned simds) { return (waves + simds - 1) / simds; }
/// Errors: invalid_config for an occupancy below that; 0, none asked for, is fine.
Result<void> check_occupancy(unsigned asked, unsigned fewest);

/// Registers that scheduling leaves free, in the order of the tries: a schedule that fills the budget to the
/// brim may not pack into tuples.
using Margins = std::initializer_list<int>;

/// What `build` makes after all passes, with the budget of the first of `tries` waves per SIMD, and of
/// `margins`, at which the registers fit; `waves_per_simd` then says which. Where none does,
/// compile_sparing() with the last of them. `tries` must not be empty. Errors: those of the passes.
Result<ir::Kernel> compile_fitting(const std::vector<unsigned>& tries, unsigned& waves_per_simd,
                                   passes::Options options, const passes::Observer& observer,
                                   const std::function<ir::Kernel()>& build, Margins margins = {4, 16});

/// The last resort of every kind of kernel, of one that is prepared (passes::prepare) and has its budget:
/// schedules that leave ever more registers free, then the order of emission, which needs the fewest. So a
/// kernel is refused only if that order does not fit. Errors: those of the passes; out_of_registers says the
/// count that would do.
Result<ir::Kernel> compile_sparing(const ir::Kernel& prepared, passes::Options options,
                                   const passes::Observer& observer);

}  // namespace wavejit::templates
