// SPDX-License-Identifier: MIT
// Internal: the wait states of gfx940 and gfx950, of one wave. A slot is an issued instruction; s_nop N is
// N + 1 of them.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/device/sim/code.hpp"

namespace wavejit::sim {

class Gfx9Hazards {
 public:
  /// Forgets everything; `registers` rows of VGPRs and AGPRs.
  void reset(unsigned registers);
  /// Before `inst` runs: reports what comes too early, then notes what `inst` does.
  void check(Wave& w, const detail::Inst& inst);

 private:
  /// Something that an instruction did to a register; `slot` 0 = nothing.
  struct Event {
    std::uint32_t slot = 0;
    std::uint32_t inst = 0;  ///< its text
  };
  struct VectorMarks {
    Event valu;  ///< a VALU instruction wrote it
    bool trans = false, shifted = false, dot = false;
    isa::Opcode op = isa::Opcode::invalid;
    Event mfma;    ///< an MFMA wrote it, as one of `count` registers from `first` on
    Event mfma_c;  ///< an MFMA reads it as C
    std::uint16_t first = 0;
    std::uint8_t count = 0, passes = 0, c_passes = 0;
    Event store;  ///< a wide store reads it
    bool early_store = false;
  };

  void need(Wave& w, const detail::Inst& inst, const Event& first, unsigned slots, const char* rule);
  void scalar_sources(Wave& w, const detail::Inst& inst);
  void exec_users(Wave& w, const detail::Inst& inst);
  void vector_sources(Wave& w, const detail::Inst& inst);
  void matrix_sources(Wave& w, const detail::Inst& inst);
  void destinations(Wave& w, const detail::Inst& inst);
  void m0_and_mode(Wave& w, const detail::Inst& inst);
  void note(const detail::Inst& inst);
  void note_matrix(const detail::Inst& inst);
  Event now(const detail::Inst& inst) const { return {slot_, inst.index}; }

  std::uint32_t slot_ = 1;
  std::vector<VectorMarks> vector_;
  std::vector<Event> scalar_;  ///< VALU wrote the SGPR, VCC or EXEC
  Event m0_, mode_;
  std::uint32_t mode_register_ = 0;
};

}  // namespace wavejit::sim
