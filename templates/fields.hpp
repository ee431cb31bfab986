// SPDX-License-Identifier: MIT
// The one table of Problem's fields: for which operations a field means something, which of its values they
// take, and how the canonical text says it. Checks, canonical text, plan keys and the command ask it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "templates/problem.hpp"

namespace wavejit::templates {

/// References to all fields, in the order of the canonical text. Whoever adds a field to Problem meets this
/// binding, which names them all, and then the table of fields.cpp.
template <class P>
constexpr auto tie(P& problem) {
  auto& [op, activation, n, k, group, zero_points, layout, weight_type, rounding, bias, activation_stride,
         weight_stride, scale_stride, zero_point_stride, output_stride, batch, groups, scale_type] = problem;
  return std::tie(op, weight_type, activation, zero_points, layout, n, k, group, scale_type, rounding,
                  activation_stride, weight_stride, scale_stride, output_stride, zero_point_stride, bias,
                  groups, batch);
}

inline constexpr std::size_t problem_fields =
    std::tuple_size_v<decltype(tie(std::declval<const Problem&>()))>;

/// A problem as one number a field; equal exactly for equal problems.
using Words = std::array<std::int64_t, problem_fields>;
Words words(const Problem& problem);
/// The problem of these words; each must be one that its field can hold.
Problem of_words(const Words& words);

struct Field {
  std::string_view name;
  std::string_view prefix;                   ///< of its word in the canonical text
  std::span<const std::string_view> values;  ///< of an enumeration; empty: any number
  /// Per operation a bit for each value of an enumeration that it takes; of numbers any bit. 0: says nothing.
  std::array<std::uint32_t, operations> takes{};
  std::string_view hint{};   ///< where it means nothing
  bool quiet = false;        ///< not said by the canonical text where it has its default
  bool with_packed = false;  ///< of problems with packed zero points only

  [[nodiscard]] bool means_something(const Problem& problem) const;
};
/// In the order of `words`.
std::span<const Field, problem_fields> fields();

/// Refuses a value that its field cannot have or that the operation does not take, and a field that means
/// nothing to the operation and has not its default. Every check of a Problem begins with it.
/// Errors: invalid_problem; unsupported for a value that other operations take.
Result<void> check_fields(const Problem& problem);
/// The refusal of a field that says nothing of `problem`, whatever was given; `called`: by what name.
std::unexpected<Error> meaningless(const Field& field, std::string called, std::string given,
                                   const Problem& problem);

/// Everything at its default. A field of which the operation takes one value only has that.
Problem blank(Operation op);
/// An enumerator by its name, or a number. None for any other text.
std::optional<std::int64_t> parse_value(const Field& field, std::string_view text);
/// "bf16 or f16": of an enumeration, what the operation takes.
std::string values_for(const Field& field, Operation op);

std::optional<Operation> find_operation(std::string_view name);
/// The Problem that a canonical text says. Errors: invalid_problem for a text that is none.
Result<Problem> parse_problem(std::string_view canonical_text);

}  // namespace wavejit::templates
