// SPDX-License-Identifier: MIT
// Wait states: pairs of instructions of one wave between which software must put other instructions
// or s_nop, because hardware does not interlock them. gfx9 (CDNA) has many; RDNA has none of this
// form. A wait state is one issue slot: s_nop N is N + 1 of them.
#pragma once

#include <cstdint>
#include <span>

#include "generator/target/target.hpp"

namespace wavejit::target {

/// What the first instruction did to a register.
enum class Producer : std::uint8_t {
  valu_write,                ///< a VALU instruction wrote it (VGPR, SGPR, VCC or EXEC)
  trans_write,               ///< a transcendental instruction wrote it
  shifted_write,             ///< a VALU instruction wrote its upper half (OPSEL)
  dot_write,                 ///< v_dot* wrote it
  wide_store_read,           ///< a vector store of more than 64 bits a lane, soffset not in an SGPR, reads it
  scalar_offset_store_read,  ///< … soffset in an SGPR
  salu_write,                ///< a SALU instruction wrote it
  mode_write,                ///< s_setreg wrote a hardware register
  matrix4_write,             ///< D of an MFMA of 4 passes (16x16)
  matrix8_write,             ///< D of an MFMA of 8 passes (32x32)
  matrix4_c_read,            ///< C of an MFMA of 4 passes
  matrix8_c_read,            ///< C of an MFMA of 8 passes
};
inline constexpr unsigned producer_count = 12;

/// What the second instruction does with the same register.
enum class Consumer : std::uint8_t {
  valu_scalar_source,  ///< VALU reads an SGPR or VCC: data, mask or carry
  vmem_scalar_source,  ///< vector memory reads an SGPR: descriptor, base, offset
  lane_select,         ///< lane number of v_readlane, v_writelane
  readlane_source,     ///< VGPR read by v_readlane, v_readfirstlane
  dpp_source,          ///< VGPR read through DPP
  dpp_exec,            ///< EXEC of a DPP instruction
  cross_lane_exec,     ///< EXEC of v_readlane, v_readfirstlane, v_writelane
  exec_data,           ///< VALU reads EXEC as a source
  condition_flag,      ///< VALU reads vccz or execz as a source
  valu_source,         ///< VALU reads a VGPR
  plain_valu_source,   ///< … and is not transcendental
  dot_other,           ///< any touch but by the same v_dot* as its third source
  valu_overwrite,      ///< VALU writes a VGPR
  other_overwrite,     ///< anything else writes a VGPR
  m0_user,             ///< s_sendmsg, loads to LDS
  mode_access,         ///< s_getreg, s_setreg
  matrix_source,       ///< MFMA reads it as A, B or C
  matrix_result_use,   ///< anything touches it, but for the C and D of an MFMA
  matrix_other_sum,    ///< C or D of an MFMA, other than exactly the registers of the earlier D
  matrix_c_overwrite,  ///< anything but an MFMA writes it
};

struct WaitStates {
  Producer first;
  Consumer second;
  std::uint8_t slots;
};

/// The table of `target`; empty where hardware interlocks everything.
std::span<const WaitStates> wait_states(const Target& target);

}  // namespace wavejit::target
