// SPDX-License-Identifier: MIT
// Triton's kernels for CDNA3 and CDNA4, whole: MFMA, AGPRs, packed f32, kernel arguments preloaded into
// SGPRs, split-K with its second kernel.
#include <catch2/catch.hpp>

#include "tests/runtime/sim/triton_rowwise.hpp"
#include "tests/runtime/sim/triton_w4a16.hpp"

namespace wavejit::test {
namespace {

// Bar: domain.md §3.4, bf16 2.2e-6..2.7e-6 expected.
constexpr double bf16_bar = 1e-5;

std::string faults(const sim::RunReport& run) {
  std::string text;
  for (const sim::Fault& f : run.faults) text += sim::to_string(f) + "\n";
  return text;
}

void check_object(const RowwiseShape& shape) {
  const RowwiseOutcome outcome = run_rowwise(shape);
  INFO(shape.gemm << " M=" << shape.m << " N=" << shape.n << " K=" << shape.k);
  for (const sim::RunReport& run : outcome.runs) {
    INFO(faults(run));
    CHECK(run.clean());
  }
  CHECK(outcome.unwritten_bytes == 0);
  CHECK(outcome.one_minus_cosine < bf16_bar);
  CHECK(outcome.worst_error <= 1);
}

// The object deals 1024 workgroups out to 8 dies of 128 consecutive tiles each: tile t < 128 is workgroup 8
// t.
TEST_CASE("Triton's BF16xINT4 kernel for gfx942 runs and agrees with float64", "[sim][peers]") {
  check_object({"C3a_rowwise_gfx942_128x128x64_s2", "", 128, 256, 512, 1024, {0, 8}});
}

TEST_CASE("Triton's BF16xINT4 kernel for gfx950 runs and agrees with float64", "[sim][peers]") {
  check_object({"C4a_rowwise_gfx950_128x128x64_s2", "", 128, 256, 512, 1024, {0, 8}});
}

TEST_CASE("Triton's split-K pair for gfx942 runs and agrees with float64", "[sim][peers]") {
  check_object({"C3c_rowwise_gfx942_32x32x64_sk8_m16", "C3r_splitk_reduce_gfx942", 16, 896, 2048, 28, {}});
}

TEST_CASE("Triton's split-K pair for gfx950 runs and agrees with float64", "[sim][peers]") {
  check_object({"C4c_rowwise_gfx950_32x32x64_sk8_m16", "C4r_splitk_reduce_gfx950", 16, 896, 2048, 28, {}});
}

}  // namespace
}  // namespace wavejit::test
