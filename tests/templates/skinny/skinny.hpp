// SPDX-License-Identifier: MIT
// What the tests of skinny kernels share.
#pragma once

#include "tests/harness/catch.hpp"

namespace wavejit::test {

/// `m` rows of activations and `rows` of weights a workgroup, `waves` along K.
inline templates::Config skinny(unsigned m, unsigned rows, unsigned waves = 1, unsigned depth = 1) {
  templates::Config c;
  c.path = templates::Path::skinny;
  c.bm = m;
  c.bn = rows;
  c.waves = waves;
  c.pipeline_depth = depth;
  return c;
}

}  // namespace wavejit::test
