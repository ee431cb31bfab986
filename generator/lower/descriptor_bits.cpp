// SPDX-License-Identifier: MIT
#include "generator/lower/descriptor_bits.hpp"

namespace wavejit::lower {
namespace {

using target::Generation;

constexpr std::uint32_t bit(unsigned i) { return 1U << i; }
constexpr std::uint32_t bits(unsigned high, unsigned low) { return (2U << high) - (1U << low); }

/// Priority, privilege, debug, bulky, user debug, reserved ones.
constexpr std::uint32_t rsrc1_zero = bits(11, 10) | bit(20) | bit(22) | bits(25, 24) | bits(28, 27);
constexpr std::uint32_t rsrc1_zero_gfx9 = bits(31, 29);
constexpr std::uint32_t rsrc1_zero_gfx11 = bits(9, 6);
constexpr std::uint32_t rsrc1_zero_gfx12 = bit(21) | bit(23);
/// Trap handler, exceptions that only the driver sets, LDS size (the dispatch packet has it).
constexpr std::uint32_t rsrc2_zero = bit(6) | bits(14, 13) | bits(23, 15) | bit(31);
constexpr std::uint32_t properties_zero = bits(9, 7) | bits(15, 12);
/// Private segment buffer and flat scratch: set up by hardware itself from gfx940 and gfx11 on.
constexpr std::uint32_t properties_scratch = bit(0) | bit(5);

std::uint32_t rsrc1_reserved(Generation g) {
  switch (g) {
    case Generation::gfx9:
      return rsrc1_zero | rsrc1_zero_gfx9;
    case Generation::gfx10:
      // The SGPR count is reserved here too, but compilers up to LLVM 15 filled it; nothing reads it.
      return rsrc1_zero;
    case Generation::gfx11:
      return rsrc1_zero | rsrc1_zero_gfx11;
    case Generation::gfx12:
      return rsrc1_zero | rsrc1_zero_gfx11 | rsrc1_zero_gfx12;
  }
  return rsrc1_zero;
}

/// RSRC3: accum offset and threadgroup split; shared VGPRs of wave64; instruction prefetch size.
std::uint32_t rsrc3_reserved(Generation g) {
  switch (g) {
    case Generation::gfx9:
      return ~(bits(5, 0) | bit(16));
    case Generation::gfx10:
      return ~bits(3, 0);
    case Generation::gfx11:
      return ~bits(9, 4);
    case Generation::gfx12:
      return ~bits(11, 4);
  }
  return 0;
}

}  // namespace

ReservedBits reserved_descriptor_bits(const target::Target& target) {
  const std::uint32_t properties =
      properties_zero | (target.architected_flat_scratch ? properties_scratch : 0);
  return {.rsrc1 = rsrc1_reserved(target.generation),
          .rsrc2 = rsrc2_zero,
          .rsrc3 = rsrc3_reserved(target.generation),
          .properties = static_cast<std::uint16_t>(properties)};
}

}  // namespace wavejit::lower
