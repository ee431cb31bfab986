// SPDX-License-Identifier: MIT
#include "runtime/device/sim/exec/valu.hpp"

namespace wavejit::sim::WAVEJIT_SIM_VARIANT {

void add_vector(Handlers& h) {
  add_integer(h);
  add_integer16(h);
  add_wide(h);
  add_moves(h);
  add_float(h);
  add_convert(h);
  add_half(h);
  add_dot(h);
  add_compare(h);
  add_special(h);
  add_matrix(h);
}

}  // namespace wavejit::sim::WAVEJIT_SIM_VARIANT
