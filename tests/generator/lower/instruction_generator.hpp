// SPDX-License-Identifier: MIT
// Random instructions that the hardware can encode, for round trips through LLVM. Rules of what fits
// together (literals, scalar operands, tuple alignment) are written down here once more, apart from
// generator/ir's verifier, and LLVM's assembler judges them.
#pragma once

#include <random>

#include "generator/isa/instruction.hpp"

namespace wavejit::test {

class InstructionGenerator {
 public:
  InstructionGenerator(const target::Target& target, unsigned seed);

  isa::Instruction draw(isa::Opcode op);

 private:
  using Instruction = isa::Instruction;
  using Operand = isa::Operand;

  unsigned below(unsigned n);
  static bool sopk(const Instruction& inst);
  static bool has_literal(const Instruction& inst);
  static bool mentions(const Instruction& inst, std::string_view part);
  Operand operand(const Instruction& inst, const isa::OperandSpec& spec, bool is_dst);
  /// These have only the short encoding, in which halves reach the first 128 registers.
  static unsigned registers(const Instruction& inst);
  [[nodiscard]] unsigned default_width(const Instruction& inst) const;
  Operand vector(const Instruction& inst, unsigned width, isa::RegClass cls = isa::RegClass::vgpr);
  isa::RegClass accumulation_class(const Instruction& inst, bool is_dst);
  /// Only VOP3 forms take a mask other than VCC, and not every opcode has one for both.
  Operand mask(const Instruction& inst, bool is_dst);
  Operand immediate(const Instruction& inst);
  Operand wait_counts();
  Operand constant(unsigned width);
  Operand scalar(const Instruction& inst, unsigned width);
  [[nodiscard]] bool new_rules() const;
  Operand memory_offset(const Instruction& inst);
  Operand vector_source(const Instruction& inst, char cls, unsigned width);
  void special_forms(Instruction& inst);
  void mixed_formats(isa::Instruction& inst);
  void buffer_form(Instruction& inst);
  /// Atomics return the old value exactly when GLC is set.
  void return_form(Instruction& inst);
  void flat_form(Instruction& inst);
  void modifiers(Instruction& inst);
  /// Opcodes whose long encoding takes signs, clamp and output scale.
  static bool float_math(const Instruction& inst);
  void float_modifiers(Instruction& inst);
  isa::Dpp row_operation();

  const target::Target& target_;
  std::mt19937 random_;
  bool old_rules_;  ///< before gfx10: no literal in a long encoding, no null register, even tuples
  bool literal_used_ = false, has_immediate_literal_ = false, no_literal_ = false, long_encoding_ = false;
  unsigned scalars_left_ = 1;
};

}  // namespace wavejit::test
