// SPDX-License-Identifier: MIT
// Targets that the simulator runs other people's code of: gfx90a and gfx1030, the two that Debian's hiprtc
// compiles for. No kernel is generated for them, so matrix shapes, times and hazards are left out: the
// simulator checks no wait states here (XNACK's clauses it does). Numbers: LLVM 22 (AMDGPUUsage; GCNSubtarget
// for granules, waves, packed work-item ids; the assembler for e_flags); word 3 of gfx1030's descriptors is
// Composable Kernel's constant for gfx103.
#include "generator/target/tables.hpp"

namespace wavejit::target {

Target make_gfx90a() {
  Target t = make_gfx942();
  t.name = "gfx90a";
  t.marketing = "Instinct MI210";
  t.compute_units = 104;
  t.hazards = {};
  t.hazards.xnack_replay = true;
  t.architected_flat_scratch = false;
  t.wmma16 = {};
  t.matrix_shapes = {};
  t.elf_flags = 0x53F;
  return t;
}

Target make_gfx1030() {
  Target t = make_gfx1151();
  t.name = "gfx1030";
  t.marketing = "Radeon RX 6800 XT";
  t.generation = Generation::gfx10;
  t.family = {};
  t.compute_units = 72;
  t.vgprs_per_simd = 1024;
  t.vgpr_alloc_granule = 16;
  t.vgpr_banks = 0;
  t.hazards = {};
  t.buffer_word3 = 0x31014000;
  t.dot2_bf16 = Dot2Bf16Rounding::absent;
  t.has_v_dot2_f32_bf16 = false;
  t.has_delay_alu = false;
  t.has_dealloc_vgprs = false;
  t.has_vopd = false;
  t.architected_flat_scratch = false;
  t.packed_workitem_ids = false;
  t.wmma16 = {};
  t.matrix_shapes = {};
  t.elf_flags = 0x36;
  return t;
}

}  // namespace wavejit::target
