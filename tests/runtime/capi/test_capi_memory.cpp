// SPDX-License-Identifier: MIT
// A host whose memory ends somewhere in the middle of a call, or of a thread of ours: an error, and the
// process lives.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>

#include "runtime/capi/wavejit.h"
#include "tests/skip.hpp"

namespace {

/// Address space in use, bytes.
std::size_t in_use() {
  unsigned long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr || std::fscanf(file, "%lu", &pages) != 1) pages = 0;
  if (file != nullptr) std::fclose(file);
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

bool expected(wavejit_status status) { return status == WAVEJIT_OK || status == WAVEJIT_OUT_OF_MEMORY; }

/// The child: 0 = every call was right or out of memory; another number = which was neither.
int use(std::size_t room) {
  const rlimit limit{in_use() + room, in_use() + room};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) return 1;
  wavejit_engine_options options = WAVEJIT_ENGINE_OPTIONS_INIT;
  options.devices = "sim:gfx1151";
  options.cache_folder = "";
  options.ignore_environment = 1;
  options.threads = 1;
  wavejit_engine* engine = nullptr;
  if (!expected(wavejit_engine_create(&options, &engine))) return 2;
  if (engine == nullptr) return 0;
  wavejit_problem problem = WAVEJIT_PROBLEM_INIT;
  problem.n = 64;
  problem.k = 128;
  problem.group = 32;
  wavejit_plan* plan = nullptr;
  wavejit_future* future = nullptr;
  if (!expected(wavejit_prepare_async(engine, &problem, 1, 64, 0, &future))) return 3;
  if (future != nullptr && !expected(wavejit_future_get(future, -1, &plan))) return 4;
  wavejit_plan* other = nullptr;
  problem.n = 80;
  if (!expected(wavejit_prepare(engine, &problem, 1, 64, 0, &other))) return 5;
  char text[4096];
  wavejit_counters(engine, text, sizeof text);
  if (plan != nullptr) wavejit_plan_describe(plan, text, sizeof text);
  void* stream = nullptr;
  if (!expected(wavejit_device_stream_create(engine, 0, &stream))) return 6;
  if (stream != nullptr && !expected(wavejit_device_stream_destroy(engine, 0, stream))) return 7;
  wavejit_collect(engine);
  wavejit_plan_release(plan);
  wavejit_plan_release(other);
  wavejit_future_destroy(future);
  wavejit_engine_destroy(engine);
  return 0;
}

}  // namespace

TEST_CASE("Where memory ends a call says so and the process lives", "[capi]") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  wavejit::test::skip("a sanitizer's own memory is what ends first");
#endif
  for (std::size_t room = 0; room < (64 << 20); room += room < (16 << 20) ? 640 << 10 : 4 << 20) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(use(room));
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    INFO("with " << room << " bytes: signal " << (WIFSIGNALED(status) ? WTERMSIG(status) : 0) << ", code "
                 << (WIFEXITED(status) ? WEXITSTATUS(status) : -1));
    CHECK(status == 0);
  }
}
