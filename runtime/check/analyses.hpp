// SPDX-License-Identifier: MIT
// The analyses that check() runs, one file each. Each reads the program and adds findings.
#pragma once

#include "runtime/check/program.hpp"
#include "runtime/check/reporter.hpp"

namespace wavejit::check {

/// Descriptor fields, metadata against descriptor.
void check_descriptor(const Program& program, Reporter& reporter);
/// Ends, branches, reachability, clauses, dealloc_vgprs.
void check_flow(const Program& program, Reporter& reporter);
/// Each instruction by itself: register ranges, alignment, overlap, foreign forms.
void check_operands(const Program& program, Reporter& reporter);
/// Loads in flight, LDS operations at barriers.
void check_waits(const Program& program, Reporter& reporter);
/// LDS loads against the stores and barriers before them.
void check_lds_flow(const Program& program, Reporter& reporter);
/// The target's hazard table.
void check_hazards(const Program& program, Reporter& reporter);
/// XNACK: soft clauses that overwrite their own sources.
void check_replayed_clauses(const Program& program, Reporter& reporter);
/// gfx12: SGPRs that VALU read and that are rewritten.
void check_sgpr_hazards(const Program& program, Reporter& reporter);
/// Registers read before they are written.
void check_definedness(const Program& program, Reporter& reporter);
/// What is provably constant: LDS addresses, kernel-argument offsets, descriptor words.
void check_constants(const Program& program, Reporter& reporter);

/// The kernel descriptor read apart (hardware.md §9.1, §9.2).
struct Setup {
  unsigned user_sgprs = 0;     ///< as RSRC2 says
  unsigned enabled_sgprs = 0;  ///< that the enabled features and the preload fill
  unsigned kernarg_sgpr = 0;   ///< first of the pair
  bool has_kernarg = false;
  bool workgroup_id[3] = {false, false, false};
  bool workgroup_info = false;
  unsigned vgprs = 0;      ///< architectural VGPRs allocated
  unsigned agprs = 0;      ///< AGPRs allocated
  unsigned allocated = 0;  ///< both, as RSRC1 says
  unsigned sgprs = 0;      ///< addressable plain SGPRs
};
/// Bytes of kernel arguments: the descriptor's, or where it says 0 the metadata's.
std::uint32_t kernarg_bytes(const lower::DecodedKernel& kernel);
Setup read_setup(const lower::KernelDescriptor& descriptor, const target::Target& target);

}  // namespace wavejit::check
