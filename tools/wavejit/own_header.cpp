// SPDX-License-Identifier: MIT
#include "tools/wavejit/own_header.hpp"

#include <algorithm>
#include <string>

#include "templates/fields.hpp"

namespace wavejit::tools {
namespace {

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
  const std::string line = take_comment(text), config = take_comment(text);
  const std::string_view first = std::string_view(line).substr(0, line.find(' '));
  if (!templates::find_operation(first)) return std::optional<OwnHeader>{};
  OwnHeader header;
  const auto problem = templates::parse_problem(line);
  if (!problem) return unclear(line, "problem");
  const auto parsed = templates::parse_config(config);
  if (!parsed) return unclear(config, "Config");
  auto p = templates::normalise(*problem, target);
  if (!p) return std::unexpected(p.error());
  header.problem = *p;
  auto c = templates::normalise(*parsed, header.problem, target);
  if (!c) return std::unexpected(c.error());
  header.config = *c;
  return std::optional(header);
}

}  // namespace wavejit::tools
