// SPDX-License-Identifier: MIT
// Requests that the tests of W4A16 kernels, tiles and skinny ones alike, begin with.
#pragma once

#include "tests/harness/catch.hpp"

namespace wavejit::test {

inline harness::Request request(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t group) {
  harness::Request r;
  r.problem.n = n;
  r.problem.k = k;
  r.problem.group = group;
  r.m = m;
  return r;
}

/// Every row of every tensor is followed by padding; `output` elements of it in the output.
inline void pad_rows(templates::Problem& p, std::int64_t output) {
  const std::int64_t in_row = p.k / (p.group == -1 ? p.k : p.group);
  p.activation_stride = p.k + 8;
  p.weight_stride = p.k / 8 + 3;
  p.scale_stride = in_row + 5;
  if (p.zero_points == templates::ZeroPoints::packed) p.zero_point_stride = in_row + 3;
  p.output_stride = p.n + output;
}

/// Runs and checks that every element of the output is exactly `expected(row, column)`. The report says what
/// ran.
template <class Expected>
harness::Report check_exact(const harness::Request& r, const Expected& expected) {
  const harness::Outcome outcome = harness::passes(r);
  CHECK(outcome);
  REQUIRE(outcome.report);
  const auto format =
      r.problem.activation == templates::DataType::f16 ? oracle::Format::f16 : oracle::Format::bf16;
  for (std::int64_t row = 0; row < r.m; ++row)
    for (std::int64_t column = 0; column < r.problem.n; ++column) {
      const double got = oracle::decode(outcome.report->at(row, column), format);
      CAPTURE(row, column);
      REQUIRE(got == expected(row, column));
    }
  return *outcome.report;
}

}  // namespace wavejit::test
