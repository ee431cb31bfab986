// SPDX-License-Identifier: MIT
// Bits of a kernel descriptor that nothing may set, field by field from LLVM 22's AMDGPUUsage, "Kernel
// Descriptor" (tables compute_pgm_rsrc1 to 3 and kernel code properties): those that are reserved on the
// target or that the command processor or the driver sets.
#include <catch2/catch.hpp>
#include <vector>

#include "generator/lower/descriptor_bits.hpp"

namespace wavejit::lower {
namespace {

using Range = std::pair<unsigned, unsigned>;  // last and first bit

std::uint32_t mask(const std::vector<Range>& ranges) {
  std::uint32_t all = 0;
  for (const auto& [last, first] : ranges)
    for (unsigned i = first; i <= last; ++i) all |= std::uint32_t{1} << i;
  return all;
}

}  // namespace

TEST_CASE("reserved bits of descriptors, by generation", "[lower][descriptor]") {
  struct Row {
    const char* target;
    std::vector<Range> rsrc1, rsrc3, properties;
  };
  // PRIORITY, PRIV, DEBUG_MODE, BULKY and CDBG_USER, reserved.
  const std::vector<Range> common{{11, 10}, {20, 20}, {22, 22}, {25, 24}, {28, 27}};
  const auto and_also = [&](std::vector<Range> more) {
    more.insert(more.end(), common.begin(), common.end());
    return more;
  };
  const std::vector<Range> properties{{9, 7}, {15, 12}};
  // Private segment buffer and flat scratch init, where flat scratch is architected.
  const std::vector<Range> architected{{9, 7}, {15, 12}, {0, 0}, {5, 5}};
  const Row rows[] = {
      {"gfx90a", and_also({{31, 29}}), {{15, 6}, {31, 17}}, properties},
      {"gfx942", and_also({{31, 29}}), {{15, 6}, {31, 17}}, architected},
      {"gfx1030", common, {{31, 4}}, properties},
      {"gfx1151", and_also({{9, 6}}), {{31, 10}, {3, 0}}, architected},
      {"gfx1201", and_also({{9, 6}, {21, 21}, {23, 23}}), {{31, 12}, {3, 0}}, architected},
  };
  for (const Row& row : rows) {
    CAPTURE(row.target);
    const target::Target* target = target::find_simulated(row.target);
    REQUIRE(target != nullptr);
    const ReservedBits bits = reserved_descriptor_bits(*target);
    CHECK(bits.rsrc1 == mask(row.rsrc1));
    // Trap handler, address watch and memory violation, LDS size, the last bit.
    CHECK(bits.rsrc2 == mask({{6, 6}, {14, 13}, {23, 15}, {31, 31}}));
    CHECK(bits.rsrc3 == mask(row.rsrc3));
    CHECK(bits.properties == mask(row.properties));
  }
}

}  // namespace wavejit::lower
