// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "generator/isa/instruction.hpp"

namespace wavejit {
namespace {

using isa::decode_waitcnt;
using isa::encode_waitcnt;
using isa::WaitCounts;

target::Target gfx9() {
  target::Target t = *target::find("gfx1151");
  t.generation = target::Generation::gfx9;
  return t;
}

TEST_CASE("s_waitcnt encodes as documented", "[isa]") {
  // hardware.md §4.1, read off LLVM 22.
  const target::Target& gfx11 = *target::find("gfx1151");
  CHECK(encode_waitcnt({.vmcnt = 3}, gfx11) == 0x0FF7);
  CHECK(encode_waitcnt({.vmcnt = 3}, gfx9()) == 0x0F73);
  CHECK(encode_waitcnt({}, gfx9()) == 0xCF7F);
  CHECK(encode_waitcnt({.vmcnt = 0, .expcnt = 0, .lgkmcnt = 0}, gfx11) == 0);
}

TEST_CASE("every count comes back, and the greatest means no wait", "[isa]") {
  const bool old = GENERATE(true, false);
  const target::Target t = old ? gfx9() : *target::find("gfx1151");
  const unsigned lgkm_max = t.generation == target::Generation::gfx9 ? 15 : 63;
  for (unsigned vm = 0; vm <= 64; ++vm) {
    for (unsigned lgkm = 0; lgkm <= lgkm_max + 1; ++lgkm) {
      for (unsigned exp = 0; exp <= 8; ++exp) {
        const WaitCounts in{static_cast<std::uint8_t>(vm), static_cast<std::uint8_t>(exp),
                            static_cast<std::uint8_t>(lgkm)};
        const WaitCounts out = decode_waitcnt(encode_waitcnt(in, t), t);
        REQUIRE(out.vmcnt == (vm < 63 ? vm : WaitCounts::unlimited));
        REQUIRE(out.expcnt == (exp < 7 ? exp : WaitCounts::unlimited));
        REQUIRE(out.lgkmcnt == (lgkm < lgkm_max ? lgkm : WaitCounts::unlimited));
      }
    }
  }
}

}  // namespace
}  // namespace wavejit
