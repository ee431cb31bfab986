// SPDX-License-Identifier: MIT
// Private to the CDNA families: what any of their workgroups must keep within.
#pragma once

#include "templates/problem.hpp"

namespace wavejit::templates::cdna {

/// Bytes that the 16 bits of an LDS instruction's immediate offset reach.
inline constexpr unsigned lds_window = 65536;

/// What one workgroup may ask for. Errors: out_of_lds.
Result<void> check_lds(unsigned bytes, const target::Target& target);

/// Rows and columns that a workgroup reaches from its descriptors' bases.
struct Reach {
  std::int64_t rows = 0;     ///< of activations
  std::int64_t columns = 0;  ///< rows of weights
  std::int64_t output_rows = 0;
  std::int64_t output_bytes = 0;  ///< between them
};
/// Offsets are 31 bits: each tensor's part stays under 2 GiB. Errors: invalid_config, naming the stride.
Result<void> check_reach(const Problem& problem, const Reach& reach);

}  // namespace wavejit::templates::cdna
