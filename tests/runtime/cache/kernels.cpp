// SPDX-License-Identifier: MIT
#include "tests/runtime/cache/kernels.hpp"

#include <catch2/catch.hpp>

namespace wavejit::test {

SmallKernel small_kernel(std::int64_t n) {
  SmallKernel s;
  s.target = target::find("gfx1151");
  templates::Problem problem;
  problem.n = n;
  problem.k = 128;
  problem.group = 32;
  const auto config = templates::select_config(problem, *s.target, 64);
  REQUIRE(config);
  auto kernel = templates::generate(problem, *config, *s.target);
  REQUIRE(kernel);
  auto launch = templates::launch(problem, *config, *s.target, 64);
  REQUIRE(launch);
  s.kernel = *std::move(kernel);
  s.launch = *std::move(launch);
  return s;
}

}  // namespace wavejit::test
