// SPDX-License-Identifier: MIT
// Kernel -> the complete `.s`: header comments, code, padding, descriptor directives, metadata.
// Directives: LLVM AMDGPUUsage, "Code Object V3 and Above". What is not listed in the descriptor
// block keeps the assembler's default, which is "off".
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <iterator>

#include "generator/ir/names.hpp"
#include "generator/lower/lower.hpp"

namespace wavejit::lower {
namespace {

constexpr std::size_t comment_column = 64;
constexpr std::string_view end_label = ".Lfunc_end0";

/// Filler behind the last instruction, so that instruction prefetch stays inside the code: what
/// LLVM's own compiler emits (hardware.md §9.4).
struct Padding {
  unsigned align_log2, dwords;
  std::uint32_t word;
  std::string_view meaning;
};

Padding padding(target::Generation generation) {
  if (generation == target::Generation::gfx9) return {6, 256, 0xBF800000, "s_nop 0"};
  return {7, 96, 0xBF9F0000, "s_code_end"};
}

class Printer {
 public:
  explicit Printer(const ir::Kernel& kernel) : kernel_(kernel), target_(*kernel.target), names_(kernel) {}

  std::string run() {
    out_.reserve(256 * 1024);
    header();
    code();
    descriptor();
    metadata();
    return std::move(out_);
  }

 private:
  template <class... T>
  void put(fmt::format_string<T...> format, T&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(args)...);
  }

  void header() {
    for (const std::string& line : kernel_.header) put("; {}\n", line);
    put("\t.amdgcn_target \"amdgcn-amd-amdhsa--{}\"\n", target_.name);
    put("\t.amdhsa_code_object_version {}\n", target_.generic_version() == 0 ? 5 : 6);
    put("\t.text\n\t.protected {0}\n\t.globl {0}\n\t.p2align 8\n\t.type {0},@function\n{0}:\n", kernel_.name);
  }

  void code() {
    const std::vector<bool> targets = branch_targets();
    for (std::size_t i = 0; i < kernel_.blocks.size(); ++i) {
      const ir::Block& block = kernel_.blocks[i];
      // The kernel's own label already stands before the first block.
      if (i != 0 || targets[i]) put(".L{}:", block.label);
      block_comment(block, i != 0 || targets[i]);
      instructions(block);
    }
    const Padding pad = padding(target_.generation);
    put("{}:\n\t.size {}, {}-{}\n", end_label, kernel_.name, end_label, kernel_.name);
    put("\t.p2alignl {}, 0x{:x}\n\t.fill {}, 4, 0x{:x}", pad.align_log2, pad.word, pad.dwords, pad.word);
    put("\t; {}: prefetch must not leave the code\n\n", pad.meaning);
  }

  [[nodiscard]] std::vector<bool> branch_targets() const {
    std::vector<bool> result(kernel_.blocks.size());
    for (const ir::Block& block : kernel_.blocks)
      for (const ir::Instruction& inst : block.insts)
        for (unsigned i = 0; i < inst.mi.src_count; ++i)
          if (inst.mi.src[i].kind == isa::Operand::Kind::label) result.at(inst.mi.src[i].index) = true;
    return result;
  }

  void block_comment(const ir::Block& block, bool has_label) {
    std::string comment = block.comment;
    if (block.is_loop_body) {
      if (!comment.empty()) comment += "; ";
      comment += fmt::format("{} times", block.trip_count);
    }
    if (!comment.empty()) put("\t; {}", comment);
    if (has_label || !comment.empty()) out_ += '\n';
  }

  void instructions(const ir::Block& block) {
    for (std::size_t i = 0; i < block.insts.size(); ++i) {
      const ir::Instruction& inst = block.insts[i];
      if (inst.mi.dual == isa::Dual::x) {
        assert(i + 1 < block.insts.size() && block.insts[i + 1].mi.dual == isa::Dual::y);
        line(isa::print_dual(inst.mi, block.insts[i + 1].mi, target_), inst.comment);
        ++i;
      } else {
        line(isa::to_text(inst.mi, target_, &names_), inst.comment);
      }
    }
  }

  void line(const std::string& text, const std::string& comment) {
    if (comment.empty()) {
      put("\t{}\n", text);
    } else {
      put("\t{:<{}} ; {}\n", text, comment_column, comment);
    }
  }

  void descriptor() {
    const bool gfx9 = target_.generation == target::Generation::gfx9;
    const bool gfx12 = target_.generation == target::Generation::gfx12;
    if (!gfx9) put("\t.set .Lcode_lines, ({}-{}+127)/128\n", end_label, kernel_.name);
    put("\t.section .rodata,\"a\",@progbits\n\t.p2align 6\n\t.amdhsa_kernel {}\n", kernel_.name);
    const auto field = [&](std::string_view name, std::uint64_t value) {
      put("\t\t.amdhsa_{} {}\n", name, value);
    };
    field("group_segment_fixed_size", kernel_.lds_bytes());
    field("private_segment_fixed_size", 0);
    field("kernarg_size", kernel_.kernarg_size);
    field("user_sgpr_count", kernel_.entry.user_sgprs);
    field("user_sgpr_kernarg_segment_ptr", 1);
    for (unsigned i = 0; i < 3; ++i)
      field(fmt::format("system_sgpr_workgroup_id_{}", "xyz"[i]), workgroup_id_enabled(i) ? 1 : 0);
    field("system_sgpr_workgroup_info", 0);
    field("system_vgpr_workitem_id", 0);
    field("next_free_vgpr", vgprs());
    field("next_free_sgpr", sgprs());
    field("reserve_vcc", kernel_.uses_vcc ? 1 : 0);
    if (target_.has_agprs) field("accum_offset", accum_offset());
    field("float_round_mode_32", 0);
    field("float_round_mode_16_64", 0);
    field("float_denorm_mode_32", 3);
    field("float_denorm_mode_16_64", 3);
    if (!gfx12) {
      field("dx10_clamp", 1);
      field("ieee_mode", 1);
    }
    if (!gfx9) modern_fields(gfx12);
    put("\t.end_amdhsa_kernel\n");
  }

  /// Fields of gfx10 and later.
  void modern_fields(bool gfx12) {
    put("\t\t.amdhsa_wavefront_size32 {}\n", target_.wave_size == 32 ? 1 : 0);
    put("\t\t.amdhsa_workgroup_processor_mode {}\n", kernel_.wgp_mode ? 1 : 0);
    put("\t\t.amdhsa_memory_ordered 1\n\t\t.amdhsa_forward_progress 1\n");
    // Lines of 128 bytes that the hardware fetches ahead, at most what the field holds. In the
    // assembler's arithmetic a comparison that holds is -1.
    const unsigned most = gfx12 ? 255 : 63;
    put("\t\t.amdhsa_inst_pref_size .Lcode_lines-((.Lcode_lines-{0})&(.Lcode_lines>{0}))\n", most);
  }

  [[nodiscard]] bool workgroup_id_enabled(unsigned axis) const {
    return kernel_.entry.workgroup_id[axis].kind != isa::Operand::Kind::none;
  }

  /// What the wave asks of the register file, AGPRs included.
  [[nodiscard]] unsigned vgprs() const {
    return std::max(target::unified_vgprs(target_, kernel_.vgprs_used, kernel_.agprs_used), 1U);
  }

  /// Where the AGPRs begin: hardware takes 4 to 256.
  [[nodiscard]] unsigned accum_offset() const {
    return target::unified_vgprs(target_, std::max(kernel_.vgprs_used, 1U), 1) - 1;
  }

  /// Plain SGPRs, those that hardware writes before the first instruction included.
  [[nodiscard]] unsigned sgprs() const {
    unsigned set = kernel_.entry.user_sgprs;
    for (unsigned i = 0; i < 3; ++i)
      if (workgroup_id_enabled(i) && !target_.workgroup_ids_in_ttmp) ++set;
    return std::max(kernel_.sgprs_used, set);
  }

  void metadata() {
    put("\t.amdgpu_metadata\n---\namdhsa.version:\n  - 1\n  - 2\n");
    put("amdhsa.target: amdgcn-amd-amdhsa--{}\namdhsa.kernels:\n", target_.name);
    put("  - .name: {0}\n    .symbol: {0}.kd\n", kernel_.name);
    const auto field = [&](std::string_view name, std::uint64_t value) { put("    .{}: {}\n", name, value); };
    field("kernarg_segment_size", kernel_.kernarg_size);
    field("kernarg_segment_align", 8);
    field("group_segment_fixed_size", kernel_.lds_bytes());
    field("private_segment_fixed_size", 0);
    field("wavefront_size", target_.wave_size);
    field("sgpr_count", sgprs() + (kernel_.uses_vcc ? 2 : 0));
    field("vgpr_count", vgprs());
    if (target_.has_agprs) field("agpr_count", kernel_.agprs_used);
    field("max_flat_workgroup_size", kernel_.workgroup_size);
    put("    .reqd_workgroup_size:\n      - {}\n      - 1\n      - 1\n", kernel_.workgroup_size);
    field("sgpr_spill_count", 0);
    field("vgpr_spill_count", 0);
    if (target_.generation != target::Generation::gfx9)
      field("workgroup_processor_mode", kernel_.wgp_mode ? 1 : 0);
    put("    .args:{}\n", kernel_.args.empty() ? " []" : "");
    for (const ir::KernelArg& arg : kernel_.args) argument(arg);
    put("...\n\t.end_amdgpu_metadata\n");
  }

  void argument(const ir::KernelArg& arg) {
    constexpr std::string_view access[] = {"read_only", "write_only", "read_write"};
    put("      - .name: {}\n        .offset: {}\n        .size: {}\n", arg.name, arg.offset, arg.size);
    if (arg.kind == ir::ArgKind::scalar) {
      put("        .value_kind: by_value\n");
    } else {
      put("        .value_kind: global_buffer\n        .address_space: global\n");
      put("        .access: {0}\n        .actual_access: {0}\n", access[static_cast<unsigned>(arg.access)]);
    }
  }

  const ir::Kernel& kernel_;
  const target::Target& target_;
  ir::KernelNames names_;
  std::string out_;
};

}  // namespace

std::string print_assembly(const ir::Kernel& kernel) {
  assert(kernel.target != nullptr && kernel.registers_assigned);
  return Printer(kernel).run();
}

}  // namespace wavejit::lower
