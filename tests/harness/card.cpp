// SPDX-License-Identifier: MIT
#include "tests/harness/card.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace wavejit::harness {
namespace {

/// Counts of a body that does several K steps, as counts of one: "8" or "6.5".
std::string per_iteration(unsigned count, unsigned iterations) {
  return fmt::format("{:g}", static_cast<double>(count) / iterations);
}

std::string mix_text(const Card& c) {
  const auto each = [&c](unsigned count) { return per_iteration(count, c.iterations); };
  const model::Mix& m = c.body;
  std::string text = fmt::format(
      "per wave and iteration: matrix {}, other VALU {} (compare/select {}, VOPD pairs {}), SALU {}, "
      "LDS load {} store {}, VMEM load {} store {}, SMEM {}, barrier {}, wait {}, branch {}, hint {}",
      each(m.matrix), each(m.other_valu()), each(m.compare_select), each(m.dual), each(m.salu),
      each(m.lds_load), each(m.lds_store), each(m.vmem_load), each(m.vmem_store), each(m.smem),
      each(m.barrier), each(m.wait), each(m.branch), each(m.hint));
  if (m.matrix > 0)
    text += fmt::format("\nother VALU per matrix instruction: {:.2f}",
                        static_cast<double>(m.other_valu()) / m.matrix);
  return text;
}

}  // namespace

Card card(const lower::DecodedKernel& kernel, const target::Target& target, unsigned matrix_per_iteration) {
  Card c;
  c.kernel = kernel.name;
  c.target = target.name;
  c.vgprs = kernel.vgpr_count;
  c.sgprs = kernel.sgpr_count;
  c.lds_bytes = kernel.group_segment_size;
  c.waves = (kernel.max_flat_workgroup_size + target.wave_size - 1) / target.wave_size;
  c.occupancy = target::occupancy(target, c.vgprs, c.lds_bytes, c.waves);

  std::vector<isa::Instruction> code;
  code.reserve(kernel.instructions.size());
  for (const lower::DecodedInstruction& inst : kernel.instructions) code.push_back(inst.inst);
  c.instructions = model::mix(code).total();
  const auto loop = model::hot_loop(code);
  if (!loop) return c;
  c.has_loop = true;
  const std::vector<isa::Instruction> body = model::body(code, *loop);
  c.body = model::mix(body);
  c.conflicts = model::bank_conflicts(body, target);
  if (matrix_per_iteration > 0) c.iterations = std::max(c.body.matrix / matrix_per_iteration, 1U);
  return c;
}

std::string summary(const Card& c) {
  return fmt::format(
      "{} for {}\n{} VGPRs, {} SGPRs, {} bytes of LDS, {} waves a workgroup, {:g} waves per SIMD", c.kernel,
      c.target, c.vgprs, c.sgprs, c.lds_bytes, c.waves, c.occupancy.waves_per_simd);
}

std::string to_text(const Card& c) {
  std::string text = summary(c);
  if (!c.has_loop) return text + fmt::format("\n{} instructions, no loop", c.instructions);
  text += fmt::format("\n{} instructions; hot loop {}, {} K step{} a pass\n", c.instructions, c.body.total(),
                      c.iterations, c.iterations == 1 ? "" : "s");
  text += mix_text(c);
  text +=
      fmt::format("\nregister-bank conflicts in the loop: {} of matrix instructions, {} of three-source VALU",
                  c.conflicts.matrix, c.conflicts.valu);
  return text;
}

}  // namespace wavejit::harness
