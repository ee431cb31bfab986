// SPDX-License-Identifier: MIT
// `wavejit run FILE.hsaco --args args.json` on Triton's W4A16 objects, which nobody here compiled: written
// launch files, expected values in float64.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/runtime/sim/triton_w4a16.hpp"
#include "tests/skip.hpp"
#include "tests/tools/cli.hpp"

namespace wavejit::test {
namespace {

/// Two-stage kernels leave ds_stores unwaited at a barrier (test_triton.cpp): that check is off for them.
Ran run_object(const TritonShape& shape, bool two_stages) {
  const Folder folder;
  write_triton_launch(shape, folder.file("."));
  const auto object = shared("peers/triton") / (shape.name + ".hsaco");
  return folder.wavejit("run " + object.string() + " --args args.json --json" +
                        (two_stages ? " --without-check unwaited_at_barrier" : ""));
}

TEST_CASE("Triton's W4A16 objects run from launch files and are right", "[cli][run_any][peers]") {
  const TritonShape one_stage[] = {
      {"A02_bf16_shuf_g32_128x64x32_s1", 17, 64, 64},      {"A09_bf16_shuf_g32_asym_s1", 17, 64, 64},
      {"B1_fp16_packed_asym_128x256x32_s1", 17, 256, 128}, {"B1_fp16_packed_sym_128x256x32_s1", 17, 256, 128},
      {"B5_fp16_scalar_asym_128x64x32_s1", 17, 64, 128},   {"B5_fp16_scalar_sym_128x64x32_s1", 17, 64, 128}};
  const TritonShape two_stages[] = {{"A01_bf16_shuf_g32_128x64x32_s2", 17, 64, 128},
                                    {"A08_bf16_shuf_g32_asym_s2", 17, 64, 128}};
  const auto check = [](const TritonShape& shape, bool staged) {
    const Ran ran = run_object(shape, staged);
    INFO(shape.name << "\n" << ran.out << ran.err);
    REQUIRE(ran.code == 0);
    const auto report = ran.json();
    CHECK(report.at("ok") == true);
    CHECK(report.at("distinct_faults") == 0);
    CHECK(report.at("compared").at(0).at("wrong") == 0);
    CHECK(report.at("compared").at(0).at("elements") == std::size_t{shape.m} * shape.n);
  };
  for (const TritonShape& shape : one_stage) check(shape, false);
  for (const TritonShape& shape : two_stages) check(shape, true);
}

}  // namespace
}  // namespace wavejit::test
