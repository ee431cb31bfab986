// SPDX-License-Identifier: MIT
#include "templates/problem.hpp"

#include <array>

#include "templates/family.hpp"

namespace wavejit::templates {

std::string_view name(DataType type) {
  constexpr std::array<std::string_view, 6> names{"bf16", "f16", "f32", "i32", "u8", "i64"};
  return names[static_cast<std::size_t>(type)];
}

unsigned bytes(DataType type) {
  constexpr std::array<unsigned, 6> sizes{2, 2, 4, 4, 1, 8};
  return sizes[static_cast<std::size_t>(type)];
}

std::string_view name(GgufType type) {
  constexpr std::array<std::string_view, 5> names{"q4_k", "q5_k", "q6_k", "q8_0", "q4_0"};
  return names[static_cast<std::size_t>(type)];
}

std::string_view name(Operation op) { return family(op).name; }

Result<Problem> normalise(const Problem& problem, const target::Target& target) {
  return family(problem.op).normalise(problem, target);
}

std::int64_t most_rows(const Problem& problem) { return family(problem.op).most_rows; }

std::string canonical(const Problem& problem) { return family(problem.op).canonical(problem); }

}  // namespace wavejit::templates
