// SPDX-License-Identifier: MIT
// Grouped int4 products through the C interface, with sums that are known without an oracle.
#include <catch2/catch.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "runtime/capi/wavejit.h"

namespace {

constexpr std::int64_t m = 7, n = 32, k = 128, groups = 3;
constexpr std::uint16_t one = 0x3F80, untouched = 0xFFFF;

wavejit_tensor upload(wavejit_engine* engine, const void* data, std::uint64_t bytes, wavejit_type type,
                      std::int64_t rows, std::int64_t columns) {
  wavejit_tensor t = {0, bytes, type, 2, {rows, columns, 0, 0}, {0, 0, 0, 0}};
  REQUIRE(wavejit_device_allocate(engine, 0, bytes, &t.address) == WAVEJIT_OK);
  REQUIRE(wavejit_device_copy_in(engine, 0, t.address, data, bytes) == WAVEJIT_OK);
  return t;
}

}  // namespace

TEST_CASE("A grouped product through C: sizes on the device, the rows behind them untouched",
          "[capi][cdna]") {
  wavejit_engine_options options = WAVEJIT_ENGINE_OPTIONS_INIT;
  options.devices = "sim:gfx942";
  options.cache_folder = "";
  options.ignore_environment = 1;
  wavejit_engine* engine = nullptr;
  REQUIRE(wavejit_engine_create(&options, &engine) == WAVEJIT_OK);
  wavejit_problem problem = WAVEJIT_PROBLEM_INIT;
  problem.operation = WAVEJIT_INT4_GROUPED;
  problem.n = n;
  problem.k = k;
  problem.groups = groups;
  wavejit_plan* plan = nullptr;
  REQUIRE(wavejit_prepare(engine, &problem, 1, m, 0, &plan) == WAVEJIT_OK);

  // Every weight of group g is g - 2, of every activation 1: a row of group g holds 128 (g - 2).
  const std::vector<std::uint16_t> x(m * k, one), s(groups * n, one);
  std::vector<std::uint16_t> out(m * n, untouched);
  std::vector<std::uint8_t> w;
  for (const std::uint8_t byte : {0xEE, 0xFF, 0x00}) w.insert(w.end(), n * k / 2, byte);
  const std::vector<std::int64_t> rows{2, 3, 0};
  wavejit_arguments a = {};
  a.struct_size = sizeof a;
  a.activations = upload(engine, x.data(), x.size() * 2, WAVEJIT_BF16, m, k);
  a.weights = upload(engine, w.data(), w.size(), WAVEJIT_I32, groups * n, k / 8);
  a.scales = upload(engine, s.data(), s.size() * 2, WAVEJIT_BF16, groups, n);
  a.output = upload(engine, out.data(), out.size() * 2, WAVEJIT_BF16, m, n);
  a.group_rows = upload(engine, rows.data(), rows.size() * 8, WAVEJIT_I64, 1, groups);
  a.struct_size = offsetof(wavejit_arguments, group_rows);  // a header without them
  CHECK(wavejit_plan_launch(plan, nullptr, &a) == WAVEJIT_INVALID_ARGUMENT);
  CHECK(std::string(wavejit_last_error_field()) == "group_rows");
  a.struct_size = sizeof a;
  a.group_rows.type = WAVEJIT_I32;
  CHECK(wavejit_plan_launch(plan, nullptr, &a) == WAVEJIT_INVALID_ARGUMENT);
  CHECK(std::string(wavejit_last_error_field()) == "group_rows.type");
  a.group_rows.type = WAVEJIT_I64;
  REQUIRE(wavejit_plan_launch(plan, nullptr, &a) == WAVEJIT_OK);
  REQUIRE(wavejit_device_synchronise(engine, 0, nullptr) == WAVEJIT_OK);
  REQUIRE(wavejit_device_copy_out(engine, 0, out.data(), a.output.address, out.size() * 2) == WAVEJIT_OK);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t c = 0; c < n; ++c) {
      const std::uint16_t expected = i < 2 ? 0xC380 : i < 5 ? 0xC300 : untouched;  // -256, -128
      if (out[static_cast<std::size_t>(i * n + c)] != expected) {
        INFO("row " << i << ", column " << c);
        CHECK(out[static_cast<std::size_t>(i * n + c)] == expected);
      }
    }
  for (const std::uint64_t address :
       {a.activations.address, a.weights.address, a.scales.address, a.output.address, a.group_rows.address})
    CHECK(wavejit_device_release(engine, 0, address) == WAVEJIT_OK);
  wavejit_plan_release(plan);

  // shared/cases.md row 53: no K gives zeros, here in a batch of two.
  problem.operation = WAVEJIT_INT4_GEMM;
  problem.groups = 0;
  problem.batch = 2;
  problem.k = 0;
  REQUIRE(wavejit_prepare(engine, &problem, 1, m, 0, &plan) == WAVEJIT_OK);
  const auto nothing = [](wavejit_type type, std::int64_t r, std::int64_t c) {
    return wavejit_tensor{0, 0, type, 2, {r, c, 0, 0}, {0, 0, 0, 0}};
  };
  std::vector<std::uint16_t> sums(2 * n, untouched);
  wavejit_arguments empty = {};
  empty.struct_size = sizeof empty;
  empty.activations = nothing(WAVEJIT_BF16, 2, 0);
  empty.weights = nothing(WAVEJIT_I32, 2 * n, 0);
  empty.scales = nothing(WAVEJIT_BF16, 0, n);
  empty.output = upload(engine, sums.data(), sums.size() * 2, WAVEJIT_BF16, 2, n);
  REQUIRE(wavejit_plan_launch(plan, nullptr, &empty) == WAVEJIT_OK);
  REQUIRE(wavejit_device_synchronise(engine, 0, nullptr) == WAVEJIT_OK);
  REQUIRE(wavejit_device_copy_out(engine, 0, sums.data(), empty.output.address, sums.size() * 2) ==
          WAVEJIT_OK);
  CHECK(sums == std::vector<std::uint16_t>(2 * n, 0));
  CHECK(wavejit_device_release(engine, 0, empty.output.address) == WAVEJIT_OK);
  wavejit_plan_release(plan);

  problem.k = k;
  problem.batch = -1;
  problem.operation = WAVEJIT_INT4_GEMM;
  problem.groups = 0;
  CHECK(wavejit_prepare(engine, &problem, 1, 1, 0, &plan) == WAVEJIT_INVALID_PROBLEM);
  CHECK(std::string(wavejit_last_error_field()) == "batch");
  wavejit_engine_destroy(engine);
}
