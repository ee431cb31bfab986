// SPDX-License-Identifier: MIT
#include "templates/problem.hpp"

#include <array>

#include "templates/family.hpp"

namespace wavejit::templates {

std::string_view name(DataType type) {
  constexpr std::array<std::string_view, 5> names{"bf16", "f16", "f32", "i32", "i64"};
  return names[static_cast<std::size_t>(type)];
}

unsigned bytes(DataType type) {
  constexpr std::array<unsigned, 5> sizes{2, 2, 4, 4, 8};
  return sizes[static_cast<std::size_t>(type)];
}

std::string_view name(Operation op) { return family(op).name; }

Result<Problem> normalise(const Problem& problem, const target::Target& target) {
  return family(problem.op).normalise(problem, target);
}

std::string canonical(const Problem& problem) { return family(problem.op).canonical(problem); }

}  // namespace wavejit::templates
