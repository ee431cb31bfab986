// SPDX-License-Identifier: MIT
// The instruction vocabulary: one enumerator per instruction under its gfx11 name; other
// generations' spellings of the same instruction are aliases. The table is opcodes.def.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "generator/target/target.hpp"

namespace wavejit::isa {

enum class Opcode : std::uint16_t {
  invalid = 0,
#define WJ_OP(name, pipe, sig, flags) name,
#include "generator/isa/opcodes.def"
#undef WJ_OP
  count_
};

/// The unit that executes an instruction; also its class in instruction mixes.
enum class Pipe : std::uint8_t {
  salu,
  smem,
  valu,
  trans,   ///< transcendental VALU
  dot,     ///< v_dot*: VALU, counted apart where it is the real work
  matrix,  ///< WMMA, MFMA
  lds,
  vmem,    ///< buffer, global and flat
  branch,  ///< branches and s_endpgm
  barrier,
  wait,     ///< s_waitcnt and the split-counter waits
  hint,     ///< s_delay_alu, s_clause, s_nop, s_setprio, s_code_end…: no effect on values
  message,  ///< s_sendmsg
  cache,    ///< invalidations and write-backs
};

/// Properties of an opcode, as a bit set.
namespace flag {
using Bits = std::uint32_t;
inline constexpr Bits none = 0;
inline constexpr Bits scc_w = 1U << 0;   ///< writes SCC
inline constexpr Bits scc_r = 1U << 1;   ///< reads SCC
inline constexpr Bits exec_w = 1U << 2;  ///< writes EXEC (v_cmpx, s_*_saveexec)
inline constexpr Bits vcc_r = 1U << 3;   ///< reads VCC without naming it
inline constexpr Bits vcc_w = 1U << 4;   ///< writes VCC without naming it
inline constexpr Bits m0_r = 1U << 5;    ///< reads M0
inline constexpr Bits tied = 1U << 6;    ///< the destination is also read (fmac, dot2acc, writelane)
inline constexpr Bits load = 1U << 7;    ///< reads memory or LDS into registers
inline constexpr Bits store = 1U << 8;   ///< writes memory or LDS
inline constexpr Bits atomic = 1U << 9;
inline constexpr Bits commutes = 1U << 10;  ///< first two sources may be exchanged
inline constexpr Bits vop3p = 1U << 11;     ///< packed: op_sel_hi defaults to ones
inline constexpr Bits buffer = 1U << 12;    ///< vector memory through a descriptor
inline constexpr Bits flat = 1U << 13;      ///< global_* and flat_*
inline constexpr Bits d16 = 1U << 14;       ///< 16-bit load into one half, the other half kept
inline constexpr Bits d16_hi = 1U << 15;    ///< … into the high half
inline constexpr Bits terminator = 1U << 16;
inline constexpr Bits conditional = 1U << 17;  ///< a branch that may fall through
inline constexpr Bits no_exec = 1U << 18;      ///< VALU op that ignores EXEC (readfirstlane…)
inline constexpr Bits cross_lane = 1U << 19;   ///< result of a lane depends on other lanes
inline constexpr Bits to_lds = 1U << 20;       ///< vector memory load that writes LDS
inline constexpr Bits exec_r = 1U << 21;       ///< scalar op that reads EXEC without naming it (saveexec)
inline constexpr Bits side_effect = 1U << 22;  ///< never removed or moved across others of its kind
}  // namespace flag

struct OpcodeInfo {
  std::string_view name;  ///< canonical mnemonic, no _e32/_e64 suffix
  Pipe pipe;
  std::string_view signature;  ///< see opcodes.def
  flag::Bits flags;

  [[nodiscard]] bool has(flag::Bits f) const { return (flags & f) != 0; }
};

const OpcodeInfo& info(Opcode op);

/// One operand slot of a signature.
struct OperandSpec {
  char cls;            ///< v x s S M a A i L, see opcodes.def
  std::uint8_t width;  ///< dwords; 0 = any (the disassembly says)
};

struct Signature {
  std::uint8_t dst_count = 0;
  std::uint8_t src_count = 0;
  OperandSpec dst[2]{};
  OperandSpec src[6]{};
};

/// Parsed signature, with the wave's mask width put in for M.
Signature signature(Opcode op, const target::Target& target);

/// Opcode of a mnemonic as `generation` spells it, without _e32/_e64/_dpp/_sdwa suffix.
std::optional<Opcode> find_opcode(std::string_view mnemonic, target::Generation generation);

/// How `generation` spells `op`; empty when it does not have it under any name we know.
std::string_view spelling(Opcode op, target::Generation generation);

}  // namespace wavejit::isa
