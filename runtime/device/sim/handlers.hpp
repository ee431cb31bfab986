// SPDX-License-Identifier: MIT
// Internal: which function executes an opcode. The vector units are compiled twice, for any machine
// and for AVX2 with FMA and F16C; the right set is taken at run time.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

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
  /// For one generation only, in place of the common one. Out of line: exec/ must not instantiate
  /// library templates.
  void set(target::Generation generation, isa::Opcode op, detail::Execute execute,
           detail::FloatClass floats = detail::FloatClass::none);
  [[nodiscard]] const Handler& get(isa::Opcode op, target::Generation generation) const {
    for (const Special& s : special_)
      if (s.op == op && s.generation == generation) return s.handler;
    return table_[static_cast<std::size_t>(op)];
  }

 private:
  struct Special {
    target::Generation generation;
    isa::Opcode op;
    Handler handler;
  };
  std::array<Handler, static_cast<std::size_t>(isa::Opcode::count_)> table_{};
  std::vector<Special> special_;
};

void add_scalar(Handlers& handlers);           // exec_salu.cpp
void add_scalar_compares(Handlers& handlers);  // exec_salu_compare.cpp
void add_control(Handlers& handlers);          // exec_control.cpp
void add_scalar_memory(Handlers& handlers);    // exec_smem.cpp
void add_lds(Handlers& handlers);              // exec_lds.cpp
void add_buffer(Handlers& handlers);           // exec_buffer.cpp
void add_global(Handlers& handlers);           // exec_global.cpp
void add_split(Handlers& handlers);            // exec_split.cpp
void add_lds_dma(Handlers& handlers);          // exec_lds_dma.cpp

/// A buffer or global load that writes LDS; bytes a lane by its opcode, 0 for one that cannot.
void lds_dma(Wave& w, const detail::Inst& inst);
unsigned lds_dma_bytes(isa::Opcode op);

/// A VALU instruction with sub-dword addressing, around the plain handler of its opcode. It needs so many
/// registers of its own, from Code::scratch_rows on.
void sdwa(Wave& w, const detail::Inst& inst);
inline constexpr unsigned sdwa_rows = 3;

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
