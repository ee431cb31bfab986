// SPDX-License-Identifier: MIT
// The readable form of a kernel. It is for people and for golden tests: the same kernel always
// gives the same text, and everything that a pass may change is in it.
//
//     kernel NAME for TARGET, 256 work-items, budget 120 VGPRs, 104 SGPRs
//     arg   activations: buffer, read, bytes 0..7
//     lds   tile: bytes 0..8191, 2 buffers, distance 4096
//     reg   acc%3: v[8] bank 2
//     entry kernarg%0 at s[0:1], ...
//     .Lloop:  loop k, 80 times                     ; block comment
//         induction k%5 += 64, stage 0, from 0
//         v_add_nc_u32 ...                          ; stage 1, tile ring: instruction comment
#include <fmt/format.h>

#include <iterator>

#include "generator/ir/kernel.hpp"
#include "generator/ir/names.hpp"

namespace wavejit::ir {
namespace {

constexpr std::size_t comment_column = 72;

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel) {}

  std::string run() {
    header();
    for (const KernelArg& arg : kernel_.args) argument(arg);
    for (const LdsRegion& region : kernel_.lds) lds(region);
    if (!kernel_.registers_assigned)
      for (std::uint32_t id = 0; id < kernel_.vregs.size(); ++id) virtual_register(id);
    entry();
    for (const Block& b : kernel_.blocks) block(b);
    return std::move(out_);
  }

 private:
  template <class... T>
  void put(fmt::format_string<T...> format, T&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(args)...);
  }

  void header() {
    for (const std::string& line : kernel_.header) put("; {}\n", line);
    put("kernel {} for {}, {} work-items, budget {} VGPRs, {} SGPRs\n", kernel_.name, kernel_.target->name,
        kernel_.workgroup_size, kernel_.vgpr_budget, kernel_.sgpr_budget);
    if (kernel_.registers_assigned)
      put("uses  {} VGPRs, {} SGPRs{}\n", kernel_.vgprs_used, kernel_.sgprs_used,
          kernel_.uses_vcc ? ", VCC" : "");
  }

  void argument(const KernelArg& arg) {
    constexpr std::string_view access[] = {"read", "write", "read and write"};
    put("arg   {}: {}, ", arg.name, arg.kind == ArgKind::buffer ? "buffer" : "scalar");
    if (arg.kind == ArgKind::buffer) put("{}, ", access[static_cast<unsigned>(arg.access)]);
    put("bytes {}..{}\n", arg.offset, arg.offset + arg.size - 1);
  }

  void lds(const LdsRegion& region) {
    put("lds   {}: bytes {}..{}", region.name, region.offset, region.offset + region.size - 1);
    if (region.buffers > 1) put(", {} buffers, distance {}", region.buffers, region.distance);
    out_ += '\n';
  }

  void virtual_register(std::uint32_t id) {
    const VirtualRegister& reg = kernel_.vregs[id];
    const char letter = "sva"[static_cast<unsigned>(reg.cls)];
    put("reg   {}%{}: {}[{}]", reg.name, id, letter, reg.width);
    if (reg.align > 1) put(" align {}", reg.align);
    if (reg.bank >= 0) put(" bank {}", reg.bank);
    if (reg.fixed) put(" fixed {}{}", letter, *reg.fixed);
    out_ += '\n';
  }

  void entry() {
    std::string list;
    const auto add = [&](std::string_view what, const isa::Operand& o) {
      if (o.is_reg())
        list += fmt::format("{}{} {}", list.empty() ? "" : ", ", what, operand_text(kernel_, o));
    };
    add("kernarg", kernel_.entry.kernarg);
    add("workgroup x", kernel_.entry.workgroup_id[0]);
    add("workgroup y", kernel_.entry.workgroup_id[1]);
    add("workgroup z", kernel_.entry.workgroup_id[2]);
    add("workitem", kernel_.entry.workitem_id);
    if (!list.empty()) put("entry {}\n", list);
  }

  void block(const Block& b) {
    std::string line = fmt::format(".L{}:", b.label);
    if (b.loop) line += fmt::format("  loop {}, {} times", b.loop->name, b.loop->trip_count);
    if (b.is_loop_body) line += fmt::format("  loop body, {} times", b.trip_count);
    finish(std::move(line), b.comment);
    if (b.loop)
      for (const Induction& induction : b.loop->inductions) this->induction(induction);
    for (const Instruction& inst : b.insts) instruction(inst, b.loop.has_value());
  }

  void induction(const Induction& i) {
    put("    induction {} += {}, stage {}", operand_text(kernel_, i.reg), i.step, i.stage);
    if (i.constant_start) put(", from {}", *i.constant_start);
    out_ += '\n';
  }

  /// Tags that passes work with, then the author's comment.
  std::string notes(const Instruction& inst, bool in_loop) const {
    std::string text;
    if (in_loop || inst.stage != 0) text = fmt::format("stage {}", inst.stage);
    if (inst.mem.space != MemoryTag::Space::none)
      text += fmt::format("{}{}{}", text.empty() ? "" : ", ", object_name(inst.mem),
                          inst.mem.ring ? " ring" : "");
    if (inst.mi.dual != isa::Dual::none)
      text += fmt::format("{}dual {}", text.empty() ? "" : ", ", inst.mi.dual == isa::Dual::x ? 'x' : 'y');
    if (!inst.comment.empty()) text += (text.empty() ? "" : ": ") + inst.comment;
    return text;
  }

  std::string object_name(const MemoryTag& tag) const {
    const bool is_lds = tag.space == MemoryTag::Space::lds;
    const auto index = static_cast<std::size_t>(tag.object);
    if (tag.object >= 0 && is_lds && index < kernel_.lds.size()) return kernel_.lds[index].name;
    if (tag.object >= 0 && !is_lds && index < kernel_.args.size()) return kernel_.args[index].name;
    return is_lds ? "lds" : "global";
  }

  void instruction(const Instruction& inst, bool in_loop) {
    finish("    " + instruction_text(kernel_, inst.mi), notes(inst, in_loop));
  }

  void finish(std::string line, std::string_view comment) {
    if (!comment.empty()) {
      line.append(line.size() < comment_column ? comment_column - line.size() : 1, ' ');
      line += "; ";
      line += comment;
    }
    out_ += line;
    out_ += '\n';
  }

  const Kernel& kernel_;
  std::string out_;
};

}  // namespace

std::string print(const Kernel& kernel) { return Printer(kernel).run(); }

}  // namespace wavejit::ir
