// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <thread>

#include "tests/generator/lower/text_kernel.hpp"

namespace wavejit {
namespace {

std::string error_of(const std::string& text) {
  const auto object = lower::assemble(text, test::table("gfx1151"));
  REQUIRE_FALSE(object);
  CHECK(object.error().code == ErrorCode::assembler);
  return object.error().message;
}

TEST_CASE("a mistake is reported with its line and column", "[lower]") {
  // Column 12 is where the operand that the instruction cannot take starts; LLVM points at it.
  CHECK(error_of("s_nop 0\nv_mov_b32 v0, v1\ns_mov_b32 v0, s1\n").starts_with("3:11: "));
  CHECK(error_of("v_mov_b32 v0, v1\n  v_no_such_thing v0\n").starts_with("2:3: "));
  CHECK(error_of("s_branch .Lnowhere\n").find(".Lnowhere") != std::string::npos);
}

TEST_CASE("every mistake of a file is reported, one a line", "[lower]") {
  const std::string message = error_of("v_bad v0\ns_nop 0\ns_bad s0\n");
  CHECK(message.starts_with("1:1: "));
  CHECK(message.find("\n3:1: ") != std::string::npos);
}

TEST_CASE("metadata that is no YAML is refused at its line, and nothing is printed", "[lower]") {
  // LLVM reads metadata where it would write the complaint to this process's stderr.
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::fflush(stderr);
  const int kept = ::dup(2);
  ::dup2(::fileno(file), 2);
  const std::string message =
      error_of("\ts_endpgm\n\t.amdgpu_metadata\n---\na: 1\n\tb: 2\n...\n\t.end_amdgpu_metadata\n");
  std::fflush(stderr);
  ::dup2(kept, 2);
  ::close(kept);
  CHECK(message.starts_with("5:1: "));
  CHECK(message.find("tab") != std::string::npos);
  CHECK(::lseek(::fileno(file), 0, SEEK_END) == 0);
  std::fclose(file);
}

TEST_CASE("a comment that names the metadata's directive is a comment", "[lower]") {
  const target::Target& target = test::table("gfx1151");
  const std::string text = test::kernel_text("k", "\ts_endpgm ; before .amdgpu_metadata: no [YAML\n", target);
  CHECK(lower::assemble(text, target));
  CHECK(lower::assemble(text + "\t.amdgpu_metadata\n---\namdhsa.version:\n  - 1\n  - 2\namdhsa.kernels: "
                               "[]\n...\n\t.end_amdgpu_metadata\n",
                        target));
}

TEST_CASE("an instruction of another GPU is refused", "[lower]") {
  CHECK(error_of("ds_read_b128 v[0:3], v4 gds offset0:1\n").starts_with("1:"));
  CHECK(error_of("v_mfma_f32_32x32x8_bf16_1k a[0:15], v[0:1], v[2:3], a[0:15]\n").starts_with("1:1: "));
}

TEST_CASE("the same text gives the same bytes, also from many threads", "[lower]") {
  const target::Target& target = test::table("gfx1151");
  std::string body;
  for (int i = 0; i < 200; ++i) body += "\tv_add_f32 v1, v2, v" + std::to_string(i) + "\n";
  const std::string text = test::kernel_text("k", body + "\ts_endpgm\n", target);
  const auto expected = lower::assemble(text, target);
  REQUIRE(expected);
  std::vector<Result<std::vector<std::uint8_t>>> results(8);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) result = lower::assemble(text, target);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) {
    REQUIRE(result);
    CHECK(*result == *expected);
  }
}

TEST_CASE("a GPU that LLVM does not know is an error", "[lower]") {
  const auto object = lower::assemble("s_nop 0\n", test::any_table("gfx9999"));
  REQUIRE_FALSE(object);
  CHECK(object.error().code == ErrorCode::unknown_target);
}

}  // namespace
}  // namespace wavejit
