// SPDX-License-Identifier: MIT
// A small real kernel for the tests of records, bundles and overrides.
#pragma once

#include "templates/kernel.hpp"

namespace wavejit::test {

struct SmallKernel {
  const target::Target* target = nullptr;
  templates::GeneratedKernel kernel;
  templates::Launch launch;  ///< for 16 rows
};

/// w4a16 of n columns and 128 rows of weights; the running test fails when it cannot be made.
SmallKernel small_kernel(std::int64_t n = 64);

}  // namespace wavejit::test
