// SPDX-License-Identifier: MIT
// Every code object of ../shared/peers/triton, for gfx1151, gfx942 and gfx950: understood to the last
// instruction, as many of them as Triton's own assembly text beside the object has.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/generator/lower/text_kernel.hpp"
#include "tests/skip.hpp"

namespace wavejit {
namespace {

namespace fs = std::filesystem;

/// Instructions of a listing: lines that start with a tab and neither a directive nor a comment. Their
/// mnemonics start with a letter; a VOPD line holds two.
std::size_t instructions_in(const fs::path& listing) {
  std::ifstream in(listing);
  std::size_t count = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("\t.amdgpu_metadata")) break;
    if (line.size() < 3 || line[0] != '\t' || line[1] < 'a' || line[1] > 'z') continue;
    count += line.find(" :: ") != std::string::npos ? 2 : 1;
  }
  return count;
}

/// Kernels that have arguments preloaded start with a branch for old firmware, padded to 256 bytes with
/// s_nop that the listing writes as `.p2align 8` (hardware.md §9.2).
std::size_t without_entry_padding(const lower::DecodedKernel& kernel) {
  const auto& code = kernel.instructions;
  if (kernel.descriptor.preload == 0) return code.size();
  std::size_t padding = 0;
  for (const lower::DecodedInstruction& d : code)
    if (d.address < code[0].address + 256 && d.inst.op == isa::Opcode::s_nop) ++padding;
  return code.size() - padding;
}

std::vector<std::uint8_t> read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST_CASE("peers' code objects are understood to the last instruction", "[lower][peers]") {
  unsigned files = 0;
  for (const auto& entry : fs::directory_iterator(test::shared("peers/triton"))) {
    if (entry.path().extension() != ".hsaco") continue;
    ++files;
    INFO(entry.path().filename().string());
    const auto object = lower::decode(read(entry.path()));
    INFO((object ? std::string() : object.error().message));
    REQUIRE(object);
    REQUIRE(object->kernels.size() == 1);
    fs::path listing = entry.path();
    listing.replace_extension(".amdgcn");
    CHECK(without_entry_padding(object->kernels[0]) == instructions_in(listing));
  }
  CHECK(files == 20);
}

}  // namespace
}  // namespace wavejit
