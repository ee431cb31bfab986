// SPDX-License-Identifier: MIT
// K-quants and the options that came later through the C interface. What a launch must compute is known
// without an oracle.
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/capi/wavejit.h"

namespace {

wavejit_engine_options quiet() {
  wavejit_engine_options options = WAVEJIT_ENGINE_OPTIONS_INIT;
  options.devices = "sim:gfx1151";
  options.cache_folder = "";
  options.ignore_environment = 1;
  return options;
}

wavejit_tensor upload(wavejit_engine* engine, const void* data, std::uint64_t bytes, wavejit_type type,
                      std::int64_t rows, std::int64_t columns) {
  wavejit_tensor t = {0, bytes, type, 2, {rows, columns, 0, 0}, {0, 0, 0, 0}};
  REQUIRE(wavejit_device_allocate(engine, 0, bytes, &t.address) == WAVEJIT_OK);
  REQUIRE(wavejit_device_copy_in(engine, 0, t.address, data, bytes) == WAVEJIT_OK);
  return t;
}

TEST_CASE("Q8_0 weights through C: a workspace, two kernels, more rows than one launch takes",
          "[capi][kquant]") {
  const wavejit_engine_options options = quiet();
  wavejit_engine* engine = nullptr;
  REQUIRE(wavejit_engine_create(&options, &engine) == WAVEJIT_OK);
  constexpr std::int64_t m = 10, n = 6, k = 256;
  wavejit_problem problem = WAVEJIT_PROBLEM_INIT;
  problem.operation = WAVEJIT_KQUANT;
  problem.weight_type = WAVEJIT_Q8_0;
  problem.activation = WAVEJIT_F32;
  problem.n = n;
  problem.k = k;
  wavejit_plan* plan = nullptr;
  REQUIRE(wavejit_prepare(engine, &problem, 1, m, 0, &plan) == WAVEJIT_OK);
  std::uint64_t workspace_bytes = 0;
  REQUIRE(wavejit_plan_workspace(plan, m, &workspace_bytes) == WAVEJIT_OK);
  CHECK(workspace_bytes == 8 * 320);

  // Row r of the weights: every quant r - 2, d = 1. Activations 127 but for the place i of row i: they
  // quantise to themselves with d = 1, and sums are exact.
  std::vector<float> x(m * k, 127.0F), out(m * n, -1.0F);
  for (std::int64_t i = 0; i < m; ++i) x[static_cast<std::size_t>(i * k + i)] = static_cast<float>(i);
  std::vector<std::uint8_t> w;
  for (int r = 0; r < n; ++r)
    for (int block = 0; block < 8; ++block) {
      w.insert(w.end(), {0x00, 0x3C});
      w.insert(w.end(), 32, static_cast<std::uint8_t>(r - 2));
    }
  wavejit_arguments a = {};
  a.struct_size = sizeof a;
  a.activations = upload(engine, x.data(), x.size() * 4, WAVEJIT_F32, m, k);
  a.weights = upload(engine, w.data(), w.size(), WAVEJIT_U8, n, 8 * 34);
  a.output = upload(engine, out.data(), out.size() * 4, WAVEJIT_F32, m, n);
  CHECK(wavejit_plan_launch(plan, nullptr, &a) == WAVEJIT_INVALID_ARGUMENT);
  CHECK(std::string(wavejit_last_error_field()) == "workspace_bytes");
  REQUIRE(wavejit_device_allocate(engine, 0, workspace_bytes, &a.workspace) == WAVEJIT_OK);
  a.workspace_bytes = workspace_bytes;
  REQUIRE(wavejit_plan_launch(plan, nullptr, &a) == WAVEJIT_OK);
  REQUIRE(wavejit_device_synchronise(engine, 0, nullptr) == WAVEJIT_OK);
  REQUIRE(wavejit_device_copy_out(engine, 0, out.data(), a.output.address, out.size() * 4) == WAVEJIT_OK);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t r = 0; r < n; ++r) {
      INFO("row " << i << ", column " << r);
      CHECK(out[static_cast<std::size_t>(i * n + r)] == static_cast<float>((r - 2) * (255 * 127 + i)));
    }

  std::string text(wavejit_plan_describe(plan, nullptr, 0), '\0');
  wavejit_plan_describe(plan, text.data(), text.size());
  CHECK(text.find("\"stages\":[{\"kernel\":\"kquant_quantise_f32_k256_m1\"") != std::string::npos);
  for (const std::uint64_t address :
       {a.activations.address, a.weights.address, a.output.address, a.workspace})
    CHECK(wavejit_device_release(engine, 0, address) == WAVEJIT_OK);
  wavejit_plan_release(plan);

  problem.weight_type = static_cast<wavejit_gguf_type>(5);
  CHECK(wavejit_prepare(engine, &problem, 1, 1, 0, &plan) == WAVEJIT_INVALID_ARGUMENT);
  CHECK(std::string(wavejit_last_error_field()) == "weight_type");
  problem.weight_type = WAVEJIT_Q4_K;
  problem.operation = static_cast<wavejit_operation>(99);
  CHECK(wavejit_prepare(engine, &problem, 1, 1, 0, &plan) == WAVEJIT_INVALID_ARGUMENT);
  CHECK(std::string(wavejit_last_error_field()) == "operation");
  wavejit_engine_destroy(engine);
}

TEST_CASE("The tuning database is opened where a caller names one, and only there", "[capi]") {
  std::string said;
  wavejit_engine_options options = quiet();
  options.log = [](void* user, wavejit_log_level, const char* text) {
    *static_cast<std::string*>(user) += text;
  };
  options.log_user = &said;
  options.tuning_database = "/nowhere/tuned.json";
  wavejit_engine* engine = nullptr;
  REQUIRE(wavejit_engine_create(&options, &engine) == WAVEJIT_OK);
  wavejit_engine_destroy(engine);
  CHECK(said.find("/nowhere/tuned.json") != std::string::npos);
  // A program whose header did not have the field.
  said.clear();
  options.struct_size = offsetof(wavejit_engine_options, tuning_database);
  REQUIRE(wavejit_engine_create(&options, &engine) == WAVEJIT_OK);
  wavejit_engine_destroy(engine);
  CHECK(said.empty());
}

}  // namespace
