// SPDX-License-Identifier: MIT
// gfx940 family: hardware.md §5.3 (CDNA3 ISA table 11 and LLVM 22's hazard recogniser) and, for the matrix
// instructions with 16-bit and 8-bit inputs, §2.5 (CDNA3 ISA table 37 and LLVM 22). gfx950 needs a slot more
// behind their results.
#include "generator/target/wait_states.hpp"

#include <array>

namespace wavejit::target {
namespace {

template <unsigned Late>
constexpr std::array gfx940_table{
    WaitStates{Producer::valu_write, Consumer::valu_scalar_source, 2},
    WaitStates{Producer::valu_write, Consumer::vmem_scalar_source, 5},
    WaitStates{Producer::valu_write, Consumer::lane_select, 4},
    WaitStates{Producer::valu_write, Consumer::readlane_source, 1},
    WaitStates{Producer::valu_write, Consumer::dpp_source, 2},
    WaitStates{Producer::valu_write, Consumer::dpp_exec, 5},
    WaitStates{Producer::valu_write, Consumer::cross_lane_exec, 4},
    WaitStates{Producer::valu_write, Consumer::exec_data, 2},
    WaitStates{Producer::valu_write, Consumer::condition_flag, 5},
    WaitStates{Producer::trans_write, Consumer::plain_valu_source, 1},
    WaitStates{Producer::shifted_write, Consumer::valu_source, 1},
    WaitStates{Producer::dot_write, Consumer::dot_other, 3},
    WaitStates{Producer::wide_store_read, Consumer::valu_overwrite, 2},
    WaitStates{Producer::wide_store_read, Consumer::other_overwrite, 1},
    // The ISA and LLVM 22 ask for none; LLVM since pull request 197267 does, as measured on MI350X.
    WaitStates{Producer::scalar_offset_store_read, Consumer::valu_overwrite, 1},
    WaitStates{Producer::salu_write, Consumer::m0_user, 1},
    WaitStates{Producer::mode_write, Consumer::mode_access, 2},
    WaitStates{Producer::valu_write, Consumer::matrix_source, 2},
    WaitStates{Producer::matrix4_write, Consumer::matrix_result_use, 7 + Late},
    WaitStates{Producer::matrix8_write, Consumer::matrix_result_use, 11 + Late},
    WaitStates{Producer::matrix4_write, Consumer::matrix_other_sum, 5 + Late},
    WaitStates{Producer::matrix8_write, Consumer::matrix_other_sum, 9 + Late},
    WaitStates{Producer::matrix4_c_read, Consumer::matrix_c_overwrite, 3},
    WaitStates{Producer::matrix8_c_read, Consumer::matrix_c_overwrite, 7},
};

}  // namespace

std::span<const WaitStates> wait_states(const Target& target) {
  if (!target.hazards.gfx9_wait_states) return {};
  if (target.hazards.mfma_results_late) return gfx940_table<1>;
  return gfx940_table<0>;
}

}  // namespace wavejit::target
