// SPDX-License-Identifier: MIT
// Small kernels over physical registers for the tests of the passes that run after register
// assignment, and their text.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "generator/ir/kernel.hpp"

namespace wavejit::test {

using isa::imm;
using isa::label;
using isa::Opcode;
using isa::Operand;
using isa::sgpr;
using isa::vgpr;

/// A kernel with one block, ready for appending; `block` starts another.
class LateKernel {
 public:
  explicit LateKernel(const target::Target& target);
  explicit LateKernel(std::string_view target_name = "gfx1151");

  ir::Kernel kernel;

  std::uint32_t block(std::string label);
  ir::Instruction& add(Opcode op, std::initializer_list<Operand> dst, std::initializer_list<Operand> src);

  // Shorthands; addresses are never registers that the tests load into.
  ir::Instruction& load(unsigned v, unsigned width = 1);   ///< buffer_load of v[v..]
  ir::Instruction& store(unsigned v, unsigned width = 1);  ///< buffer_store
  ir::Instruction& lds_load(unsigned v, unsigned width = 1);
  ir::Instruction& lds_store(unsigned v, unsigned width = 1);
  ir::Instruction& scalar_load(unsigned s, unsigned width = 1);
  ir::Instruction& move(unsigned to, unsigned from);           ///< v_mov_b32
  ir::Instruction& add3(unsigned to, unsigned a, unsigned b);  ///< v_add_nc_u32
  ir::Instruction& wmma(unsigned d, unsigned a, unsigned b);   ///< D = A B + D, 8 registers each
  void barrier();  ///< in its two halves where the target has those
  void end() { add(Opcode::s_endpgm, {}, {}); }
  void branch_if_scc1(std::uint32_t to) { add(Opcode::s_cbranch_scc1, {}, {label(to)}); }
};

/// Opcode of a buffer, LDS or scalar load (store) of `width` dwords.
Opcode buffer_load_of(unsigned width);
Opcode buffer_store_of(unsigned width);
Opcode lds_load_of(unsigned width);
Opcode lds_store_of(unsigned width);
Opcode scalar_load_of(unsigned width);

/// One line per instruction as LLVM would read it, blocks headed by "label:".
std::vector<std::string> lines_of(const ir::Kernel& kernel);
/// Lines that start with `prefix`, with nothing else.
std::vector<std::string> lines_with(const ir::Kernel& kernel, std::string_view prefix);

}  // namespace wavejit::test
