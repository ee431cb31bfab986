// SPDX-License-Identifier: MIT
#include "runtime/device/sim/handlers.hpp"

#include <cstdlib>

namespace wavejit::sim {
namespace {

/// So that the code for hosts without AVX2 is tested on hosts that have it.
bool portable_wanted() {
  const char* value = std::getenv("WAVEJIT_SIM_PORTABLE");
  return value != nullptr && *value == '1';
}

Handlers make() {
  Handlers h;
  add_scalar(h);
  add_scalar_compares(h);
  add_control(h);
  add_scalar_memory(h);
  add_lds(h);
  add_buffer(h);
  add_global(h);
  add_split(h);
  add_lds_dma(h);
#if defined(WAVEJIT_SIM_HAS_AVX2)
  if (!portable_wanted() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2")) {
    avx2::add_vector(h);
    return h;
  }
#endif
  portable::add_vector(h);
  return h;
}

}  // namespace

void Handlers::set(target::Generation generation, isa::Opcode op, detail::Execute execute,
                   detail::FloatClass floats) {
  special_.push_back({generation, op, {execute, floats}});
}

const Handlers& handlers() {
  static const Handlers table = make();
  return table;
}

}  // namespace wavejit::sim
