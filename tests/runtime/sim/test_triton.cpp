// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "tests/runtime/sim/triton_w4a16.hpp"

namespace wavejit::test {
namespace {

std::string faults(const sim::RunReport& run) {
  std::string text;
  for (const sim::Fault& f : run.faults) text += sim::to_string(f) + "\n";
  return text;
}

/// Two objects of Triton's pipeliner pass a barrier with ds_stores not waited for (only vmcnt(0) is): the
/// ISA orders nothing then, so that is a fault; everything else about them must be right.
void check_object(const TritonShape& shape, double bar, bool pipelined) {
  const TritonOutcome outcome = run_triton(shape);
  INFO(shape.name << " M=" << shape.m << " N=" << shape.n << " K=" << shape.k);
  INFO(faults(outcome.run));
  const auto unwaited = outcome.run.totals[static_cast<std::size_t>(sim::FaultKind::unwaited_at_barrier)];
  CHECK((unwaited != 0) == pipelined);
  std::uint64_t others = 0;
  for (const std::uint64_t n : outcome.run.totals) others += n;
  CHECK(others == unwaited);
  CHECK(outcome.unwritten_bytes == 0);
  CHECK(outcome.one_minus_cosine < bar);
  CHECK(outcome.worst_error <= 1);
}

// Bars: domain.md §3.4, bf16 2.2e-6..2.7e-6 expected, fp16 2e-8.
constexpr double bf16_bar = 1e-5;
constexpr double fp16_bar = 2e-7;

TEST_CASE("Triton's W4A16 kernels run clean and agree with float64", "[sim][peers]") {
  check_object({"A02_bf16_shuf_g32_128x64x32_s1", 17, 64, 64}, bf16_bar, false);
  check_object({"A02_bf16_shuf_g32_128x64x32_s1", 130, 128, 128}, bf16_bar, false);
  check_object({"A09_bf16_shuf_g32_asym_s1", 130, 128, 128}, bf16_bar, false);
  check_object({"B1_fp16_packed_asym_128x256x32_s1", 130, 256, 128}, fp16_bar, false);
  check_object({"B1_fp16_packed_sym_128x256x32_s1", 130, 256, 128}, fp16_bar, false);
  check_object({"B5_fp16_scalar_asym_128x64x32_s1", 130, 128, 128}, fp16_bar, false);
  check_object({"B5_fp16_scalar_sym_128x64x32_s1", 17, 64, 128}, fp16_bar, false);
}

TEST_CASE("Triton's two-stage kernels are right but leave stores unwaited at a barrier", "[sim][peers]") {
  check_object({"A01_bf16_shuf_g32_128x64x32_s2", 130, 128, 128}, bf16_bar, true);
  check_object({"A08_bf16_shuf_g32_asym_s2", 130, 128, 128}, bf16_bar, true);
  check_object({"A18_bf16_g32_down_128x512x32_w16_s2", 130, 512, 128}, bf16_bar, true);
}

}  // namespace
}  // namespace wavejit::test
