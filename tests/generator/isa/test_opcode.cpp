// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <set>

#include "generator/isa/opcode.hpp"

namespace wavejit {
namespace {

using isa::find_opcode;
using isa::Opcode;
using isa::spelling;
using target::Generation;

constexpr Generation generations[] = {Generation::gfx9, Generation::gfx10, Generation::gfx11,
                                      Generation::gfx12};

TEST_CASE("a signature lists destinations and sources", "[isa]") {
  const target::Target& wave32 = *target::find("gfx1151");
  const isa::Signature s = isa::signature(Opcode::v_add_co_ci_u32, wave32);
  REQUIRE(s.dst_count == 2);
  REQUIRE(s.src_count == 3);
  CHECK(s.dst[0].cls == 'v');
  CHECK(s.dst[1].cls == 'M');
  CHECK(s.dst[1].width == 1);
  CHECK(s.src[2].cls == 'M');
  CHECK(s.src[2].width == 1);
  target::Target wave64 = wave32;
  wave64.wave_size = 64;
  CHECK(isa::signature(Opcode::v_add_co_ci_u32, wave64).src[2].width == 2);
  CHECK(isa::signature(Opcode::s_load_b512, wave32).dst[0].width == 16);
  CHECK(isa::signature(Opcode::s_endpgm, wave32).src_count == 0);
}

TEST_CASE("every signature is well formed", "[isa]") {
  const target::Target& target = *target::find("gfx1151");
  const std::string letters = "vxsSMaAiLkn";
  for (unsigned i = 1; i < static_cast<unsigned>(Opcode::count_); ++i) {
    const auto op = static_cast<Opcode>(i);
    INFO(isa::info(op).name);
    const isa::Signature s = isa::signature(op, target);
    for (unsigned n = 0; n < s.dst_count; ++n) CHECK(letters.find(s.dst[n].cls) != std::string::npos);
    for (unsigned n = 0; n < s.src_count; ++n) CHECK(letters.find(s.src[n].cls) != std::string::npos);
  }
}

TEST_CASE("each generation's spelling finds its opcode again, and no two share one", "[isa]") {
  for (const Generation g : generations) {
    std::set<std::string_view> seen;
    for (unsigned i = 1; i < static_cast<unsigned>(Opcode::count_); ++i) {
      const auto op = static_cast<Opcode>(i);
      const std::string_view name = spelling(op, g);
      if (name.empty()) {
        CHECK_FALSE(find_opcode(isa::info(op).name, g) == op);
        continue;
      }
      INFO(name);
      CHECK(find_opcode(name, g) == op);
      CHECK(seen.insert(name).second);
    }
  }
}

TEST_CASE("spellings of other generations", "[isa]") {
  // Names as in the CDNA3 and RDNA4 ISA documents.
  CHECK(find_opcode("buffer_load_dwordx4", Generation::gfx9) == Opcode::buffer_load_b128);
  CHECK(find_opcode("ds_read_b128", Generation::gfx9) == Opcode::ds_load_b128);
  CHECK(find_opcode("s_load_dwordx2", Generation::gfx9) == Opcode::s_load_b64);
  CHECK(find_opcode("v_add_u32", Generation::gfx9) == Opcode::v_add_nc_u32);
  CHECK(find_opcode("s_andn2_b32", Generation::gfx9) == Opcode::s_and_not1_b32);
  CHECK(find_opcode("s_ff1_i32_b32", Generation::gfx9) == Opcode::s_ctz_i32_b32);
  CHECK(find_opcode("s_add_co_u32", Generation::gfx12) == Opcode::s_add_u32);
  CHECK(find_opcode("v_max_num_f32", Generation::gfx12) == Opcode::v_max_f32);
  CHECK_FALSE(find_opcode("buffer_load_dwordx4", Generation::gfx11));
  CHECK_FALSE(find_opcode("s_delay_alu", Generation::gfx9));
  CHECK(spelling(Opcode::s_barrier, Generation::gfx12).empty());
  CHECK_FALSE(find_opcode("", Generation::gfx11));
}

}  // namespace
}  // namespace wavejit
