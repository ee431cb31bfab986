// SPDX-License-Identifier: MIT
#include "runtime/device/sim/atomics.hpp"

#include <algorithm>

#include "runtime/device/sim/numerics.hpp"

namespace wavejit::sim {

std::optional<AtomicOp> atomic_op(isa::Opcode op) {
  using isa::Opcode;
  switch (op) {
    case Opcode::ds_add_u32:
    case Opcode::ds_add_rtn_u32:
    case Opcode::global_atomic_add_u32:
    case Opcode::buffer_atomic_add_u32:
      return AtomicOp::add;
    case Opcode::ds_sub_u32:
    case Opcode::ds_sub_rtn_u32:
    case Opcode::global_atomic_sub_u32:
      return AtomicOp::sub;
    case Opcode::global_atomic_swap_b32:
      return AtomicOp::swap;
    case Opcode::global_atomic_cmpswap_b32:
      return AtomicOp::compare_swap;
    case Opcode::ds_min_i32:
    case Opcode::ds_min_rtn_i32:
    case Opcode::global_atomic_min_i32:
      return AtomicOp::min_signed;
    case Opcode::ds_max_i32:
    case Opcode::ds_max_rtn_i32:
    case Opcode::global_atomic_max_i32:
      return AtomicOp::max_signed;
    case Opcode::ds_min_u32:
    case Opcode::ds_min_rtn_u32:
    case Opcode::global_atomic_min_u32:
      return AtomicOp::min_unsigned;
    case Opcode::ds_max_u32:
    case Opcode::ds_max_rtn_u32:
    case Opcode::global_atomic_max_u32:
      return AtomicOp::max_unsigned;
    case Opcode::ds_and_b32:
    case Opcode::global_atomic_and_b32:
      return AtomicOp::bit_and;
    case Opcode::ds_or_b32:
    case Opcode::global_atomic_or_b32:
      return AtomicOp::bit_or;
    case Opcode::ds_xor_b32:
    case Opcode::global_atomic_xor_b32:
      return AtomicOp::bit_xor;
    case Opcode::ds_add_f32:
    case Opcode::ds_add_rtn_f32:
    case Opcode::global_atomic_add_f32:
    case Opcode::buffer_atomic_add_f32:
      return AtomicOp::add_f32;
    case Opcode::global_atomic_pk_add_f16:
    case Opcode::buffer_atomic_pk_add_f16:
      return AtomicOp::pk_add_f16;
    case Opcode::global_atomic_pk_add_bf16:
    case Opcode::buffer_atomic_pk_add_bf16:
      return AtomicOp::pk_add_bf16;
    default:
      return std::nullopt;
  }
}

namespace {

/// Each half by itself; the sum of two 16-bit floats is rounded once, since f32 holds it exactly enough.
template <class Widen, class Narrow>
std::uint32_t add_halves(std::uint32_t a, std::uint32_t b, Widen widen, Narrow narrow) {
  std::uint32_t result = 0;
  for (unsigned h = 0; h < 32; h += 16) {
    const float x = as_f32(widen(a >> h & 0xFFFF));
    const float y = as_f32(widen(b >> h & 0xFFFF));
    result |= narrow(bits_of(x + y)) << h;
  }
  return result;
}

}  // namespace

std::uint32_t atomic_result(AtomicOp op, std::uint32_t old, std::uint32_t operand, std::uint32_t compare) {
  const auto a = static_cast<std::int32_t>(old);
  const auto b = static_cast<std::int32_t>(operand);
  switch (op) {
    case AtomicOp::add:
      return old + operand;
    case AtomicOp::sub:
      return old - operand;
    case AtomicOp::swap:
      return operand;
    case AtomicOp::compare_swap:
      return old == compare ? operand : old;
    case AtomicOp::min_signed:
      return static_cast<std::uint32_t>(std::min(a, b));
    case AtomicOp::max_signed:
      return static_cast<std::uint32_t>(std::max(a, b));
    case AtomicOp::min_unsigned:
      return std::min(old, operand);
    case AtomicOp::max_unsigned:
      return std::max(old, operand);
    case AtomicOp::bit_and:
      return old & operand;
    case AtomicOp::bit_or:
      return old | operand;
    case AtomicOp::bit_xor:
      return old ^ operand;
    case AtomicOp::add_f32:
      return bits_of(as_f32(old) + as_f32(operand));
    case AtomicOp::pk_add_f16:
      return add_halves(old, operand, f16_to_f32, f32_to_f16_nearest);
    case AtomicOp::pk_add_bf16:
      return add_halves(
          old, operand, [](std::uint32_t h) { return h << 16; }, f32_to_bf16_nearest);
  }
  return old;
}

}  // namespace wavejit::sim
