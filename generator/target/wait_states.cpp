// SPDX-License-Identifier: MIT
// gfx940 family: hardware.md §5.3 (CDNA3 ISA table 11 and LLVM 22's hazard recogniser). The matrix
// instructions' own rows (§2.5) join when the vocabulary has them.
#include "generator/target/wait_states.hpp"

#include <array>

namespace wavejit::target {
namespace {

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
    WaitStates{Producer::salu_write, Consumer::m0_user, 1},
    WaitStates{Producer::mode_write, Consumer::mode_access, 2},
};

}  // namespace

std::span<const WaitStates> wait_states(const Target& target) {
  if (!target.hazards.gfx9_wait_states) return {};
  return gfx940_table;
}

}  // namespace wavejit::target
