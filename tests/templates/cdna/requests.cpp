// SPDX-License-Identifier: MIT
#include "tests/templates/cdna/requests.hpp"

#include <algorithm>

#include "tests/oracle/format.hpp"

namespace wavejit::test {

harness::Request int4(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t group,
                      const std::string& target) {
  harness::Request r;
  r.problem.op = templates::Operation::int4_gemm;
  r.problem.layout = templates::WeightLayout::row_major_signed;
  r.problem.n = n;
  r.problem.k = k;
  r.problem.group = group;
  r.m = m;
  r.target = target;
  return r;
}

harness::Request int4_grouped(const std::vector<std::int64_t>& group_rows, std::int64_t m, std::int64_t n,
                              std::int64_t k, std::int64_t group, const std::string& target) {
  harness::Request r = int4(m, n, k, group, target);
  r.problem.op = templates::Operation::int4_grouped;
  r.problem.groups = std::ssize(group_rows);
  r.group_rows = group_rows;
  return r;
}

templates::Config mfma(unsigned bm, unsigned bn, unsigned bk, unsigned waves, unsigned split_k) {
  templates::Config c = harness::tile(bm, bn, bk, waves);
  c.path = templates::Path::mfma;
  c.split_k = split_k;
  return c;
}

templates::Config decode(unsigned bm, unsigned bn, unsigned bk, unsigned waves, unsigned depth) {
  templates::Config c;
  c.path = templates::Path::decode;
  c.bm = bm;
  c.bn = bn;
  c.bk = bk;
  c.waves = waves;
  c.pipeline_depth = depth;
  return c;
}

bool all_are(const harness::Outcome& outcome, double value) {
  if (!outcome) return false;
  const std::uint16_t bits = oracle::encode(value, oracle::Format::bf16);
  return std::ranges::all_of(outcome.report->outputs, [bits](const std::vector<std::uint16_t>& tile) {
    return std::ranges::all_of(tile, [bits](std::uint16_t b) { return b == bits; });
  });
}

}  // namespace wavejit::test
