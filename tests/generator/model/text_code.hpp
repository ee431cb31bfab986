// SPDX-License-Identifier: MIT
// A loop body as text, assembled and read back: what the model's tests play. `.Lbody` is its first line, an
// s_endpgm its last.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/generator/lower/text_kernel.hpp"

namespace wavejit::test {

inline std::vector<isa::Instruction> code_of(std::string_view text, const target::Target& target) {
  const std::string body = ".Lbody:\n" + std::string(text) + "\n  s_endpgm\n";
  std::string file = test::kernel_text("loop", body, target);
  if (const std::string line = "\t\t.amdhsa_next_free_vgpr 24\n"; target.has_agprs)
    file.insert(file.find(line), "\t\t.amdhsa_accum_offset 24\n");
  const lower::CodeObject object = test::build(file, target);
  std::vector<isa::Instruction> code;
  for (const auto& i : object.kernels.at(0).instructions) {
    code.push_back(i.inst);
    if (i.inst.op == isa::Opcode::s_endpgm) break;
  }
  return code;
}

}  // namespace wavejit::test
