// SPDX-License-Identifier: MIT
// Requests that cannot be served are refused before anything is launched, by an error that names the
// field, the value and what is allowed.
#include <catch2/catch.hpp>
#include <functional>

#include "tests/harness/catch.hpp"

using namespace wavejit;

namespace {

harness::Request good() {
  harness::Request r;
  r.problem.n = 64;
  r.problem.k = 256;
  r.problem.group = 32;
  r.m = 16;
  r.config = harness::tile(32, 32, 32, 2);
  return r;
}

}  // namespace

TEST_CASE("bad problems and Configs are refused by field", "[w4a16]") {
  struct Bad {
    const char* field;
    std::function<void(harness::Request&)> spoil;
  };
  const Bad bads[] = {{"k", [](auto& r) { r.problem.k = 250; }},
                      {"k", [](auto& r) { r.problem.k = 0; }},
                      {"group", [](auto& r) { r.problem.group = 48; }},
                      {"group", [](auto& r) { r.problem.group = 0; }},
                      {"n", [](auto& r) { r.problem.n = 0; }},
                      {"n", [](auto& r) { r.problem.n = -5; }},
                      {"target", [](auto& r) { r.target = "gfx9999"; }},
                      {"m", [](auto& r) { r.m = 0; }},
                      {"activation_stride", [](auto& r) { r.problem.activation_stride = 255; }},
                      {"activation_stride", [](auto& r) { r.problem.activation_stride = 260; }},
                      {"weight_stride", [](auto& r) { r.problem.weight_stride = 31; }},
                      {"scale_stride", [](auto& r) { r.problem.scale_stride = 7; }},
                      {"zero_point_stride", [](auto& r) { r.problem.zero_point_stride = 8; }},
                      {"output_stride", [](auto& r) { r.problem.output_stride = 63; }},
                      {"bm", [](auto& r) { r.config->bm = 40; }},
                      {"bn", [](auto& r) { r.config->bn = 0; }},
                      {"bk", [](auto& r) { r.config->bk = 24; }},
                      {"bk", [](auto& r) { r.config->bk = 64; }},  // more than the group
                      {"waves", [](auto& r) { r.config->waves = 3; }},
                      {"waves", [](auto& r) { r.config->waves = 16; }},  // more than the tile has parts
                      {"pipeline_depth", [](auto& r) { r.config->pipeline_depth = 3; }},
                      {"lds_buffers", [](auto& r) { r.config->lds_buffers = 3; }},
                      {"unroll", [](auto& r) { r.config->unroll = 0; }},
                      {"waves_per_simd", [](auto& r) { r.config->waves_per_simd = 99; }},
                      {"lds", [](auto& r) {
                         r.problem.k = 512;
                         r.problem.group = 128;
                         r.config = harness::tile(256, 256, 128, 8);
                       }}};
  CHECK(harness::passes(good()));
  for (const Bad& bad : bads) {
    harness::Request r = good();
    bad.spoil(r);
    CAPTURE(bad.field);
    CHECK(harness::refused(r, bad.field));
  }
}

TEST_CASE("a register budget that cannot hold the kernel is refused with both counts", "[w4a16]") {
  harness::Request r = good();
  r.config = harness::tile(128, 128, 32, 4);
  r.config->waves_per_simd = 16;  // 96 VGPRs; the accumulators alone take 128
  const auto result = harness::run(r);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::out_of_registers);
  INFO(result.error().message);
  CHECK(result.error().message.contains("96"));
  CHECK_FALSE(result.error().given.empty());
}

TEST_CASE("activation types other than bf16 and f16 are refused by name", "[w4a16]") {
  harness::Request r = good();
  r.problem.activation = GENERATE(templates::DataType::f32, templates::DataType::i32);
  CHECK(harness::refused(r, "act"));
}

TEST_CASE("what a zero-point stride may be depends on whether there are zero points", "[w4a16]") {
  harness::Request r = good();
  r.problem.zero_point_stride = 8;
  CHECK(harness::refused(r, "zero_point_stride"));
  r.problem.zero_points = templates::ZeroPoints::packed;
  CHECK(harness::passes(r));
  r.problem.zero_point_stride = 7;  // K / group is 8
  CHECK(harness::refused(r, "zero_point_stride"));
}

TEST_CASE("groups are multiples of 32 that divide K, all of K included", "[w4a16]") {
  struct Case {
    std::int64_t k, group;
    const char* refused_by;
  };
  const Case cases[] = {{192, 96, nullptr}, {96, -1, nullptr}, {512, 256, nullptr}, {160, 160, nullptr},
                        {256, 96, "k"},     {48, -1, "group"}, {256, 16, "group"},  {256, -32, "group"},
                        {256, -2, "group"}, {256, 512, "k"}};
  for (const Case& c : cases) {
    harness::Request r = good();
    r.problem.k = c.k;
    r.problem.group = c.group;
    CAPTURE(c.k, c.group);
    if (c.refused_by == nullptr) {
      CHECK(harness::passes(r));
    } else {
      CHECK(harness::refused(r, c.refused_by));
    }
  }
}
