// SPDX-License-Identifier: MIT
#include "tests/harness/catch.hpp"

#include <fmt/format.h>

namespace wavejit::harness {

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) { return out << outcome.text; }

Outcome passes(const Request& request) {
  auto result = run(request);
  if (!result) return {.text = "refused: " + result.error().message, .report = {}, .ok = false};
  Outcome outcome;
  outcome.ok = result->ok();
  outcome.text =
      fmt::format("{} | {} | m {} | {}", templates::canonical(result->problem),
                  templates::canonical(result->config), result->m, outcome.ok ? "right" : result->reason());
  outcome.report = *std::move(result);
  return outcome;
}

Outcome refused(const Request& request, const std::string& field) {
  const auto result = run(request);
  if (result) return {.text = "was not refused", .report = {}, .ok = false};
  const Error& error = result.error();
  const bool named = error.field == field && error.message.contains(field) && !error.given.empty() &&
                     error.message.contains(error.given) && !error.allowed.empty();
  return {.text = fmt::format("refused by field '{}': {}", error.field, error.message),
          .report = {},
          .ok = named};
}

templates::Config tile(unsigned bm, unsigned bn, unsigned bk, unsigned waves) {
  templates::Config config;
  config.bm = bm;
  config.bn = bn;
  config.bk = bk;
  config.waves = waves;
  return config;
}

}  // namespace wavejit::harness
