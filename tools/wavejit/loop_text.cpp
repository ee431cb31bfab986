// SPDX-License-Identifier: MIT
#include "tools/wavejit/loop_text.hpp"

#include <fmt/format.h>

#include "generator/lower/lower.hpp"

namespace wavejit::tools {
namespace {

/// The least that decode() takes for a kernel; registers and LDS play no part.
std::string whole_file(std::string_view text, const target::Target& target) {
  const std::string_view accum = target.has_agprs
                                     ? "\t\t.amdhsa_accum_offset 256\n\t\t.amdhsa_next_free_vgpr 512\n"
                                     : "\t\t.amdhsa_next_free_vgpr 256\n";
  return fmt::format(
      "\t.amdgcn_target \"amdgcn-amd-amdhsa--{0}\"\n\t.amdhsa_code_object_version 5\n"
      "\t.text\n\t.globl loop\n\t.p2align 8\n\t.type loop,@function\nloop:\n{1}\n\ts_endpgm\n"
      ".Lloop_end:\n\t.size loop, .Lloop_end-loop\n"
      "\t.section .rodata,\"a\",@progbits\n\t.p2align 6\n\t.amdhsa_kernel loop\n"
      "\t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1\n{2}\t\t.amdhsa_next_free_sgpr 100\n\t.end_amdhsa_kernel\n"
      "\t.amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.target: amdgcn-amd-amdhsa--{0}\n"
      "amdhsa.kernels:\n  - .name: loop\n    .symbol: loop.kd\n    .kernarg_segment_size: 0\n"
      "    .kernarg_segment_align: 8\n    .group_segment_fixed_size: 0\n    .private_segment_fixed_size: 0\n"
      "    .wavefront_size: {3}\n    .sgpr_count: 100\n    .vgpr_count: 256\n"
      "    .max_flat_workgroup_size: 64\n...\n\t.end_amdgpu_metadata\n",
      target.name, text, accum, target.wave_size);
}

}  // namespace

Result<std::vector<isa::Instruction>> instructions_of(std::string_view text, const target::Target& target) {
  const auto object = lower::assemble(whole_file(text, target), target);
  if (!object) return std::unexpected(object.error());
  const auto linked = lower::link(*object);
  if (!linked) return std::unexpected(linked.error());
  const auto decoded = lower::decode(*linked);
  if (!decoded) return std::unexpected(decoded.error());
  std::vector<isa::Instruction> result;
  for (const lower::DecodedInstruction& i : decoded->kernels.at(0).instructions) {
    result.push_back(i.inst);
    if (i.inst.op == isa::Opcode::s_endpgm) break;  // padding follows
  }
  return result;
}

}  // namespace wavejit::tools
