// SPDX-License-Identifier: MIT
// Exact division of wave-uniform numbers in SGPRs, for the arithmetic of tile numbers: by constants as a
// product with a magic number, by run-time values as a product with a reciprocal that the VALU starts (gfx9
// has no scalar floating point).
#pragma once

#include <cstdint>
#include <string>

#include "generator/ir/builder.hpp"

namespace wavejit::templates {

/// floor(2^(31+l) / d) rounded up, l = ceil(log2 d): (a * factor) >> (32 + shift) = a / d exactly for every
/// a < 2^31 (Granlund and Montgomery 1994, theorem 4.2). d >= 2, below 2^31.
struct Magic {
  std::uint32_t factor = 0;
  unsigned shift = 0;
};
Magic magic(std::uint32_t d);

/// SGPR of a / d for an SGPR a < 2^31 and a constant 1 <= d < 2^31; `a` itself for d = 1. Writes SCC.
isa::Operand divide(ir::Builder& b, const std::string& name, const isa::Operand& a, std::int64_t d);

/// VGPR of the same, lane by lane.
isa::Operand divide_lanes(ir::Builder& b, const std::string& name, const isa::Operand& a, std::int64_t d);

struct Quotient {
  isa::Operand quotient, remainder;  ///< SGPRs
};
/// As divide(), with what is left over.
Quotient divide_with_rest(ir::Builder& b, const std::string& name, const isa::Operand& a, std::int64_t d);

/// a / d for SGPRs a and d, d >= 1. The reciprocal's error, after one Newton step in integers, leaves the
/// quotient at most 2 too small: two corrections make it exact for all 32-bit a and d. Needs full EXEC in at
/// least one lane; writes SCC.
Quotient divide_by_register(ir::Builder& b, const std::string& name, const isa::Operand& a,
                            const isa::Operand& d);

}  // namespace wavejit::templates
