// SPDX-License-Identifier: MIT
// The C interface through the shared library. Results of launches are judged in tests/consumer and
// tests/python; here: handles, structs, and that nothing a caller passes brings the process down.
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "generator/support/error_name.hpp"
#include "runtime/capi/wavejit.h"

namespace {

wavejit_engine* make_engine(const char* devices = "sim:gfx1151") {
  wavejit_engine_options options = WAVEJIT_ENGINE_OPTIONS_INIT;
  options.devices = devices;
  options.cache_folder = "";
  options.ignore_environment = 1;
  wavejit_engine* engine = nullptr;
  REQUIRE(wavejit_engine_create(&options, &engine) == WAVEJIT_OK);
  return engine;
}

wavejit_problem small_problem() {
  wavejit_problem problem = WAVEJIT_PROBLEM_INIT;
  problem.n = 32;
  problem.k = 64;
  problem.group = 32;
  return problem;
}

TEST_CASE("C statuses are the numbers and names of the library's error codes", "[capi]") {
  CHECK(std::string(wavejit_status_name(WAVEJIT_OK)) == "ok");
  CHECK(std::string(wavejit_status_name(static_cast<wavejit_status>(200))) == "unknown");
  CHECK(std::string(wavejit_status_name(static_cast<wavejit_status>(100000))) == "unknown");
  CHECK(std::string(wavejit_status_name(static_cast<wavejit_status>(-1))) == "unknown");
  const struct {
    wavejit_status status;
    wavejit::ErrorCode code;
  } pairs[] = {{WAVEJIT_INVALID_PROBLEM, wavejit::ErrorCode::invalid_problem},
               {WAVEJIT_OUT_OF_REGISTERS, wavejit::ErrorCode::out_of_registers},
               {WAVEJIT_ASSEMBLER, wavejit::ErrorCode::assembler},
               {WAVEJIT_SIMULATION, wavejit::ErrorCode::simulation},
               {WAVEJIT_INVALID_ARGUMENT, wavejit::ErrorCode::invalid_argument},
               {WAVEJIT_UNSUPPORTED, wavejit::ErrorCode::unsupported},
               {WAVEJIT_NO_DEVICE, wavejit::ErrorCode::no_device},
               {WAVEJIT_WRONG_ARCHITECTURE, wavejit::ErrorCode::wrong_architecture},
               {WAVEJIT_OUT_OF_MEMORY, wavejit::ErrorCode::out_of_memory},
               {WAVEJIT_CAPTURE_ACTIVE, wavejit::ErrorCode::capture_active},
               {WAVEJIT_LOAD_FAILED, wavejit::ErrorCode::load_failed},
               {WAVEJIT_LAUNCH_FAILED, wavejit::ErrorCode::launch_failed},
               {WAVEJIT_NOT_PREPARED, wavejit::ErrorCode::not_prepared},
               {WAVEJIT_DRIVER, wavejit::ErrorCode::driver},
               {WAVEJIT_HIPRTC, wavejit::ErrorCode::hiprtc},
               {WAVEJIT_TIMED_OUT, wavejit::ErrorCode::timed_out},
               {WAVEJIT_SHUT_DOWN, wavejit::ErrorCode::shut_down},
               {WAVEJIT_INTERNAL, wavejit::ErrorCode::internal}};
  for (const auto& pair : pairs) {
    CHECK(static_cast<int>(pair.status) == static_cast<int>(pair.code));
    CHECK(wavejit_status_name(pair.status) == std::string(wavejit::name(pair.code)));
  }
}

TEST_CASE("Null pointers and structs of impossible size are errors", "[capi]") {
  CHECK(wavejit_engine_create(nullptr, nullptr) == WAVEJIT_INVALID_ARGUMENT);
  CHECK(std::string(wavejit_last_error_field()) == "engine");
  wavejit_engine* engine = make_engine();
  wavejit_problem problem = small_problem();
  wavejit_plan* plan = nullptr;
  CHECK(wavejit_prepare(nullptr, &problem, 1, 1, 0, &plan) == WAVEJIT_INVALID_ARGUMENT);
  CHECK(wavejit_prepare(engine, nullptr, 1, 1, 0, &plan) == WAVEJIT_INVALID_ARGUMENT);
  CHECK(std::string(wavejit_last_error_field()) == "problem");
  CHECK(wavejit_prepare(engine, &problem, 1, 1, 0, nullptr) == WAVEJIT_INVALID_ARGUMENT);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{4}, std::size_t{7}, (std::size_t{1} << 16) + 1, std::size_t{1} << 40}) {
    problem.struct_size = size;
    CHECK(wavejit_prepare(engine, &problem, 1, 1, 0, &plan) == WAVEJIT_INVALID_ARGUMENT);
    CHECK(std::string(wavejit_last_error_field()) == "struct_size");
  }
  problem = small_problem();
  problem.activation = static_cast<wavejit_type>(77);
  CHECK(wavejit_prepare(engine, &problem, 1, 1, 0, &plan) == WAVEJIT_INVALID_ARGUMENT);
  CHECK(std::string(wavejit_last_error_field()) == "activation");
  problem = small_problem();
  CHECK(wavejit_prepare(engine, &problem, 1, 1, 7, &plan) == WAVEJIT_INVALID_ARGUMENT);
  CHECK(plan == nullptr);
  CHECK(wavejit_plan_launch(nullptr, nullptr, nullptr) == WAVEJIT_INVALID_ARGUMENT);
  CHECK(wavejit_plan_workspace(nullptr, 1, nullptr) == WAVEJIT_INVALID_ARGUMENT);
  CHECK(wavejit_future_get(nullptr, 0, &plan) == WAVEJIT_INVALID_ARGUMENT);
  CHECK(wavejit_device_synchronise(engine, 9, nullptr) == WAVEJIT_INVALID_ARGUMENT);
  CHECK(wavejit_device_copy_in(engine, 0, 0, nullptr, 4) == WAVEJIT_INVALID_ARGUMENT);
  CHECK(wavejit_device_copy_in(engine, 0, 4096, "abc", 4) != WAVEJIT_OK);
  CHECK(wavejit_repack_plan(nullptr, nullptr) == WAVEJIT_INVALID_ARGUMENT);
  wavejit_repack_request request = {};
  request.struct_size = sizeof request;
  wavejit_repack_sizes sizes = {};
  sizes.struct_size = sizeof sizes;
  CHECK(wavejit_repack_plan(&request, &sizes) == WAVEJIT_INVALID_ARGUMENT);
  CHECK(std::string(wavejit_last_error_field()) == "weights.data");
  wavejit_plan_release(nullptr);
  wavejit_future_destroy(nullptr);
  wavejit_engine_destroy(engine);
  wavejit_engine_destroy(nullptr);
}

TEST_CASE("An older program's shorter struct keeps the defaults of what it did not know", "[capi]") {
  wavejit_engine* engine = make_engine();
  wavejit_problem problem = small_problem();
  problem.struct_size = offsetof(wavejit_problem, zero_points);
  problem.zero_points = static_cast<wavejit_zero_points>(99);  // beyond what it says it wrote
  wavejit_plan* plan = nullptr;
  CHECK(wavejit_prepare(engine, &problem, 1, 16, 0, &plan) == WAVEJIT_OK);
  wavejit_plan_release(plan);
  wavejit_engine_destroy(engine);
}

// What means what to which operation: the comments of wavejit_problem.
TEST_CASE("A field that means nothing to a problem's operation is refused by its name", "[capi]") {
  wavejit_engine* engine = make_engine("sim:gfx942,sim:gfx1151");
  using Set = void (*)(wavejit_problem&);
  struct Case {
    const char* field;
    Set set;
    std::vector<wavejit_operation> of;
  };
  const std::vector<wavejit_operation> w4a16{WAVEJIT_W4A16}, kquant{WAVEJIT_KQUANT},
      int4{WAVEJIT_INT4_GEMM, WAVEJIT_INT4_GROUPED}, all{WAVEJIT_W4A16, WAVEJIT_KQUANT, int4[0], int4[1]};
  const std::vector<Case> cases{
      {"zero_points", [](auto& p) { p.zero_points = WAVEJIT_ADDITIVE; }, {WAVEJIT_W4A16, WAVEJIT_KQUANT}},
      {"zero_points", [](auto& p) { p.zero_points = WAVEJIT_PACKED; }, {WAVEJIT_KQUANT, int4[0], int4[1]}},
      {"batch", [](auto& p) { p.batch = 4; }, {WAVEJIT_W4A16, WAVEJIT_KQUANT, WAVEJIT_INT4_GROUPED}},
      {"batch", [](auto& p) { p.batch = -1; }, all},
      {"groups", [](auto& p) { p.groups = 4; }, {WAVEJIT_W4A16, WAVEJIT_KQUANT, WAVEJIT_INT4_GEMM}},
      {"groups", [](auto& p) { p.groups = -1; }, all},
      {"weight_type", [](auto& p) { p.weight_type = WAVEJIT_Q8_0; }, {WAVEJIT_W4A16, int4[0], int4[1]}},
      {"scale_type", [](auto& p) { p.scale_type = WAVEJIT_F32; }, {WAVEJIT_W4A16, WAVEJIT_KQUANT}},
      {"scale_type", [](auto& p) { p.scale_type = WAVEJIT_I32; }, all},
      {"act", [](auto& p) { p.activation = WAVEJIT_I32; }, all},
      {"bias", [](auto& p) { p.bias = 1; }, {WAVEJIT_KQUANT, int4[0], int4[1]}},
      {"group", [](auto& p) { p.group = 64; }, kquant},
      {"group", [](auto& p) { p.group = -1; }, kquant},
      {"rounding", [](auto& p) { p.rounding = WAVEJIT_NEAREST; }, kquant},
      {"activation_stride", [](auto& p) { p.activation_stride = 512; }, kquant},
      {"weight_stride", [](auto& p) { p.weight_stride = 512; }, kquant},
      {"scale_stride", [](auto& p) { p.scale_stride = 64; }, kquant},
      {"output_stride", [](auto& p) { p.output_stride = 128; }, kquant},
      {"zero_point_stride", [](auto& p) { p.zero_point_stride = 64; }, all},
      {"operation", [](auto& p) { p.operation = static_cast<wavejit_operation>(4); }, w4a16},
      {"operation", [](auto& p) { p.operation = static_cast<wavejit_operation>(-1); }, w4a16},
      {"activation", [](auto& p) { p.activation = static_cast<wavejit_type>(6); }, all},
      {"zero_points", [](auto& p) { p.zero_points = static_cast<wavejit_zero_points>(3); }, all},
      {"rounding", [](auto& p) { p.rounding = static_cast<wavejit_weight_rounding>(2); }, all},
      {"weight_type", [](auto& p) { p.weight_type = static_cast<wavejit_gguf_type>(5); }, all},
      {"scale_type", [](auto& p) { p.scale_type = static_cast<wavejit_type>(256); }, all},
      {"reserved", [](auto& p) { p.reserved = 1; }, all}};
  for (const Case& c : cases)
    for (const wavejit_operation op : c.of)
      for (const std::uint32_t device : {0U, 1U}) {
        const bool cdna = op == WAVEJIT_INT4_GEMM || op == WAVEJIT_INT4_GROUPED;
        if (device == (cdna ? 1U : 2U)) continue;
        wavejit_problem problem = WAVEJIT_PROBLEM_INIT;
        problem.operation = op;
        problem.n = 64;
        problem.k = 256;
        problem.groups = op == WAVEJIT_INT4_GROUPED ? 3 : 0;
        CAPTURE(c.field, op, device);
        std::size_t needed = 0;
        REQUIRE(wavejit_explain(engine, &problem, 1, 4, device, nullptr, 0, &needed) == WAVEJIT_OK);
        c.set(problem);
        wavejit_plan* plan = nullptr;
        CHECK(wavejit_prepare(engine, &problem, 1, 4, device, &plan) != WAVEJIT_OK);
        CHECK(plan == nullptr);
        CHECK(std::string(wavejit_last_error_field()) == c.field);
        const std::string reason = wavejit_last_error();
        CHECK(wavejit_explain(engine, &problem, 1, 4, device, nullptr, 0, &needed) != WAVEJIT_OK);
        CHECK(wavejit_last_error() == reason);
        CHECK(wavejit_find(engine, &problem, 1, 4, device, &plan) != WAVEJIT_OK);
      }
  wavejit_engine_destroy(engine);
}

TEST_CASE("Without a GPU nobody simulates unasked: the error names the simulator", "[capi]") {
  setenv("WAVEJIT_HIP_LIBRARY", "/nowhere/libamdhip64.so", 1);
  wavejit_engine* engine = nullptr;
  wavejit_engine_options options = WAVEJIT_ENGINE_OPTIONS_INIT;
  options.cache_folder = "";
  for (const char* devices : {static_cast<const char*>(nullptr), "", "auto"}) {
    options.devices = devices;
    CHECK(wavejit_engine_create(&options, &engine) == WAVEJIT_NO_DEVICE);
    CHECK(std::string(wavejit_last_error()).find("\"sim\"") != std::string::npos);
  }
  CHECK(wavejit_engine_create(nullptr, &engine) == WAVEJIT_NO_DEVICE);
  unsetenv("WAVEJIT_HIP_LIBRARY");
}

TEST_CASE("Plans are counted references that outlive their engine", "[capi]") {
  wavejit_engine* engine = make_engine();
  const wavejit_problem problem = small_problem();
  wavejit_plan* plan = nullptr;
  CHECK(wavejit_find(engine, &problem, 1, 16, 0, &plan) == WAVEJIT_NOT_PREPARED);
  REQUIRE(wavejit_prepare(engine, &problem, 1, 16, 0, &plan) == WAVEJIT_OK);
  wavejit_plan* found = nullptr;
  REQUIRE(wavejit_find(engine, &problem, 1, 16, 0, &found) == WAVEJIT_OK);
  wavejit_plan_release(found);
  CHECK(wavejit_plan_retain(plan) == plan);
  wavejit_plan_release(plan);
  wavejit_engine_destroy(engine);
  std::uint64_t bytes = 1;
  CHECK(wavejit_plan_workspace(plan, 3, &bytes) == WAVEJIT_OK);
  CHECK(bytes == 0);
  CHECK(wavejit_plan_workspace(plan, 17, &bytes) == WAVEJIT_NOT_PREPARED);
  std::string text(wavejit_plan_describe(plan, nullptr, 0), '\0');
  CHECK(wavejit_plan_describe(plan, text.data(), text.size()) == text.size());
  CHECK(text.find("\"device\":\"gfx1151\"") != std::string::npos);
  char tiny[8];
  CHECK(wavejit_plan_describe(plan, tiny, sizeof tiny) == text.size());
  CHECK(std::strlen(tiny) == sizeof tiny - 1);
  wavejit_plan_release(plan);
}

TEST_CASE("Futures, explanations, counters and devices", "[capi]") {
  wavejit_engine* engine = make_engine("sim:gfx1151,sim:gfx1100");
  const wavejit_problem problem = small_problem();
  std::string text(4096, '\0');
  std::size_t needed = 0;
  REQUIRE(wavejit_explain(engine, &problem, 17, 32, 1, text.data(), text.size(), &needed) == WAVEJIT_OK);
  CHECK(text.find("no disk cache") != std::string::npos);
  CHECK(needed == std::strlen(text.c_str()) + 1);
  wavejit_future* future = nullptr;
  REQUIRE(wavejit_prepare_async(engine, &problem, 17, 32, 1, &future) == WAVEJIT_OK);
  wavejit_plan *first = nullptr, *second = nullptr;
  CHECK(wavejit_future_get(future, -1, &first) == WAVEJIT_OK);
  CHECK(wavejit_future_get(future, 0, &second) == WAVEJIT_OK);
  wavejit_future_destroy(future);
  wavejit_plan_release(first);
  wavejit_plan_release(second);
  wavejit_counters(engine, text.data(), text.size());
  CHECK(text.find("compiles 1\n") != std::string::npos);
  CHECK(wavejit_device_count(engine) == 2);
  wavejit_device_info info = {};
  info.struct_size = sizeof info;
  REQUIRE(wavejit_device_describe(engine, 1, &info) == WAVEJIT_OK);
  CHECK(std::string(info.target_id) == "gfx1100");
  CHECK(std::string(info.kind) == "sim");
  CHECK(info.struct_size == sizeof info);
  CHECK(info.compute_units == 96);  // Radeon RX 7900 XTX
  CHECK(info.wave_size == 32);
  CHECK(info.ordinal >= 0);
  CHECK(info.memory_bytes > 0);
  CHECK_FALSE(std::string(info.name).empty());
  CHECK(wavejit_collect(engine) == 0);
  wavejit_engine_destroy(engine);
}

TEST_CASE("Both ends of a range of M reach the engine through every function", "[capi]") {
  wavejit_engine* engine = make_engine();
  const wavejit_problem problem = small_problem();
  const auto described = [](wavejit_plan* plan) {
    std::string text(wavejit_plan_describe(plan, nullptr, 0), '\0');
    wavejit_plan_describe(plan, text.data(), text.size());
    return text;
  };
  wavejit_plan *plan = nullptr, *found = nullptr;
  REQUIRE(wavejit_prepare(engine, &problem, 5, 16, 0, &plan) == WAVEJIT_OK);
  CHECK(described(plan).find("\"m_first\":5,\"m_last\":16,\"variants\":[{\"m_first\":5,\"m_last\":") !=
        std::string::npos);
  CHECK(described(plan).find("\"m_last\":16,\"kernel\"") != std::string::npos);  // of the last variant
  std::uint64_t bytes = 0;
  for (const auto& [m, status] :
       {std::pair{4, WAVEJIT_NOT_PREPARED}, {5, WAVEJIT_OK}, {16, WAVEJIT_OK}, {17, WAVEJIT_NOT_PREPARED}})
    CHECK(wavejit_plan_workspace(plan, m, &bytes) == status);
  wavejit_plan_release(plan);
  CHECK(wavejit_find(engine, &problem, 5, 15, 0, &found) == WAVEJIT_NOT_PREPARED);
  CHECK(wavejit_find(engine, &problem, 5, 17, 0, &found) == WAVEJIT_NOT_PREPARED);
  CHECK(wavejit_find(engine, &problem, 4, 16, 0, &found) == WAVEJIT_NOT_PREPARED);
  REQUIRE(wavejit_find(engine, &problem, 5, 16, 0, &found) == WAVEJIT_OK);
  wavejit_plan_release(found);
  wavejit_future* future = nullptr;
  REQUIRE(wavejit_prepare_async(engine, &problem, 7, 9, 0, &future) == WAVEJIT_OK);
  REQUIRE(wavejit_future_get(future, -1, &plan) == WAVEJIT_OK);
  CHECK(described(plan).find("\"m_first\":7,\"m_last\":9,") != std::string::npos);
  wavejit_plan_release(plan);
  wavejit_future_destroy(future);
  // Ranges that are none, everywhere.
  for (const auto& [first, last] : {std::pair{0, 4}, {5, 4}}) {
    CHECK(wavejit_prepare(engine, &problem, first, last, 0, &plan) == WAVEJIT_INVALID_ARGUMENT);
    CHECK(std::string(wavejit_last_error_field()) == "range");
    char text[64];
    std::size_t needed = 0;
    CHECK(wavejit_explain(engine, &problem, first, last, 0, text, sizeof text, &needed) ==
          WAVEJIT_INVALID_ARGUMENT);
    CHECK(std::string(wavejit_last_error_field()) == "range");
  }
  wavejit_engine_destroy(engine);
}

TEST_CASE("A thread's last error is its own", "[capi]") {
  wavejit_engine* engine = make_engine();
  wavejit_problem problem = small_problem();
  problem.k = 33;
  wavejit_plan* plan = nullptr;
  REQUIRE(wavejit_prepare(engine, &problem, 1, 1, 0, &plan) == WAVEJIT_INVALID_PROBLEM);
  const std::string mine = wavejit_last_error();
  std::thread([&] {
    CHECK(std::string(wavejit_last_error()).empty());
    CHECK(wavejit_prepare(engine, nullptr, 1, 1, 0, &plan) == WAVEJIT_INVALID_ARGUMENT);
  }).join();
  CHECK(wavejit_last_error() == mine);
  CHECK(std::string(wavejit_last_error_field()) == "k");
  CHECK(std::string(wavejit_last_error_given()) == "33");
  wavejit_engine_destroy(engine);
}

TEST_CASE("Versions", "[capi]") {
  CHECK(wavejit_abi_version() == WAVEJIT_ABI_VERSION);
  CHECK(std::string(wavejit_version()) == "0.1.0");
  CHECK(std::string(wavejit_llvm_version()).rfind("22.", 0) == 0);
  CHECK(std::string(wavejit_build_id()).size() == 32);
}

}  // namespace
