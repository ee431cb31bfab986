// SPDX-License-Identifier: MIT
// Code objects that other compilers made: Triton's for gfx1151, gfx942 and gfx950 (shared/peers). They come
// from LLVM, run on hardware, and so must be clean, but for what is said below.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/runtime/check/check_kernel.hpp"
#include "tests/skip.hpp"

using namespace wavejit;
using check::Kind;

namespace {

lower::CodeObject load(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(stream), {}};
  auto object = lower::decode(bytes);
  INFO(file << (object ? std::string() : object.error().message));
  REQUIRE(object);
  return *object;
}

/// Objects of Triton's pipeliner: the loop stores the next tile to LDS, waits for vmcnt(0) only, passes the
/// barrier and loads that tile. Nothing that the ISA promises orders another wave's load behind the store
/// (LLVM's memory model has lgkmcnt(0) there); the simulator calls the same three faulty.
bool leaves_stores_at_barrier(const std::string& name) {
  return name.starts_with("A01") || name.starts_with("A08") || name.starts_with("A18");
}

}  // namespace

TEST_CASE("Triton's kernels have no error but the known one", "[check][peers]") {
  unsigned seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::shared("peers/triton"))) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".hsaco") continue;
    ++seen;
    INFO(name);
    for (const check::Report& report : check::check(load(entry.path()))) {
      INFO(to_string(report));
      std::size_t at_barrier = 0;
      for (const check::Finding& f : report.findings)
        at_barrier += f.kind == Kind::lds_store_at_barrier ? 1 : 0;
      CHECK(at_barrier == (leaves_stores_at_barrier(name) ? 1 : 0));
      CHECK(report.count(check::Severity::error) == at_barrier);
    }
  }
  CHECK(seen >= 20);
}
