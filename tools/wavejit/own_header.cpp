// SPDX-License-Identifier: MIT
#include "tools/wavejit/own_header.hpp"

#include <array>
#include <charconv>
#include <sstream>
#include <string>

namespace wavejit::tools {
namespace {

using templates::Config;
using templates::Problem;

template <class T>
bool number(std::string_view word, std::string_view prefix, T& value) {
  if (!word.starts_with(prefix)) return false;
  word.remove_prefix(prefix.size());
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size();
}

/// "448x64x32" into as many numbers.
template <std::size_t n>
bool numbers(std::string_view word, std::array<unsigned*, n> values) {
  for (unsigned* value : values) {
    const std::size_t end = word.find('x');
    if (!number(word.substr(0, end), "", *value)) return false;
    word = end == std::string_view::npos ? std::string_view() : word.substr(end + 1);
  }
  return word.empty();
}

bool problem_word(std::string_view w, Problem& p) {
  if (w == "w4a16" || w == "exllama" || w == "sym" || w == "round-fastest") return true;
  if (w == "bf16" || w == "f16") {
    p.activation = w == "bf16" ? templates::DataType::bf16 : templates::DataType::f16;
    return true;
  }
  if (w == "asym") p.zero_points = templates::ZeroPoints::packed;
  if (w == "round-nearest") p.rounding = templates::WeightRounding::nearest;
  if (w == "bias") p.bias = true;
  if (w == "asym" || w == "round-nearest" || w == "bias") return true;
  return number(w, "sa", p.activation_stride) || number(w, "sw", p.weight_stride) ||
         number(w, "ss", p.scale_stride) || number(w, "so", p.output_stride) ||
         number(w, "sz", p.zero_point_stride) || number(w, "n", p.n) || number(w, "k", p.k) ||
         number(w, "g", p.group);
}

bool config_words(std::istream& words, Config& c) {
  for (std::string name, value; words >> name;) {
    if (name == "wgp" || name == "cu") {
      c.wgp_mode = name == "wgp";
      continue;
    }
    if (!(words >> value)) return false;
    bool ok = true;
    if (name == "tile") ok = numbers(value, std::array{&c.bm, &c.bn, &c.bk});
    if (name == "waves") ok = numbers(value, std::array{&c.waves_m, &c.waves_n});
    if (name == "depth") ok = number(value, "", c.pipeline_depth);
    if (name == "unroll") ok = number(value, "", c.unroll);
    if (name == "lds") ok = number(value, "", c.lds_buffers);
    if (name == "occupancy") ok = number(value, "", c.waves_per_simd);
    if (name == "techniques") {
      const auto names = templates::technique_names();
      ok = value.size() == names.size();
      for (std::size_t i = 0; ok && i < names.size(); ++i)
        *templates::technique(c.techniques, names[i]) = value[i] == '1';
    }
    if (!ok) return false;
  }
  c.waves = c.waves_m * c.waves_n;
  return true;
}

std::unexpected<Error> unclear(std::string_view line, const char* what) {
  return fail_field(ErrorCode::invalid_argument, "header", std::string(line),
                    std::string("a line that `wavejit emit` writes for the ") + what);
}

}  // namespace

Result<std::optional<OwnHeader>> read_own_header(std::string_view text, const target::Target& target) {
  constexpr std::string_view first = "; w4a16 ", second = "; tile ", skinny = "; skinny ";
  if (!text.starts_with(first)) return std::optional<OwnHeader>{};
  const std::string problem(text.substr(2, text.find('\n') - 2));
  text.remove_prefix(std::min(text.find('\n') + 1, text.size()));
  if (!text.starts_with(second) && !text.starts_with(skinny)) return unclear(text.substr(0, text.find('\n')), "Config");
  const std::string config(text.substr(2, text.find('\n') - 2));
  OwnHeader header;
  std::istringstream words(problem);
  for (std::string word; words >> word;)
    if (!problem_word(word, header.problem)) return unclear(problem, "problem");
  std::istringstream rest(config);
  if (text.starts_with(skinny)) {
    const auto parsed = templates::parse_config(config);
    if (!parsed) return unclear(config, "Config");
    header.config = *parsed;
  } else if (!config_words(rest, header.config)) {
    return unclear(config, "Config");
  }
  auto p = templates::normalise(header.problem, target);
  if (!p) return std::unexpected(p.error());
  header.problem = *p;
  auto c = templates::normalise(header.config, header.problem, target);
  if (!c) return std::unexpected(c.error());
  header.config = *c;
  return std::optional(header);
}

}  // namespace wavejit::tools
