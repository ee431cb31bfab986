// SPDX-License-Identifier: MIT
// Instruction modifiers as LLVM's AMDGPU assembler spells them, each after a space: addressing and
// cache bits, op_sel and negation lists, clamp, DPP, MFMA fields. Private to the printer and the
// parser of this floor.
#pragma once

#include <string>
#include <string_view>

#include "generator/isa/instruction.hpp"

namespace wavejit::isa {

/// v_fma_mix*: packed encoding whose op_sel_hi defaults to zeros and whose sources take -x and |x|.
bool is_mix(Opcode op);

/// Entries of an op_sel list: one per source, and one for the destination outside VOP3P.
unsigned op_sel_entries(const Instruction& inst);

/// Appends every modifier that differs from its default.
void append_modifiers(std::string& out, const Instruction& inst, const target::Target& target);

/// Reads one modifier into `inst`; false when it is not known. List lengths are not checked.
bool parse_modifier(std::string_view text, Instruction& inst);

/// The DPP part of the above.
void append_dpp(std::string& out, const Dpp& dpp, const target::Target& target);
bool parse_dpp(std::string_view text, Dpp& dpp);

/// The SDWA part; `inst` tells which of the selectors its encoding has.
void append_sdwa(std::string& out, const Instruction& inst);
bool parse_sdwa(std::string_view text, Sdwa& sdwa);

/// The gfx12 cache policy: "th:" by the kind of access, "scope:".
void append_cache_policy(std::string& out, const Instruction& inst);
bool parse_cache_policy(std::string_view text, Modifiers& mods);

}  // namespace wavejit::isa
