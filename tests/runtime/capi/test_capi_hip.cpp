// SPDX-License-Identifier: MIT
// The C interface over a simulated HIP driver: what a driver refuses has its own status, and the engine
// works on afterwards.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/capi/wavejit.h"
#include "tests/runtime/device/fake_driver.hpp"

namespace {

using wavejit::test::FakeDriver;

/// An engine on the driver's devices; the library is named by the environment, as a server would.
wavejit_status create(const FakeDriver& driver, const char* devices, wavejit_engine** engine) {
  ::setenv("WAVEJIT_HIP_LIBRARY", driver.path().c_str(), 1);
  wavejit_engine_options options = WAVEJIT_ENGINE_OPTIONS_INIT;
  options.devices = devices;
  options.cache_folder = "";
  const wavejit_status status = wavejit_engine_create(&options, engine);
  ::unsetenv("WAVEJIT_HIP_LIBRARY");
  return status;
}

wavejit_problem problem() {
  wavejit_problem p = WAVEJIT_PROBLEM_INIT;
  p.n = 16;
  p.k = 32;
  p.group = 32;
  return p;
}

wavejit_tensor upload(wavejit_engine* engine, uint32_t device, const std::vector<std::uint16_t>& data,
                      wavejit_type type, std::int64_t rows, std::int64_t columns) {
  wavejit_tensor t{0, data.size() * 2, type, 2, {rows, columns, 0, 0}, {0, 0, 0, 0}};
  REQUIRE(wavejit_device_allocate(engine, device, t.bytes, &t.address) == WAVEJIT_OK);
  REQUIRE(wavejit_device_copy_in(engine, device, t.address, data.data(), t.bytes) == WAVEJIT_OK);
  return t;
}

/// Ones times weights of 1 times scales of 2: every output is K * 2 = 64.
void check_works(wavejit_engine* engine, const wavejit_plan* plan, uint32_t device = 0) {
  wavejit_arguments a = {};
  a.struct_size = sizeof a;
  a.activations = upload(engine, device, std::vector<std::uint16_t>(3 * 32, 0x3F80), WAVEJIT_BF16, 3, 32);
  a.weights = upload(engine, device, std::vector<std::uint16_t>(16 * 8, 0x9999), WAVEJIT_I32, 16, 4);
  a.scales = upload(engine, device, std::vector<std::uint16_t>(16, 0x4000), WAVEJIT_BF16, 16, 1);
  a.output = upload(engine, device, std::vector<std::uint16_t>(3 * 16, 0xFFFF), WAVEJIT_BF16, 3, 16);
  REQUIRE(wavejit_plan_launch(plan, nullptr, &a) == WAVEJIT_OK);
  REQUIRE(wavejit_device_synchronise(engine, device, nullptr) == WAVEJIT_OK);
  std::vector<std::uint16_t> out(3 * 16);
  REQUIRE(wavejit_device_copy_out(engine, device, out.data(), a.output.address, out.size() * 2) ==
          WAVEJIT_OK);
  for (const std::uint16_t bits : out) CHECK(bits == 0x4280);
  for (const wavejit_tensor* t : {&a.activations, &a.weights, &a.scales, &a.output})
    CHECK(wavejit_device_release(engine, device, t->address) == WAVEJIT_OK);
}

TEST_CASE("Two devices, and one that is not there, through C", "[capi][hip]") {
  const FakeDriver driver("6", "gfx1151 gfx1100");
  wavejit_engine* engine = nullptr;
  CHECK(create(driver, "hip:2", &engine) == WAVEJIT_NO_DEVICE);
  CHECK(engine == nullptr);
  REQUIRE(create(driver, "hip:0,hip:1", &engine) == WAVEJIT_OK);
  const wavejit_problem p = problem();
  for (uint32_t device = 0; device < 2; ++device) {
    wavejit_plan* plan = nullptr;
    REQUIRE(wavejit_prepare(engine, &p, 1, 16, device, &plan) == WAVEJIT_OK);
    check_works(engine, plan, device);
    wavejit_plan_release(plan);
  }
  wavejit_engine_destroy(engine);
}

TEST_CASE("Load failures, wrong architecture, no memory, captures: statuses of their own", "[capi][hip]") {
  const FakeDriver driver("6");
  wavejit_engine* engine = nullptr;
  REQUIRE(create(driver, "hip", &engine) == WAVEJIT_OK);
  const wavejit_problem p = problem();
  const struct {
    const char* command;
    wavejit_status status;
  } refusals[] = {{"fail hipModuleLoadData 2 1", WAVEJIT_OUT_OF_MEMORY},
                  {"fail hipModuleLoadData 209 1", WAVEJIT_WRONG_ARCHITECTURE},
                  {"fail hipModuleLoadData 200 1", WAVEJIT_LOAD_FAILED},
                  {"fail hipModuleLoadData 900 1", WAVEJIT_CAPTURE_ACTIVE}};
  for (const auto& r : refusals) {
    INFO(r.command);
    driver.obey(r.command);
    wavejit_plan* plan = nullptr;
    CHECK(wavejit_prepare(engine, &p, 1, 16, 0, &plan) == r.status);
    CHECK(plan == nullptr);
    CHECK_FALSE(std::string(wavejit_last_error()).empty());
    REQUIRE(wavejit_prepare(engine, &p, 1, 16, 0, &plan) == WAVEJIT_OK);
    check_works(engine, plan);
    wavejit_plan_release(plan);
    wavejit_collect(engine);
  }
  wavejit_engine_destroy(engine);
}

}  // namespace
