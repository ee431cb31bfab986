// SPDX-License-Identifier: MIT
// What a fork leaves in the child: neither the threads of a simulated device nor a HIP driver. Each entry of
// the C interface says so at once there, a child's own engine works, and the parent notices nothing.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/capi/wavejit.h"
#include "tests/runtime/device/fake_driver.hpp"

namespace {

wavejit_status create(const char* devices, wavejit_engine** engine) {
  wavejit_engine_options options = WAVEJIT_ENGINE_OPTIONS_INIT;
  options.devices = devices;
  options.cache_folder = "";
  return wavejit_engine_create(&options, engine);
}

wavejit_problem problem(int64_t n = 48) {
  wavejit_problem p = WAVEJIT_PROBLEM_INIT;
  p.n = n;
  p.k = 64;
  p.group = 32;
  return p;
}

wavejit_tensor tensor(wavejit_engine* engine, wavejit_type type, int64_t rows, int64_t columns,
                      const std::vector<std::uint8_t>& bytes) {
  wavejit_tensor t = {0, bytes.size(), type, 2, {rows, columns, 0, 0}, {0, 0, 0, 0}};
  if (wavejit_device_allocate(engine, 0, bytes.size(), &t.address) != WAVEJIT_OK) return t;
  (void)wavejit_device_copy_in(engine, 0, t.address, bytes.data(), bytes.size());
  return t;
}

/// All zeros: what is computed is judged elsewhere.
wavejit_arguments arguments(wavejit_engine* engine) {
  wavejit_arguments a{};
  a.struct_size = sizeof a;
  a.activations = tensor(engine, WAVEJIT_BF16, 5, 64, std::vector<std::uint8_t>(5 * 64 * 2));
  a.weights = tensor(engine, WAVEJIT_I32, 48, 8, std::vector<std::uint8_t>(48 * 8 * 4));
  a.scales = tensor(engine, WAVEJIT_BF16, 48, 2, std::vector<std::uint8_t>(48 * 2 * 2));
  a.output = tensor(engine, WAVEJIT_BF16, 5, 48, std::vector<std::uint8_t>(5 * 48 * 2));
  return a;
}

bool computes(wavejit_engine* engine, wavejit_plan* plan) {
  const wavejit_arguments a = arguments(engine);
  return wavejit_plan_launch(plan, nullptr, &a) == WAVEJIT_OK &&
         wavejit_device_synchronise(engine, 0, nullptr) == WAVEJIT_OK;
}

bool names_fork(wavejit_status status) {
  return status == WAVEJIT_NO_DEVICE && std::string(wavejit_last_error()).find("fork") != std::string::npos;
}

/// What the child returned; 97 when it had to be killed because it hung.
int in_child(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(60);  // its default action ends the process
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 97;
}

/// 0, or the number of the first entry that did not name the fork.
int every_entry_refuses(wavejit_engine* engine, wavejit_plan* plan, const wavejit_arguments& ready,
                        wavejit_future* pending) {
  wavejit_problem p = problem(), other = problem(96);
  wavejit_plan* made = nullptr;
  wavejit_future* future = nullptr;
  std::uint64_t address = 0;
  std::size_t needed = 0;
  std::array<std::uint8_t, 4> bytes{};
  void* stream = nullptr;
  int number = 0;
  for (const wavejit_status status :
       {wavejit_prepare(engine, &p, 1, 16, 0, &made), wavejit_prepare(engine, &other, 1, 16, 0, &made),
        wavejit_find(engine, &p, 1, 16, 0, &made), wavejit_plan_launch(plan, nullptr, &ready),
        wavejit_explain(engine, &p, 1, 16, 0, nullptr, 0, &needed),
        wavejit_device_allocate(engine, 0, 16, &address),
        wavejit_device_release(engine, 0, ready.output.address),
        wavejit_device_copy_in(engine, 0, ready.output.address, bytes.data(), bytes.size()),
        wavejit_device_copy_out(engine, 0, bytes.data(), ready.output.address, bytes.size()),
        wavejit_device_stream_create(engine, 0, &stream), wavejit_device_synchronise(engine, 0, nullptr)}) {
    ++number;
    if (!names_fork(status)) return number;
  }
  if (wavejit_prepare_async(engine, &other, 1, 16, 0, &future) != WAVEJIT_OK) return 20;
  if (!names_fork(wavejit_future_get(future, -1, &made))) return 21;
  wavejit_future_destroy(future);
  // One of the parent's: ready by the fork or never.
  const wavejit_status late = wavejit_future_get(pending, -1, &made);
  if (late != WAVEJIT_OK && !names_fork(late)) return 22;
  (void)wavejit_collect(engine);
  std::array<char, 4096> text{};
  (void)wavejit_counters(engine, text.data(), text.size());
  wavejit_future_destroy(pending);
  wavejit_plan_release(plan);
  wavejit_engine_destroy(engine);
  return 0;
}

/// Ends with the process, after main.
struct Owner {
  wavejit_engine* engine = nullptr;
  ~Owner() { wavejit_engine_destroy(engine); }
};

}  // namespace

TEST_CASE("In a forked child every entry of the parent's engine says so at once", "[capi][fork]") {
  wavejit_engine* engine = nullptr;
  REQUIRE(create("sim:gfx1151", &engine) == WAVEJIT_OK);
  wavejit_problem p = problem();
  wavejit_plan* plan = nullptr;
  REQUIRE(wavejit_prepare(engine, &p, 1, 16, 0, &plan) == WAVEJIT_OK);
  REQUIRE(computes(engine, plan));
  const wavejit_arguments ready = arguments(engine);
  wavejit_future* pending = nullptr;
  wavejit_problem large = problem(4096);
  REQUIRE(wavejit_prepare_async(engine, &large, 1, 64, 0, &pending) == WAVEJIT_OK);
  // Threads at work while it forks: locks are held and queues are full.
  REQUIRE(wavejit_plan_launch(plan, nullptr, &ready) == WAVEJIT_OK);
  CHECK(in_child([&] { return every_entry_refuses(engine, plan, ready, pending); }) == 0);
  CHECK(in_child([&] {
          wavejit_engine* own = nullptr;
          wavejit_plan* made = nullptr;
          if (create("sim:gfx1151", &own) != WAVEJIT_OK) return 1;
          if (wavejit_prepare(own, &p, 1, 16, 0, &made) != WAVEJIT_OK) return 2;
          if (!computes(own, made)) return 3;
          wavejit_plan_release(made);
          wavejit_engine_destroy(own);
          return 0;
        }) == 0);
  // The parent is as it was.
  CHECK(wavejit_device_synchronise(engine, 0, nullptr) == WAVEJIT_OK);
  wavejit_plan* late = nullptr;
  CHECK(wavejit_future_get(pending, -1, &late) == WAVEJIT_OK);
  CHECK(computes(engine, plan));
  wavejit_future_destroy(pending);
  wavejit_plan_release(late);
  wavejit_plan_release(plan);
  wavejit_engine_destroy(engine);
}

TEST_CASE("A forked child that exits runs its static destructors to the end", "[capi][fork]") {
  CHECK(in_child([] {
          static Owner owner;
          if (create("sim:gfx1151", &owner.engine) != WAVEJIT_OK) return 1;
          wavejit_problem p = problem();
          wavejit_future* future = nullptr;
          wavejit_plan* plan = nullptr;
          // Threads of both kinds, waiting.
          if (wavejit_prepare_async(owner.engine, &p, 1, 16, 0, &future) != WAVEJIT_OK) return 2;
          if (wavejit_future_get(future, -1, &plan) != WAVEJIT_OK || !computes(owner.engine, plan)) return 3;
          const pid_t pid = ::fork();
          if (pid == 0) {
            ::alarm(60);
            std::exit(0);
          }
          int status = 0;
          ::waitpid(pid, &status, 0);
          if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return 4;
          return computes(owner.engine, plan) ? 0 : 5;
        }) == 0);
}

TEST_CASE("After a fork a HIP device is refused by name, a new one too; the parent works on",
          "[capi][fork][hip]") {
  const wavejit::test::FakeDriver driver("6");
  REQUIRE(setenv("WAVEJIT_HIP_LIBRARY", driver.path().c_str(), 1) == 0);
  wavejit_engine* engine = nullptr;
  REQUIRE(create("hip", &engine) == WAVEJIT_OK);
  wavejit_problem p = problem();
  wavejit_plan* plan = nullptr;
  REQUIRE(wavejit_prepare(engine, &p, 1, 16, 0, &plan) == WAVEJIT_OK);
  REQUIRE(computes(engine, plan));
  const wavejit_arguments ready = arguments(engine);
  wavejit_future* pending = nullptr;
  REQUIRE(wavejit_prepare_async(engine, &p, 1, 32, 0, &pending) == WAVEJIT_OK);
  const long unloads = driver.calls("hipModuleUnload");
  CHECK(in_child([&] {
          wavejit_engine* second = nullptr;
          if (!names_fork(create("hip", &second)) || !names_fork(create("auto", &second))) return 30;
          const int result = every_entry_refuses(engine, plan, ready, pending);
          // Nothing of the driver is touched, not even to clean up.
          return driver.calls("hipModuleUnload") == unloads ? result : 31;
        }) == 0);
  CHECK(computes(engine, plan));
  wavejit_future_destroy(pending);
  wavejit_plan_release(plan);
  wavejit_engine_destroy(engine);
  unsetenv("WAVEJIT_HIP_LIBRARY");
}
