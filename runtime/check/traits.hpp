// SPDX-License-Identifier: MIT
// What the checker knows about an opcode beyond its row of opcodes.def: told from its pipe, flags and
// name, once per process. Names are looked at so that the vocabulary may grow without this file.
#pragma once

#include <cstdint>

#include "generator/isa/instruction.hpp"

namespace wavejit::check {

/// Properties of an issued instruction, a bit set.
namespace trait {
using Bits = std::uint64_t;
constexpr Bits bit(unsigned i) { return Bits{1} << i; }
inline constexpr Bits valu = bit(0);  ///< runs on the vector ALU: also trans, dot and matrix
inline constexpr Bits trans = bit(1);
inline constexpr Bits dot = bit(2);
inline constexpr Bits wmma = bit(3);
inline constexpr Bits mfma = bit(4);
inline constexpr Bits salu = bit(5);
inline constexpr Bits smem = bit(6);
inline constexpr Bits vmem = bit(7);
inline constexpr Bits lds = bit(8);
inline constexpr Bits generic = bit(9);  ///< flat_*: global memory or LDS, only the address says
inline constexpr Bits load = bit(10);
inline constexpr Bits store = bit(11);
inline constexpr Bits atomic = bit(12);
inline constexpr Bits to_lds = bit(13);   ///< vector load that writes LDS
inline constexpr Bits barrier = bit(14);  ///< arrival: s_barrier, s_barrier_signal
inline constexpr Bits branch = bit(15);
inline constexpr Bits conditional = bit(16);
inline constexpr Bits end = bit(17);       ///< s_endpgm
inline constexpr Bits indirect = bit(18);  ///< jumps where no label says
inline constexpr Bits past_end = bit(19);  ///< s_code_end: never meant to be executed
inline constexpr Bits nop = bit(20);       ///< s_nop
inline constexpr Bits v_nop = bit(21);
inline constexpr Bits cmpx = bit(22);
inline constexpr Bits permlane = bit(23);       ///< v_permlane16, v_permlanex16
inline constexpr Bits permlane_swap = bit(24);  ///< v_permlane16_swap, v_permlane32_swap
inline constexpr Bits lane_read = bit(25);      ///< v_readlane, v_readfirstlane
inline constexpr Bits lane_select = bit(26);    ///< v_readlane, v_writelane: an SGPR picks the lane
inline constexpr Bits writelane = bit(27);
inline constexpr Bits setreg = bit(28);
inline constexpr Bits getreg = bit(29);
inline constexpr Bits sendmsg = bit(30);
inline constexpr Bits clause = bit(31);
inline constexpr Bits dpp = bit(32);          ///< of the instance
inline constexpr Bits high_half = bit(33);    ///< of the instance: op_sel or SDWA moved the result
inline constexpr Bits wide_store = bit(34);   ///< of the instance: see the store hazard of gfx9
inline constexpr Bits accumulates = bit(35);  ///< tied destination whose old value is data
inline constexpr Bits swaps = bit(36);        ///< first source is written too
inline constexpr Bits div_fmas = bit(37);
inline constexpr Bits wait = bit(38);
inline constexpr Bits dual = bit(39);                 ///< of the instance: VOPD pair
inline constexpr Bits dealloc_message = bit(40);      ///< of the instance
inline constexpr Bits f32_matrix = bit(41);           ///< MFMA of f32 inputs: other wait states
inline constexpr Bits writes_half = bit(42);          ///< 16-bit result, the other half kept
inline constexpr Bits scratch = bit(43);              ///< scratch_*
inline constexpr Bits scalar_offset_store = bit(44);  ///< of the instance: wide, but soffset is an SGPR
inline constexpr Bits buffer_to_lds = bit(45);        ///< of the instance: to_lds, through a descriptor
}  // namespace trait

struct OpTraits {
  trait::Bits bits = 0;
  std::uint8_t passes = 0;  ///< MFMA: quad-clocks of the matrix pipe (2, 4, 8, 16)
};

/// Of the opcode alone; `invalid` and out-of-range opcodes have none.
const OpTraits& traits(isa::Opcode op);

/// Quad-clocks of an MFMA; those of A and B in formats of their own take half the time without 8-bit ones.
std::uint8_t passes(const isa::Instruction& inst);

/// What a wait instruction lets through: at most so many operations outstanding per counter.
struct WaitLimits {
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  std::uint32_t vector_load = none, vector_store = none, lds = none, scalar = none;
  bool valu_results = false;  ///< all VALU results written (va_vdst 0)
  bool valu_scalar = false;   ///< … to SGPRs (va_sdst 0)
  bool valu_vcc = false;      ///< … to VCC (va_vcc 0)
  bool salu_results = false;  ///< all SALU results written (sa_sdst 0)
};
WaitLimits wait_limits(const isa::Instruction& inst, const target::Target& target);

}  // namespace wavejit::check
