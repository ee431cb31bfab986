// SPDX-License-Identifier: MIT
// Internal: which function executes an opcode. The vector units are compiled twice, for any machine
// and for AVX2 with FMA and F16C; the right set is taken at run time.
#pragma once

#include <array>
#include <cstddef>

#include "runtime/device/sim/code.hpp"

namespace wavejit::sim {

struct Handler {
  detail::Execute execute = nullptr;
  detail::FloatClass floats = detail::FloatClass::none;
};

class Handlers {
 public:
  void set(isa::Opcode op, detail::Execute execute, detail::FloatClass floats = detail::FloatClass::none) {
    table_[static_cast<std::size_t>(op)] = {execute, floats};
  }
  [[nodiscard]] const Handler& get(isa::Opcode op) const { return table_[static_cast<std::size_t>(op)]; }

 private:
  std::array<Handler, static_cast<std::size_t>(isa::Opcode::count_)> table_{};
};

void add_scalar(Handlers& handlers);         // exec_salu.cpp
void add_scalar_compares(Handlers& handlers);  // exec_salu_compare.cpp
void add_control(Handlers& handlers);        // exec_control.cpp
void add_scalar_memory(Handlers& handlers);  // exec_smem.cpp
void add_lds(Handlers& handlers);            // exec_lds.cpp
void add_buffer(Handlers& handlers);         // exec_buffer.cpp
void add_global(Handlers& handlers);         // exec_global.cpp

namespace portable {
void add_vector(Handlers& handlers);
}
#if defined(WAVEJIT_SIM_HAS_AVX2)
namespace avx2 {
void add_vector(Handlers& handlers);
}
#endif

/// The table for this machine, made on first use.
const Handlers& handlers();

}  // namespace wavejit::sim
