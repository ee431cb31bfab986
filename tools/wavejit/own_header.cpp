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

bool problem_word(std::string_view w, Problem& p) {
  for (const auto op : {Operation::w4a16, Operation::kquant})
    if (w == templates::name(op)) {
      p.op = op;
      return true;
    }
  for (const auto type : {GgufType::q4_k, GgufType::q5_k, GgufType::q6_k, GgufType::q8_0, GgufType::q4_0})
    if (w == templates::name(type)) {
      p.weight_type = type;
      return true;
    }
  for (const auto type : {DataType::bf16, DataType::f16, DataType::f32})
    if (w == templates::name(type)) {
      p.activation = type;
      return true;
    }
  if (w == "exllama" || w == "sym" || w == "round-fastest") return true;
  if (w == "asym") p.zero_points = templates::ZeroPoints::packed;
  if (w == "round-nearest") p.rounding = templates::WeightRounding::nearest;
  if (w == "bias") p.bias = true;
  if (w == "asym" || w == "round-nearest" || w == "bias") return true;
  return number(w, "sa", p.activation_stride) || number(w, "sw", p.weight_stride) ||
         number(w, "ss", p.scale_stride) || number(w, "so", p.output_stride) ||
         number(w, "sz", p.zero_point_stride) || number(w, "n", p.n) || number(w, "k", p.k) ||
         number(w, "g", p.group);
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

}  // namespace

Result<std::optional<OwnHeader>> read_own_header(std::string_view text, const target::Target& target) {
  if (!text.starts_with("; w4a16 ") && !text.starts_with("; kquant ")) return std::optional<OwnHeader>{};
  const std::string problem = take_comment(text), config = take_comment(text), third = take_comment(text);
  OwnHeader header;
  std::istringstream words(problem);
  for (std::string word; words >> word;)
    if (!problem_word(word, header.problem)) return unclear(problem, "problem");
  const auto parsed = templates::parse_config(config);
  if (!parsed) return unclear(config, "Config");
  if (header.problem.op == Operation::kquant && !number(third, "stage ", header.stage))
    return unclear(third, "stage");
  auto p = templates::normalise(header.problem, target);
  if (!p) return std::unexpected(p.error());
  header.problem = *p;
  auto c = templates::normalise(*parsed, header.problem, target);
  if (!c) return std::unexpected(c.error());
  header.config = *c;
  return std::optional(header);
}

}  // namespace wavejit::tools
