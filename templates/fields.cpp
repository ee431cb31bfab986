// SPDX-License-Identifier: MIT
#include "templates/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <string>
#include <vector>

namespace wavejit::templates {
namespace {

using Names = std::vector<std::string_view>;

constexpr std::array<std::string_view, operations> op_names{"w4a16", "kquant", "int4_gemm", "int4_grouped"};
constexpr std::array<std::string_view, 5> formats{"q4_k", "q5_k", "q6_k", "q8_0", "q4_0"};
constexpr std::array<std::string_view, 6> types{"bf16", "f16", "f32", "i32", "u8", "i64"};
constexpr std::array<std::string_view, 3> zeros{"symmetric", "packed", "additive"};
constexpr std::array<std::string_view, 2> layouts{"exllama", "row-major-signed"};
constexpr std::array<std::string_view, 2> roundings{"fastest", "nearest"};
constexpr std::array<std::string_view, 2> flags{"false", "true"};

template <class... Values>
constexpr std::uint32_t bits(Values... values) {
  return ((1U << static_cast<unsigned>(values)) | ...);
}
constexpr std::uint32_t any = ~0U;
constexpr std::uint32_t halves = bits(DataType::bf16, DataType::f16), floats = halves | bits(DataType::f32);
constexpr std::uint32_t packed = bits(ZeroPoints::symmetric, ZeroPoints::packed);
constexpr std::uint32_t additive = bits(ZeroPoints::symmetric, ZeroPoints::additive);
constexpr std::uint32_t exllama = bits(WeightLayout::exllama), rows = bits(WeightLayout::row_major_signed);

constexpr std::array<Field, problem_fields> table{{
    // name, prefix, values, {w4a16, kquant, int4_gemm, int4_grouped}, hint, quiet, with packed zeros only
    {"op", "", op_names, {any, any, any, any}},
    {"weight_type", "", formats, {0, any, 0, 0}},
    {"act", "", types, {halves, floats, halves, halves}},
    {"zero_points", "", zeros, {packed, 0, additive, additive}},
    {"layout", "", layouts, {exllama, 0, rows, rows}},
    {"n", "n", {}, {any, any, any, any}},
    {"k", "k", {}, {any, any, any, any}},
    {"group", "g", {}, {any, 0, any, any}},
    {"scale_type",
     "scales-",
     types,
     {0, 0, floats, floats},
     "scales of w4a16 have the activations' type, GGUF weights say theirs"},
    {"rounding", "round-", roundings, {any, 0, any, any}},
    {"activation_stride", "sa", {}, {any, any, any, any}, "", true},
    {"weight_stride", "sw", {}, {any, any, any, any}, "", true},
    {"scale_stride", "ss", {}, {any, 0, any, any}, "", true},
    {"output_stride", "so", {}, {any, any, any, any}, "", true},
    {"zero_point_stride", "sz", {}, {any, 0, 0, 0}, "float zeros have the scales' stride", true, true},
    {"bias", "bias-", flags, {any, 0, 0, 0}, "other products have none", true},
    {"groups", "groups", {}, {0, 0, 0, any}},
    {"batch", "batch", {}, {0, 0, any, 0}, "", true},
}};

const Words& defaults() {
  static const Words all = words(Problem{});
  return all;
}

std::string text(const Field& field, std::int64_t value) {
  const auto index = static_cast<std::uint64_t>(value);
  return index < field.values.size() ? std::string(field.values[index]) : std::to_string(value);
}

/// Operations to which the field, or one value of it, means something.
Names takers(const Field& field, std::uint32_t values = any) {
  Names names;
  for (std::size_t op = 0; op < operations; ++op)
    if ((field.takes[op] & values) != 0) names.push_back(op_names[op]);
  return names;
}

Names named(const Field& field, std::uint32_t values) {
  Names names;
  for (std::size_t i = 0; i < field.values.size(); ++i)
    if ((values >> i & 1) != 0) names.push_back(field.values[i]);
  return names;
}

std::string listed(const Names& names, std::string_view last) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out += fmt::format("{}{}",
                       i == 0                 ? ""
                       : i + 1 < names.size() ? ", "
                                              : fmt::format(" {} ", last),
                       names[i]);
  return out;
}

/// Only one value can be meant: the text need not say it.
bool settled(const Field& field, std::size_t op) { return std::has_single_bit(field.takes[op]); }

}  // namespace

std::string_view name(Operation op) { return op_names[static_cast<std::size_t>(op)]; }
std::string_view name(DataType type) { return types[static_cast<std::size_t>(type)]; }
std::string_view name(GgufType type) { return formats[static_cast<std::size_t>(type)]; }

std::span<const Field, problem_fields> fields() { return table; }

Words words(const Problem& problem) {
  return std::apply([](const auto&... field) { return Words{static_cast<std::int64_t>(field)...}; },
                    tie(problem));
}

Problem of_words(const Words& words) {
  Problem problem;
  const std::int64_t* next = words.data();
  std::apply([&](auto&... field) { ((field = static_cast<std::decay_t<decltype(field)>>(*next++)), ...); },
             tie(problem));
  return problem;
}

bool Field::means_something(const Problem& problem) const {
  return takes[static_cast<std::size_t>(problem.op)] != 0 &&
         (!with_packed || problem.zero_points == ZeroPoints::packed);
}

std::unexpected<Error> meaningless(const Field& field, std::string called, std::string given,
                                   const Problem& problem) {
  std::string allowed =
      fmt::format("left out: it is of {}{} and says nothing of this {} product", listed(takers(field), "and"),
                  field.with_packed ? " with packed zero points" : "", name(problem.op));
  if (!field.hint.empty()) allowed += fmt::format("; {}", field.hint);
  return fail_field(ErrorCode::invalid_problem, std::move(called), std::move(given), std::move(allowed));
}

Problem blank(Operation op) {
  Words all = defaults();
  all[0] = static_cast<std::int64_t>(op);
  for (std::size_t i = 1; i < problem_fields; ++i)
    if (settled(table[i], static_cast<std::size_t>(op)))
      all[i] = std::countr_zero(table[i].takes[static_cast<std::size_t>(op)]);
  return of_words(all);
}

std::optional<std::int64_t> parse_value(const Field& field, std::string_view text) {
  for (std::size_t i = 0; i < field.values.size(); ++i)
    if (field.values[i] == text) return static_cast<std::int64_t>(i);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return field.values.empty() && whole ? std::optional(number) : std::nullopt;
}

std::string values_for(const Field& field, Operation op) {
  return listed(named(field, field.takes[static_cast<std::size_t>(op)]), "or");
}

Result<void> check_fields(const Problem& problem) {
  const Words given = words(problem);
  for (std::size_t i = 0; i < problem_fields; ++i) {
    const Field& field = table[i];
    const std::int64_t value = given[i];
    const auto last = static_cast<std::int64_t>(field.values.size());
    if (!field.values.empty() && (value < 0 || value >= last))
      return fail_field(ErrorCode::invalid_problem, std::string(field.name), std::to_string(value),
                        fmt::format("{} (0 to {})", listed(named(field, any), "or"), last - 1));
    // The operation is the first field: from here on it is one.
    if (!field.means_something(problem)) {
      if (value != defaults()[i])
        return meaningless(field, std::string(field.name), text(field, value), problem);
      continue;
    }
    const std::uint32_t takes = field.takes[static_cast<std::size_t>(problem.op)];
    if (field.values.empty() || (takes >> value & 1) != 0) continue;
    const Names others = takers(field, 1U << value);
    std::string allowed = fmt::format("{} for {}", values_for(field, problem.op), name(problem.op));
    if (!others.empty()) allowed += fmt::format("; {} is of {}", text(field, value), listed(others, "and"));
    return fail_field(ErrorCode::unsupported, std::string(field.name), text(field, value), allowed);
  }
  return {};
}

std::string canonical(const Problem& problem) {
  const Words all = words(problem);
  std::string out;
  for (std::size_t i = 0; i < problem_fields; ++i) {
    const Field& field = table[i];
    const bool said = field.means_something(problem) && !settled(field, static_cast<std::size_t>(problem.op));
    if (!said || (field.quiet && all[i] == defaults()[i])) continue;
    out += fmt::format("{}{}{}", out.empty() ? "" : " ", field.prefix, text(field, all[i]));
  }
  return out;
}

std::optional<Operation> find_operation(std::string_view name) {
  const auto* found = std::ranges::find(op_names, name);
  if (found == op_names.end()) return {};
  return static_cast<Operation>(found - op_names.begin());
}

Result<Problem> parse_problem(std::string_view canonical_text) {
  const std::string_view first = canonical_text.substr(0, canonical_text.find(' '));
  const auto op = find_operation(first);
  Problem problem = blank(op.value_or(Operation::w4a16));
  Words all = words(problem);
  std::string_view rest = canonical_text.substr(std::min(first.size() + 1, canonical_text.size()));
  for (std::size_t i = 1; i < problem_fields; ++i) {
    std::string_view word = rest.substr(0, rest.find(' '));
    const std::size_t end = std::min(word.size() + 1, rest.size());
    if (!table[i].means_something(problem) || !word.starts_with(table[i].prefix)) continue;
    word.remove_prefix(table[i].prefix.size());
    const auto value = parse_value(table[i], word);
    if (!value) continue;
    all[i] = *value;
    problem = of_words(all);
    rest.remove_prefix(end);
  }
  // What was read says whether all of it was: spelling, order and end in one comparison.
  if (op && canonical(problem) == canonical_text) return problem;
  return fail_field(ErrorCode::invalid_problem, "problem", std::string(canonical_text),
                    "the canonical text of a Problem, as a kernel's first line and --json say it");
}

}  // namespace wavejit::templates
