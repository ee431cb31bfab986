// SPDX-License-Identifier: MIT
// Requests of int4 products for the tests of the CDNA family.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/harness/catch.hpp"

namespace wavejit::test {

/// [m, k] x [n, k]^T, scales in bf16, no zeros, the selected Config.
harness::Request int4(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t group,
                      const std::string& target = "gfx942");

/// One product per entry of `group_rows`; the buffers have `m` rows.
harness::Request int4_grouped(const std::vector<std::int64_t>& group_rows, std::int64_t m, std::int64_t n,
                              std::int64_t k, std::int64_t group, const std::string& target = "gfx942");

templates::Config mfma(unsigned bm, unsigned bn, unsigned bk, unsigned waves, unsigned split_k = 1);

/// Tile of bm x bn, `bk` along K for all waves together.
templates::Config decode(unsigned bm, unsigned bn, unsigned bk, unsigned waves, unsigned depth = 1);

/// True when every element of the output is `value` (bf16 holds it exactly), and the run was right.
bool all_are(const harness::Outcome& outcome, double value);

}  // namespace wavejit::test
