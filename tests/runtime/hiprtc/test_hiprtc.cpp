// SPDX-License-Identifier: MIT
// hiprtc as a library: targets are asked for first, and no refusal ends the process.
#include <algorithm>
#include <catch2/catch.hpp>

#include "runtime/device/common/code_object_target.hpp"
#include "runtime/device/common/kernel_facts.hpp"
#include "templates/hip/sources.hpp"
#include "tests/runtime/hiprtc/compiled.hpp"

using namespace wavejit;
using namespace wavejit::test;

namespace {

constexpr std::string_view tiny = "extern \"C\" __global__ void k(int* o) { o[threadIdx.x] = 1; }";

bool mentions(const Error& error, std::string_view text) {
  return error.message.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("A missing hiprtc is an error with the loader's words", "[hiprtc]") {
  const hiprtc::Options options{.library = "/nowhere/libhiprtc.so.6", .definitions = {}, .flags = {}};
  for (const auto& error : {hiprtc::compile(tiny, "t.hip", "gfx90a", {}, options).error(),
                            hiprtc::known_targets(options).error()}) {
    CHECK(error.code == ErrorCode::hiprtc);
    CHECK(mentions(error, "/nowhere/libhiprtc.so.6"));
  }
}

TEST_CASE("A library that is no hiprtc is refused by what it lacks", "[hiprtc]") {
  const hiprtc::Options options{.library = "libm.so.6", .definitions = {}, .flags = {}};
  const auto error = hiprtc::known_targets(options).error();
  CHECK(error.code == ErrorCode::hiprtc);
  CHECK(mentions(error, "hiprtcCreateProgram"));
}

TEST_CASE("A target or feature that comgr does not know never reaches hiprtc", "[hiprtc]") {
  need_hiprtc();
  const auto known = *hiprtc::known_targets();
  CHECK(std::ranges::find(known, "gfx90a") != known.end());
  CHECK(std::ranges::find(known, "gfx1030") != known.end());
  // Debian's 5.2.3 ends the process for each of these when it is asked directly.
  for (const char* target : {"gfx9999", "gfx1030:xnack+", "gfx1030:sramecc+", "gfx90a:foo+", "gfx90a:", "gfx",
                             "", "gfx90a --version", "sm_80"}) {
    CAPTURE(target);
    const auto refused = hiprtc::compile(tiny, "t.hip", target);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::hiprtc);
    CHECK(mentions(refused.error(), "gfx90a, "));
  }
  if (std::ranges::find(known, "gfx1151") == known.end())
    CHECK(hiprtc::compile(tiny, "t.hip", "gfx1151").error().code == ErrorCode::hiprtc);
}

TEST_CASE("Source that does not compile gives the compiler's log", "[hiprtc]") {
  need_hiprtc();
  const auto refused = hiprtc::compile("__global__ void k() { undeclared = 1; }", "mine.hip", "gfx90a");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::hiprtc);
  CHECK(mentions(refused.error(), "mine.hip"));
  CHECK(mentions(refused.error(), "undeclared"));
  CHECK(hiprtc::compile(tiny, "t.hip", "gfx90a"));  // and the next is not harmed
}

TEST_CASE("Features of the target id are those of the code object", "[hiprtc]") {
  need_hiprtc();
  for (const char* target : {"gfx90a", "gfx90a:sramecc+:xnack-", "gfx1030"}) {
    CAPTURE(target);
    const auto object = hiprtc::compile(tiny, "t.hip", target);
    REQUIRE(object);
    CHECK(device::read_target(object->bytes)->id() == target);
  }
}

TEST_CASE("Every source compiles in all its forms, with the arguments that it documents", "[hiprtc]") {
  need_hiprtc();
  struct Form {
    const char *file, *kernel;
    std::vector<std::string> definitions;
    unsigned explicit_bytes;  ///< "end" in the file's table
  };
  std::vector<Form> forms;
  for (const char* bf16 : {"WAVEJIT_BF16=1", "WAVEJIT_BF16=0"}) {
    for (const char* zero : {"WAVEJIT_ZERO_POINTS=1", "WAVEJIT_ZERO_POINTS=0"})
      for (const char* partial : {"WAVEJIT_PARTIAL=1", "WAVEJIT_PARTIAL=0"})
        forms.push_back({"w4a16_gemm.hip", "wavejit_w4a16_gemm", {bf16, zero, partial}, 120});
    forms.push_back({"splitk_reduce.hip", "wavejit_splitk_reduce", {bf16}, 36});
  }
  for (const char* from : {"0", "1", "2", "3"})
    forms.push_back(
        {"repack_weights.hip", "wavejit_repack_weights", {std::string("WAVEJIT_FROM=") + from}, 40});
  const char* last_file = "";
  for (const Form& form : forms) {
    // Every form for one target, the first of each file for the other.
    std::vector<const char*> targets{"gfx90a"};
    if (std::string_view(form.file) != last_file) targets.push_back("gfx1030");
    last_file = form.file;
    for (const char* target : targets) {
      CAPTURE(form.file, form.definitions, target);
      const auto object = compile_source(form.file, target, form.definitions);
      CHECK(device::read_target(object)->processor == target);
      const auto facts = device::read_kernel(object, form.kernel);
      REQUIRE(facts);
      CHECK(facts->explicit_bytes == form.explicit_bytes);
      CHECK(facts->max_workgroup == 256);
      CHECK(facts->lds_bytes == 0);
    }
  }
}
