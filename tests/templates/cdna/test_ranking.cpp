// SPDX-License-Identifier: MIT
// The one order of Configs for CDNA. Expected: the least of all quick times, found by looking at every tile
// and every decode kernel; buckets and rows of a group by hand.
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <set>

#include "templates/cdna/candidates.hpp"
#include "templates/cdna/decode/choose.hpp"
#include "templates/cdna/ranking.hpp"

using namespace wavejit;
using templates::cdna::Ranked;
using templates::cdna::ranking;

namespace {

constexpr std::size_t no_limit = 100'000;

templates::Problem problem(templates::Operation op, const target::Target& target) {
  templates::Problem p;
  p.op = op;
  p.n = 2048;
  p.k = 1024;
  p.group = 128;
  if (op != templates::Operation::w4a16) p.layout = templates::WeightLayout::row_major_signed;
  if (op == templates::Operation::int4_grouped) p.groups = 8;
  const auto normal = templates::normalise(p, target);
  REQUIRE(normal);
  return *normal;
}

struct Quickest {
  double time_us = std::numeric_limits<double>::infinity();
  std::string config;
  std::size_t weighed = 0;

  void weigh(double us, const templates::Config& c) {
    ++weighed;
    if (us >= time_us) return;
    time_us = us;
    config = templates::canonical(c);
  }
};

/// `rows`: of the bucket's end; `rows_of_a_product`: of each group.
Quickest look_at_all(const templates::Problem& p, const target::Target& target, std::int64_t rows,
                     std::int64_t rows_of_a_product) {
  Quickest q;
  for (const auto& c : templates::cdna::candidates(p, target, rows).legal)
    q.weigh(templates::cdna::quick_time_us(c, p, target, rows), c.config);
  for (const auto& c : templates::cdna::decode::ranking(p, target, rows_of_a_product))
    q.weigh(templates::cdna::decode::quick_time_us(c.config, p, target, rows_of_a_product), c.config);
  return q;
}

}  // namespace

TEST_CASE("CDNA: the order is by quick time, and selection takes its first", "[cdna][select][ranking]") {
  using templates::Operation;
  struct Rows {
    std::int64_t m, end, of_eight;  ///< of each of eight groups
  };
  const Rows rows = GENERATE(Rows{1, 4, 1}, Rows{5, 8, 1}, Rows{33, 64, 8}, Rows{300, 512, 64},
                             Rows{2000, 2048, 256}, Rows{30'000, 16'384, 2048});
  const auto op = GENERATE(Operation::int4_gemm, Operation::int4_grouped, Operation::w4a16);
  const target::Target& target = *target::find(GENERATE("gfx942", "gfx950"));
  const templates::Problem p = problem(op, target);
  CAPTURE(target.name, templates::canonical(p), rows.m);
  const std::vector<Ranked> all = ranking(p, target, rows.m, no_limit);
  REQUIRE(all.size() > 8);
  CHECK(std::ranges::is_sorted(all, {}, &Ranked::time_us));
  const Quickest expected =
      look_at_all(p, target, rows.end, op == Operation::int4_grouped ? rows.of_eight : rows.end);
  CHECK(templates::canonical(all.front().config) == expected.config);
  CHECK(all.front().time_us == expected.time_us);
  CHECK(all.size() == expected.weighed);
  const auto selected = templates::select_config(p, target, rows.m);
  REQUIRE(selected);
  CHECK(templates::canonical(*selected) == expected.config);
  std::set<std::string> texts;
  for (const Ranked& r : all) texts.insert(templates::canonical(r.config));
  CHECK(texts.size() == all.size());
  const std::vector<Ranked> few = ranking(p, target, rows.m, 3);
  REQUIRE(few.size() == 3);
  for (std::size_t i = 0; i < few.size(); ++i)
    CHECK(templates::canonical(few[i].config) == templates::canonical(all[i].config));
}

TEST_CASE("CDNA: decode kernels are ordered, for the rows of a group where there are groups",
          "[cdna][select][ranking]") {
  const target::Target& target = *target::find(GENERATE("gfx942", "gfx950"));
  const templates::Problem gemm = problem(templates::Operation::int4_gemm, target);
  for (const std::int64_t m : {1, 20, 128}) {
    const auto few = templates::cdna::decode::ranking(gemm, target, m);
    REQUIRE_FALSE(few.empty());
    CHECK(std::ranges::is_sorted(few, {}, &templates::cdna::decode::Choice::time_us));
    const auto choice = templates::cdna::decode::choose(gemm, target, m);
    REQUIRE(choice);
    CHECK(templates::canonical(choice->config) == templates::canonical(few.front().config));
  }
  // 32 rows in eight groups are four each: tiles of four rows and no other. Together they are many.
  std::set<unsigned> grouped, together;
  for (const Ranked& r : ranking(problem(templates::Operation::int4_grouped, target), target, 32, no_limit))
    if (r.config.path == templates::Path::decode) grouped.insert(r.config.bm);
  for (const Ranked& r : ranking(gemm, target, 32, no_limit))
    if (r.config.path == templates::Path::decode) together.insert(r.config.bm);
  CHECK(grouped == std::set{4U});
  CHECK(together == std::set{16U, 32U});
}

TEST_CASE("CDNA: buckets of rows end at powers of two", "[cdna][select][ranking]") {
  using templates::cdna::bucket_end;
  for (const auto& [m, end] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 4}, {4, 4}, {5, 8}, {16, 16}, {17, 32}, {8192, 8192}, {8193, 16384}, {1'000'000, 16384}})
    CHECK(bucket_end(m) == end);
}
