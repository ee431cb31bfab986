// SPDX-License-Identifier: MIT
#include "runtime/checkpoint/patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace wavejit::checkpoint {
namespace {

constexpr std::size_t longest = 2000;

/// "\Z" becomes $, and groups lose their names.
std::string ecmascript(std::string_view text) {
  constexpr std::string_view named = "(?P<";
  std::string made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = text.substr(i).starts_with(named) ? text.find('>', i) : std::string_view::npos;
    if (end != std::string_view::npos) {
      made += '(';
      i = end;
    } else if (text[i] == '\\' && i + 1 < text.size()) {
      ++i;
      if (text[i] == 'Z') {
        made += '$';
      } else {
        made += '\\';
        made += text[i];
      }
    } else {
      made += text[i];
    }
  }
  return made;
}

/// Counts of "{...}" in each other multiply what a pattern becomes, and the matcher's stack grows with that.
bool repeats_little(std::string_view text) {
  constexpr std::uint64_t most = 1000;
  std::uint64_t product = 1;
  for (std::size_t at = 0; (at = text.find('{', at)) != std::string_view::npos; ++at) {
    std::uint64_t count = 0, largest = 1;
    for (std::size_t i = at + 1; i < text.size() && text[i] != '}'; ++i) {
      const bool digit = text[i] >= '0' && text[i] <= '9';
      count = digit ? std::min(most + 1, 10 * count + static_cast<std::uint64_t>(text[i] - '0')) : 0;
      largest = std::max(largest, count);
    }
    product *= largest;
    if (product > most) return false;
  }
  return true;
}

std::optional<std::regex> compile(std::string_view text) {
  constexpr std::string_view no_case = "(?i)";
  auto flags = std::regex::ECMAScript | std::regex::optimize | std::regex_constants::__polynomial;
  if (text.size() > longest || !repeats_little(text)) return {};
  if (text.starts_with(no_case)) {
    text.remove_prefix(no_case.size());
    flags |= std::regex::icase;
  }
  try {
    return std::regex(ecmascript(text), flags);
  } catch (const std::regex_error&) {
    return {};
  }
}

}  // namespace

const std::regex* Patterns::compiled(const std::string& pattern) {
  const auto it = compiled_.find(pattern);
  const auto& made =
      it != compiled_.end() ? it->second : compiled_.emplace(pattern, compile(pattern)).first->second;
  return made ? &*made : nullptr;
}

Result<bool> Patterns::match(const std::string& pattern, std::string_view name, Where where,
                             const std::string& field) {
  const std::lock_guard lock(mutex_);
  const std::regex* regex = compiled(pattern);
  const auto refuse = [&](std::string given, std::string allowed) {
    return fail_field(ErrorCode::unsupported, field, std::move(given), std::move(allowed));
  };
  if (regex == nullptr)
    return refuse(fmt::format("\"{}\"", pattern.substr(0, 60)),
                  fmt::format("a regular expression of at most {} characters, without back-references, "
                              "look-behind and more than 1000 repetitions",
                              longest));
  if (name.size() > longest)
    return refuse(fmt::format("for a name of {} characters", name.size()),
                  fmt::format("at most {}", longest));
  const auto flags = where == Where::at_beginning ? std::regex_constants::match_continuous
                                                  : std::regex_constants::match_default;
  try {
    return std::regex_search(name.begin(), name.end(), *regex, flags);
  } catch (const std::regex_error&) {
    return refuse(fmt::format("\"{}\"", pattern.substr(0, 60)), "a simpler regular expression");
  }
}

}  // namespace wavejit::checkpoint
