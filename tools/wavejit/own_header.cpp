// SPDX-License-Identifier: MIT
#include "tools/wavejit/own_header.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string>

namespace wavejit::tools {
namespace {

using templates::DataType;
using templates::GgufType;
using templates::Operation;
using templates::Problem;

template <class T>
bool number(std::string_view word, std::string_view prefix, T& value) {
  if (!word.starts_with(prefix)) return false;
  word.remove_prefix(prefix.size());
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size();
}

/// Words that set a field to a value of its own; those that say what a Problem begins with set it again.
bool fixed_word(std::string_view w, Problem& p) {
  using templates::WeightLayout;
  using templates::WeightRounding;
  using templates::ZeroPoints;
  if (w == "exllama") return p.layout = WeightLayout::exllama, true;
  if (w == "row-major-signed") return p.layout = WeightLayout::row_major_signed, true;
  if (w == "sym") return p.zero_points = ZeroPoints::symmetric, true;
  if (w == "asym") return p.zero_points = ZeroPoints::packed, true;
  if (w == "zeros") return p.zero_points = ZeroPoints::additive, true;
  if (w == "round-fastest") return p.rounding = WeightRounding::fastest, true;
  if (w == "round-nearest") return p.rounding = WeightRounding::nearest, true;
  if (w == "bias") return p.bias = true;
  return false;
}

/// A word that names one of several types, operations or formats, behind `prefix`.
template <class T>
bool named(std::string_view word, std::string_view prefix, std::initializer_list<T> all, T& value) {
  for (const T one : all)
    if (word.starts_with(prefix) && word.substr(prefix.size()) == templates::name(one)) {
      value = one;
      return true;
    }
  return false;
}

bool problem_word(std::string_view w, Problem& p) {
  const auto floats = {DataType::bf16, DataType::f16, DataType::f32};
  return fixed_word(w, p) || named(w, "", floats, p.activation) ||
         named(w, "scales-", floats, p.scale_type) ||
         named(w, "", {GgufType::q4_k, GgufType::q5_k, GgufType::q6_k, GgufType::q8_0, GgufType::q4_0},
               p.weight_type) ||
         number(w, "sa", p.activation_stride) || number(w, "sw", p.weight_stride) ||
         number(w, "ss", p.scale_stride) || number(w, "so", p.output_stride) ||
         number(w, "sz", p.zero_point_stride) || number(w, "n", p.n) || number(w, "k", p.k) ||
         number(w, "g", p.group) || number(w, "groups", p.groups) || number(w, "batch", p.batch);
}

std::unexpected<Error> unclear(std::string_view line, const char* what) {
  return fail_field(ErrorCode::invalid_argument, "header", std::string(line),
                    std::string("a line that `wavejit emit` writes for the ") + what);
}

/// The rest of a comment line; takes the line off `text`. Empty when there is none.
std::string take_comment(std::string_view& text) {
  const std::string line(text.substr(0, text.find('\n')));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line.starts_with("; ") ? line.substr(2) : std::string();
}

/// The operation that a `.s` of ours begins with; takes the word off `problem`.
std::optional<Operation> take_operation(std::string& problem) {
  for (std::size_t i = 0; i < templates::operations; ++i) {
    const auto op = static_cast<Operation>(i);
    if (!problem.starts_with(std::string(templates::name(op)) + " ")) continue;
    problem.erase(0, templates::name(op).size());
    return op;
  }
  return {};
}

}  // namespace

Result<std::optional<OwnHeader>> read_own_header(std::string_view text, const target::Target& target) {
  const std::string line = take_comment(text), config = take_comment(text);
  std::string problem = line;
  const auto op = take_operation(problem);
  if (!op) return std::optional<OwnHeader>{};
  OwnHeader header;
  header.problem.op = *op;
  std::istringstream words(problem);
  for (std::string word; words >> word;)
    if (!problem_word(word, header.problem)) return unclear(line, "problem");
  const auto parsed = templates::parse_config(config);
  if (!parsed) return unclear(config, "Config");
  auto p = templates::normalise(header.problem, target);
  if (!p) return std::unexpected(p.error());
  header.problem = *p;
  auto c = templates::normalise(*parsed, header.problem, target);
  if (!c) return std::unexpected(c.error());
  header.config = *c;
  return std::optional(header);
}

}  // namespace wavejit::tools
