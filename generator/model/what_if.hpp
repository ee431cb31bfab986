// SPDX-License-Identifier: MIT
// What a loop would take if one of its costs were none: the same steady state, played without it. Costs hide
// each other, so that what each is worth alone does not add up to the whole.
#pragma once

#include <span>
#include <string_view>

#include "generator/model/cycles.hpp"

namespace wavejit::model {

enum class Cost : std::uint8_t {
  barriers,          ///< no wave waits for another
  lds,               ///< LDS instructions and waits on them take an issue slot only
  memory,            ///< the same of loads and stores
  memory_latency,    ///< data come as fast as their bytes can be moved
  memory_bandwidth,  ///< every access keeps its latency, bytes cost nothing
  other_valu,        ///< VALU and transcendental instructions take no pipe time, their results no latency
  dependency,        ///< a result is usable when its instruction leaves the pipe
  drain,             ///< memory instructions wait for the VALU results that they read only
  scalar,            ///< scalar instructions, branches included, take an issue slot only
  count_
};
inline constexpr std::size_t costs = static_cast<std::size_t>(Cost::count_);

/// "no barriers": how the loop would be without it.
std::string_view without(Cost cost);

/// Clocks per iteration of a workgroup.
double clocks_without(Cost cost, const Steps& body, const Residency& residency, const target::Target& target,
                      const RunOptions& options = {});

/// Clocks per iteration if only matrix instructions ran: the limit.
double matrix_only(const Steps& body, const Residency& residency, const target::Target& target);

}  // namespace wavejit::model
