// SPDX-License-Identifier: MIT
// Patterns over layer names as quantisers write them: regular expressions of Python, of which those are read
// that ECMAScript has, too, and (?i), (?P<name>...) and \Z. A pattern comes from outside, so it is matched in
// polynomial time (without back-references), and it and the name have at most 2000 characters.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <regex>
#include <string>
#include <string_view>

#include "generator/support/error.hpp"

namespace wavejit::checkpoint {

enum class Where : std::uint8_t { at_beginning, anywhere };  ///< Python's re.match and re.search

class Patterns {
 public:
  /// Errors: unsupported, which names `field`. Any thread may call.
  Result<bool> match(const std::string& pattern, std::string_view name, Where where,
                     const std::string& field);

 private:
  const std::regex* compiled(const std::string& pattern);

  std::mutex mutex_;
  std::map<std::string, std::optional<std::regex>> compiled_;
};

}  // namespace wavejit::checkpoint
