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
    trace_.push_back(mi);
    return found;
  }

 private:
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
