// SPDX-License-Identifier: MIT
// JSON that comes from outside the program. Every parse goes through here, because nlohmann's parser takes
// any depth while copying, comparing and printing what it made recurse: a nest of 60,000 lists ends the
// process. Python writes non-finite numbers as NaN, Infinity and -Infinity; they, and numbers beyond a
// double, are read as strings of that text, so that a file which has some is read and a field that must be a
// number refuses them by what it says.
#pragma once

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <expected>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace wavejit {

inline constexpr std::size_t max_json_depth = 64;

inline constexpr const char* not_json = "not JSON";

/// The text with non-finite numbers as strings. The error is a clause: what the text is.
inline std::expected<std::string, std::string> plain_json(std::string_view text,
                                                          std::size_t deepest = max_json_depth) {
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.';
  };
  const auto non_finite = [](const std::string& word) {
    if (word == "NaN" || word == "Infinity" || word == "-Infinity") return true;
    const bool number = std::isdigit(static_cast<unsigned char>(word[0])) != 0 || word[0] == '-';
    // Shorter ones without an exponent are finite.
    if (!number || (word.size() < 300 && word.find_first_of("eE") == std::string::npos)) return false;
    char* end = nullptr;
    return std::isinf(std::strtod(word.c_str(), &end)) && *end == '\0' &&
           word.find_first_not_of("0123456789+-.eE") == std::string::npos;
  };
  std::string plain;
  plain.reserve(text.size());
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"') {
      const std::size_t begin = i++;
      while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      i = std::min(i + 1, text.size());
      plain += text.substr(begin, i - begin);
    } else if (in_word(c)) {
      const std::size_t begin = i;
      while (i < text.size() && in_word(text[i])) ++i;
      const std::string word(text.substr(begin, i - begin));
      plain += non_finite(word) ? '"' + word + '"' : word;
    } else {
      if ((c == '[' || c == '{') && ++depth > deepest)
        return std::unexpected("nested deeper than " + std::to_string(deepest));
      if (c == ']' || c == '}') depth -= depth > 0 ? 1 : 0;
      plain += c;
      ++i;
    }
  }
  return plain;
}

/// `Json`: nlohmann::json or ordered_json. The error is a clause as in "FILE is not JSON, but must be ...".
template <class Json>
std::expected<Json, std::string> parse_json(std::string_view text, std::size_t deepest = max_json_depth) {
  const auto plain = plain_json(text, deepest);
  if (!plain) return std::unexpected(plain.error());
  Json json = Json::parse(*plain, nullptr, false);
  if (json.is_discarded()) return std::unexpected(not_json);
  return json;
}
template <class Json>
std::expected<Json, std::string> parse_json(const std::vector<std::uint8_t>& text) {
  return parse_json<Json>({reinterpret_cast<const char*>(text.data()), text.size()});
}

}  // namespace wavejit
