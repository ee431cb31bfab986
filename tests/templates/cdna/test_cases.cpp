// SPDX-License-Identifier: MIT
// Rows of shared/cases.md that touch int4 products on CDNA; expected values are the rows' own. Rows 34, 50
// and 51 are in test_grouped.cpp, row 56 in test_schedule.cpp.
#include <catch2/catch.hpp>

#include "tests/templates/cdna/requests.hpp"

using namespace wavejit;
using test::all_are;
using test::int4;
using test::mfma;

namespace {

/// M = 1, N = 32: one weight per (k), one scale per group, one activation per k for all rows and columns.
harness::Request same_everywhere(std::int64_t k, std::int64_t group, unsigned split,
                                 const std::function<int(std::int64_t)>& q,
                                 const std::function<double(std::int64_t)>& s = {},
                                 const std::function<double(std::int64_t)>& x = {}) {
  harness::Request r = int4(1, 32, k, group, "gfx942");
  r.values = oracle::constant_signed_values(1, 1, 1);
  r.values->nibbles = oracle::each_nibble([q](std::int64_t, std::int64_t i) { return q(i); });
  if (s) r.values->scales = oracle::each([s](std::int64_t, std::int64_t g) { return s(g); });
  if (x) r.values->activations = oracle::each([x](std::int64_t, std::int64_t i) { return x(i); });
  r.config = mfma(32, 64, 64, 2, split);
  return r;
}

int one(std::int64_t /*k*/) { return 1; }

/// On both targets, split along K by workgroups and, in a decode kernel, by as many waves.
bool on_both(harness::Request r, double value) {
  const unsigned parts = r.config->split_k, span = r.problem.group % 128 == 0 ? 128 : 64;
  for (const templates::Config& config : {*r.config, test::decode(8, 32, span * parts, parts)})
    for (const char* target : {"gfx942", "gfx950"}) {
      r.target = target;
      r.config = config;
      const harness::Outcome outcome = harness::passes(r);
      INFO(templates::canonical(config) << " " << outcome);
      CHECK(outcome);
      if (!all_are(outcome, value)) return false;
    }
  return true;
}

}  // namespace

TEST_CASE("row 2: partial sums are f32: 257 - 256 is 1", "[cdna]") {
  CHECK(on_both(same_everywhere(256, 128, 2, [](std::int64_t k) { return k < 127    ? 2
                                                                         : k == 127 ? 3
                                                                                    : -2; }),
                1.0));
}

TEST_CASE("row 15: the second slice starts with the third group's scale", "[cdna]") {
  CHECK(on_both(same_everywhere(512, 128, 2, one, [](std::int64_t g) { return double(1 << g); }), 1920));
}

TEST_CASE("row 25: K / split that is no multiple of the step", "[cdna]") {
  CHECK(on_both(same_everywhere(640, 64, 8, one), 640));
}

TEST_CASE("row 26: slices without any K add exactly nothing to a workspace of NaNs", "[cdna]") {
  CHECK(on_both(same_everywhere(384, 128, 4, one), 384));
  CHECK(on_both(same_everywhere(128, 128, 2, one), 128));
}

TEST_CASE("row 27: split_k 0 is refused", "[cdna]") {
  CHECK(harness::refused(same_everywhere(256, 128, 0, one), "split_k"));
  CHECK(harness::refused(same_everywhere(256, 128, 17, one), "split_k"));
}

TEST_CASE("row 28: a slice is its own half of the packed row", "[cdna]") {
  CHECK(on_both(same_everywhere(512, 128, 2, one, {}, [](std::int64_t k) { return k < 256 ? 1.0 : 2.0; }),
                768));
}

TEST_CASE("row 30: neither output nor unused slices are read before they are written", "[cdna]") {
  // The harness fills both with undefined NaNs; using one is a fault of its own.
  for (const char* target : {"gfx942", "gfx950"}) {
    harness::Request r = int4(4, 32, 256, 128, target);
    r.config = mfma(32, 64, 64, 2, 4);
    CHECK(harness::passes(r));
  }
}

TEST_CASE("row 53: activations of 2 x 3 rows are six rows; no K gives zeros, no rows are no product",
          "[cdna]") {
  CHECK(harness::passes(int4(6, 96, 256, 64)));
  CHECK(harness::refused(int4(6, 96, -64, 64), "k"));
  harness::Request no_rows = int4(0, 96, 256, 64);
  no_rows.config = mfma(32, 64, 64, 2);
  CHECK(harness::refused(no_rows, "m"));
}

TEST_CASE("NaN and infinity go through the products and the split sums", "[cdna]") {
  // As row 49 of the same list, here with both kinds of store.
  for (const unsigned split : {1U, 2U}) {
    harness::Request r = same_everywhere(256, 128, split, one);
    r.m = 3;
    r.values->activations = oracle::each([](std::int64_t m, std::int64_t k) {
      if (k != 200) return 1.0;
      return m == 0   ? std::numeric_limits<double>::quiet_NaN()
             : m == 1 ? std::numeric_limits<double>::infinity()
                      : 1.0;
    });
    CHECK(harness::passes(r));
  }
}
