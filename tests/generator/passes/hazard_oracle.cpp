// SPDX-License-Identifier: MIT
#include "tests/generator/passes/hazard_oracle.hpp"

#include <vector>

#include "tests/generator/passes/paths.hpp"

namespace wavejit::test {
namespace {

using isa::Opcode;
using isa::Pipe;

bool vector_alu(const isa::Instruction& mi) {
  const Pipe p = mi.pipe();
  return p == Pipe::valu || p == Pipe::trans || p == Pipe::dot || p == Pipe::matrix;
}

bool overlap(const isa::Operand& a, const isa::Operand& b) {
  return a.is_vgpr() && b.is_vgpr() && a.index < b.index + b.width && b.index < a.index + a.width;
}

class HazardOracle {
 public:
  explicit HazardOracle(const target::Target& target) : target_(&target) {}

  std::optional<std::string> step(const ir::Instruction& inst) {
    const isa::Instruction& mi = inst.mi;
    std::optional<std::string> found;
    if (target_->hazards.wmma_d_to_ab && matrix_hazard(mi)) found = "matrix D to A or B";
    if (target_->hazards.trans_use && trans_hazard(mi)) found = "transcendental result used early";
    if (target_->hazards.vcmpx_permlane && permlane_hazard(mi)) found = "v_permlane behind v_cmpx";
    if (target_->hazards.valu_read_sgpr && sgpr_hazard(mi)) found = "SGPR written again after VALU read it";
    trace_.push_back(mi);
    return found;
  }

 private:
  /// gfx12: an SGPR that VALU had read, that SALU then wrote, and that nothing has settled since. (Random
  /// programs write no SGPR by VALU; that half of the rule has cases of its own.)
  [[nodiscard]] bool sgpr_hazard(const isa::Instruction& mi) const {
    if (!vector_alu(mi) && mi.pipe() != Pipe::salu) return false;
    bool found = false;
    isa::for_each_use(mi, [&](const isa::Operand& o) {
      if (!o.is_sgpr() || o.index >= isa::sreg::vcc_lo) return;
      for (unsigned r = o.index; r < o.index + o.width; ++r) found = found || unsettled(r);
    });
    return found;
  }

  [[nodiscard]] bool unsettled(unsigned r) const {
    for (std::size_t i = trace_.size(); i-- > 0;) {
      const isa::Instruction& mi = trace_[i];
      if (mi.pipe() == Pipe::smem) return false;
      if (mi.op == Opcode::s_waitcnt_depctr && (mi.src[0].value & 1) == 0) return false;
      if (mi.pipe() != Pipe::salu) continue;
      bool writes = false;
      isa::for_each_def(mi, [&](const isa::Operand& o) { writes = writes || names(o, r); });
      if (writes) return read_by_valu(i, r);
    }
    return false;
  }

  /// Whether VALU has read r's aligned pair before step `end`.
  [[nodiscard]] bool read_by_valu(std::size_t end, unsigned r) const {
    bool reads = false;
    for (std::size_t i = 0; i < end; ++i)
      if (vector_alu(trace_[i]))
        isa::for_each_use(trace_[i], [&](const isa::Operand& o) {
          reads = reads || names(o, r & ~1U) || names(o, r | 1U);
        });
    return reads;
  }

  static bool names(const isa::Operand& o, unsigned r) {
    return o.is_sgpr() && o.index <= r && r < o.index + o.width;
  }

  [[nodiscard]] bool matrix_hazard(const isa::Instruction& mi) const {
    if (mi.pipe() != Pipe::matrix) return false;
    for (auto i = trace_.rbegin(); i != trace_.rend(); ++i)
      if (vector_alu(*i))
        return i->pipe() == Pipe::matrix && (overlap(i->dst[0], mi.src[0]) || overlap(i->dst[0], mi.src[1]));
    return false;
  }

  [[nodiscard]] bool trans_hazard(const isa::Instruction& mi) const {
    if (!vector_alu(mi)) return false;
    unsigned valus = 0, transcendentals = 0;
    for (auto i = trace_.rbegin(); i != trace_.rend() && valus <= 5 && transcendentals <= 1; ++i) {
      if (i->pipe() == Pipe::vmem || i->pipe() == Pipe::lds) return false;
      if (i->op == Opcode::s_waitcnt_depctr && i->src[0].value == 0x0F9F) return false;
      if (!vector_alu(*i)) continue;
      if (i->pipe() == Pipe::trans) {
        for (unsigned s = 0; s < mi.src_count; ++s)
          if (overlap(i->dst[0], mi.src[s])) return true;
        if (isa::reads_destination(mi) && overlap(i->dst[0], mi.dst[0])) return true;
        ++transcendentals;
      }
      ++valus;
    }
    return false;
  }

  [[nodiscard]] bool permlane_hazard(const isa::Instruction& mi) const {
    if (mi.op != Opcode::v_permlane16_b32 && mi.op != Opcode::v_permlanex16_b32) return false;
    for (auto i = trace_.rbegin(); i != trace_.rend(); ++i)
      if (vector_alu(*i) && i->op != Opcode::v_nop) return i->info().name.starts_with("v_cmpx");
    return false;
  }

  const target::Target* target_;
  std::vector<isa::Instruction> trace_;
};

}  // namespace

std::optional<std::string> hazard_on_some_path(const ir::Kernel& kernel, unsigned edge_limit) {
  return Paths<HazardOracle>(kernel, edge_limit).walk(0, HazardOracle(*kernel.target));
}

}  // namespace wavejit::test
