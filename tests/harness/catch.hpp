// SPDX-License-Identifier: MIT
// One-line kernel tests for Catch2:
//   CHECK(harness::passes({.problem = {.n = 96, .k = 256, .group = 32}, .m = 17}));
// On a failure Catch prints the problem, the Config and the reason.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <string>

#include "tests/harness/run.hpp"

namespace wavejit::harness {

/// True when a run went right; prints why not.
struct Outcome {
  std::string text;
  std::optional<Report> report;  ///< unset when the request was refused
  bool ok = false;
  explicit operator bool() const { return ok; }
};
std::ostream& operator<<(std::ostream& out, const Outcome& outcome);

/// run() with its Result made an Outcome: a refusal counts as a failure.
Outcome passes(const Request& request);

/// True when the request is refused with an error that names `field`; prints the error.
Outcome refused(const Request& request, const std::string& field);

/// Config of one tile with everything else at its default.
templates::Config tile(unsigned bm, unsigned bn, unsigned bk, unsigned waves = 8);

}  // namespace wavejit::harness
