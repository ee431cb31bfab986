// SPDX-License-Identifier: MIT
#include "templates/problem.hpp"

#include <array>

#include "templates/family.hpp"
#include "templates/fields.hpp"

namespace wavejit::templates {

unsigned bytes(DataType type) {
  constexpr std::array<unsigned, 6> sizes{2, 2, 4, 4, 1, 8};
  return sizes[static_cast<std::size_t>(type)];
}

Result<Problem> normalise(const Problem& problem, const target::Target& target) {
  if (auto ok = check_fields(problem); !ok) return std::unexpected(ok.error());
  return family(problem.op).normalise(problem, target);
}

std::int64_t most_rows(const Problem& problem) { return family(problem.op).most_rows; }

}  // namespace wavejit::templates
