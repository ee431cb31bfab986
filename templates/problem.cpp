// SPDX-License-Identifier: MIT
#include "templates/problem.hpp"

#include <array>

#include "templates/family.hpp"

namespace wavejit::templates {

std::string_view name(DataType type) {
  constexpr std::array<std::string_view, 4> names{"bf16", "f16", "f32", "i32"};
  return names[static_cast<std::size_t>(type)];
}

unsigned bytes(DataType type) { return type == DataType::f32 || type == DataType::i32 ? 4 : 2; }

std::string_view name(Operation op) { return family(op).name; }

Result<Problem> normalise(const Problem& problem, const target::Target& target) {
  return family(problem.op).normalise(problem, target);
}

std::string canonical(const Problem& problem) { return family(problem.op).canonical(problem); }

}  // namespace wavejit::templates
