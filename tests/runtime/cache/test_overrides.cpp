// SPDX-License-Identifier: MIT
// Edited `.s` files: found by digest or kernel name, refused with the place, the layout or the finding.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "generator/lower/lower.hpp"
#include "runtime/cache/overrides.hpp"
#include "tests/runtime/cache/kernels.hpp"
#include "tests/runtime/cache/scratch.hpp"

using namespace wavejit;
using namespace wavejit::test;
using cache::Overrides;
using cache::OverrideText;

namespace {

namespace fs = std::filesystem;

void write_text(const fs::path& path, const std::string& text) {
  write_file(path, {text.begin(), text.end()});
}

/// `text` with the first `from` replaced; the test fails when there is none.
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// The error of loading `text` in the kernel's place, or "accepted".
std::string refusal(const SmallKernel& s, const std::string& text) {
  const auto loaded =
      cache::load_override({.path = "/o/f.s", .text = text}, *s.target, s.launch, s.kernel.name);
  return loaded ? "accepted" : loaded.error().message;
}

}  // namespace

TEST_CASE("an override is found by its key's digest, else by the kernel's name", "[cache]") {
  const Scratch scratch;
  const auto overrides = Overrides::open(scratch.path());
  REQUIRE(overrides);
  const cache::Key key = some_key();
  CHECK_FALSE(overrides->find(key.digest, "kernel_a")->has_value());
  write_text(scratch / "kernel_a.s", "by name");
  auto found = overrides->find(key.digest, "kernel_a");
  REQUIRE(found);
  REQUIRE(*found);
  CHECK((*found)->text == "by name");
  CHECK((*found)->path == scratch / "kernel_a.s");
  CHECK_FALSE(overrides->find(key.digest, "")->has_value());
  write_text(scratch / (cache::to_hex(key.digest) + ".s"), "by key");
  CHECK((*overrides->find(key.digest, "kernel_a"))->text == "by key");
  CHECK((*overrides->find(some_key(2).digest, "kernel_a"))->text == "by name");
  // A name that would lead out of the folder is no name.
  write_text(scratch.path().string() + "-outside.s", "secret");
  CHECK_FALSE(overrides->find(some_key(2).digest, "../" + scratch.path().filename().string() + "-outside")
                  ->has_value());
  fs::remove(scratch.path().string() + "-outside.s");
}

TEST_CASE("overrides that others could have written are refused", "[cache]") {
  const Scratch scratch;
  REQUIRE(::chmod(scratch.path().c_str(), 0777) == 0);
  CHECK_FALSE(Overrides::open(scratch.path()).has_value());
  REQUIRE(::chmod(scratch.path().c_str(), 0700) == 0);
  const auto overrides = Overrides::open(scratch.path());
  REQUIRE(overrides);
  write_text(scratch / "k.s", "text");
  REQUIRE(::chmod((scratch / "k.s").c_str(), 0666) == 0);
  const auto found = overrides->find(some_key().digest, "k");
  REQUIRE_FALSE(found);
  CHECK(found.error().message.find("k.s") != std::string::npos);
  fs::remove(scratch / "k.s");
  fs::create_symlink("/etc/hostname", scratch / "k.s");
  CHECK_FALSE(overrides->find(some_key().digest, "k").has_value());
  CHECK_FALSE(Overrides::open(scratch / "none").has_value());
}

TEST_CASE("the unedited text loads as the kernel that it is", "[cache]") {
  const SmallKernel s = small_kernel();
  const auto loaded =
      cache::load_override({.path = "k.s", .text = s.kernel.assembly}, *s.target, s.launch, s.kernel.name);
  REQUIRE(loaded);
  CHECK(loaded->record.code_object == s.kernel.code_object);
  CHECK(loaded->record.kernel == s.kernel.name);
  CHECK(cache::agrees(loaded->record, s.launch, *s.target).has_value());
  CHECK(loaded->warnings.empty());
  // An edit that changes nothing that matters.
  CHECK(refusal(s, replaced(s.kernel.assembly, "\ts_endpgm", "\ts_nop 0\n\ts_endpgm")) == "accepted");
}

TEST_CASE("what does not assemble is refused with the assembler's line and column", "[cache]") {
  const SmallKernel s = small_kernel();
  const std::string text = replaced(s.kernel.assembly, "\ts_endpgm", "\tv_frobnicate v0\n\ts_endpgm");
  const std::size_t line =
      static_cast<std::size_t>(std::ranges::count(text.substr(0, text.find("v_frobnicate")), '\n')) + 1;
  const std::string message = refusal(s, text);
  CHECK_THAT(message, Catch::StartsWith("/o/f.s:" + std::to_string(line) + ":2: "));
  CHECK_THAT(refusal(s, "no assembly at all"), Catch::StartsWith("/o/f.s:1:"));
  CHECK(refusal(s, "") != "accepted");
}

TEST_CASE("what does not fit the launch is refused by name", "[cache]") {
  const SmallKernel s = small_kernel();
  const std::string& good = s.kernel.assembly;
  CHECK_THAT(refusal(s, replaced(good, "    .kernarg_segment_size: 40", "    .kernarg_segment_size: 48")),
             Catch::StartsWith("/o/f.s: kernarg size is 48, but must be 40"));
  CHECK_THAT(refusal(s, replaced(good, ".amdhsa_kernarg_size 40", ".amdhsa_kernarg_size 48")),
             Catch::Contains("kernarg size of the descriptor"));
  CHECK_THAT(refusal(s, replaced(good, "      - .name: scales\n        .offset: 16",
                                 "      - .name: scales\n        .offset: 12")),
             Catch::Contains("argument 2"));
  CHECK_THAT(refusal(s, replaced(good, "      - .name: scales", "      - .name: scale")),
             Catch::Contains("argument 2"));
  CHECK_THAT(
      refusal(s, replaced(good, "    .max_flat_workgroup_size: 128", "    .max_flat_workgroup_size: 256")),
      Catch::Contains("workgroup size is 256, but must be 128"));
  CHECK_THAT(refusal(s, replaced(good, ".amdhsa_private_segment_fixed_size 0",
                                 ".amdhsa_private_segment_fixed_size 16")),
             Catch::Contains("scratch"));
  // Another kernel's text.
  CHECK_THAT(refusal(s, small_kernel(80).kernel.assembly), Catch::Contains("kernel name"));
  // Another target's text.
  SmallKernel other = s;
  other.target = target::find("gfx1100");
  CHECK(refusal(other, good) != "accepted");
}

TEST_CASE("what the static check finds is a refusal", "[cache]") {
  const SmallKernel s = small_kernel();
  std::string text = s.kernel.assembly;
  // Without any wait, loads are used before they have come.
  for (std::size_t at = 0; (at = text.find("\ts_waitcnt", at)) != std::string::npos; at += 3)
    text.replace(at, 1, ";");
  const std::string message = refusal(s, text);
  CHECK_THAT(message, Catch::StartsWith("/o/f.s: the static check refuses it:"));
  CHECK_THAT(message, Catch::Contains("read-in-flight"));
}
