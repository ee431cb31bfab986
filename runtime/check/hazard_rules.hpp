// SPDX-License-Identifier: MIT
// The hazard table: pairs of instructions that a target wants kept apart. It is the checker's own
// reading of hardware.md §2.3, §2.5, §5.1 and §5.3 (LLVM 22's and ACO's behaviour, the CDNA3 ISA's
// tables) and shares nothing with the table that the hazard pass works from. A row without a source is in
// the manual (CDNA3: tables 11 and 37; CDNA4: the same with table 38's numbers).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "generator/target/target.hpp"
#include "runtime/check/checker.hpp"
#include "runtime/check/program.hpp"

namespace wavejit::check {

/// What counts as distance between the two.
enum class Clock : std::uint8_t {
  slots,      ///< every instruction of the wave; s_nop N counts N + 1
  valu,       ///< VALU instructions, v_nop among them
  real_valu,  ///< VALU instructions but v_nop, which the sequencer drops
  trans_gap,  ///< six VALU or two transcendental instructions, whichever comes first
};

/// How the first's registers must meet the second's for the rule to apply.
enum class Meeting : std::uint8_t {
  overlap,
  same,       ///< exactly the same tuple
  different,  ///< overlapping, but not the same tuple
  always,     ///< the instructions alone matter (EXEC, M0, mode)
};

/// One side: which steps, and which of their registers.
struct Side {
  trait::Bits any = 0;   ///< the step has one of these …
  trait::Bits none = 0;  ///< … and none of these
  role::Bits reads = 0;  ///< its reads with one of these roles
  bool writes = false;   ///< its writes
  enum class File : std::uint8_t { any, vector, scalar, exec, m0, vcc } file = File::any;
};

struct Rule {
  Kind kind;
  bool target::Hazards::*flag;
  Clock clock;
  Meeting meeting;
  Side first, second;
  /// Distance needed; behind an MFMA by its passes: 2, 4, 8, 16.
  std::array<std::uint8_t, 4> need;
  std::array<std::uint8_t, 4> need_late;  ///< the same where MFMA results come late (gfx950)
  bool same_opcode_c_is_free = false;     ///< v_dot* chains through srcC of the same opcode
  std::string_view what;                  ///< "a matrix result is read as A or B"
  Source source = Source::isa;
};

/// All rules; those whose flag the target does not set do not apply.
std::span<const Rule> hazard_rules();

/// Distance that `rule` asks for behind `first`.
unsigned needed_distance(const Rule& rule, const Step& first, const target::Target& target);

}  // namespace wavejit::check
