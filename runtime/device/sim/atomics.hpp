// SPDX-License-Identifier: MIT
// Internal: what 32-bit atomics do to the dword they name.
#pragma once

#include <cstdint>
#include <optional>

#include "generator/isa/opcode.hpp"

namespace wavejit::sim {

enum class AtomicOp : std::uint8_t {
  add,
  sub,
  swap,
  compare_swap,
  min_signed,
  max_signed,
  min_unsigned,
  max_unsigned,
  bit_and,
  bit_or,
  bit_xor,
  add_f32,
  pk_add_f16,
  pk_add_bf16
};

/// Of an LDS, global or buffer atomic; empty for anything else.
std::optional<AtomicOp> atomic_op(isa::Opcode op);

/// The dword's next value. `compare` matters to compare_swap only.
std::uint32_t atomic_result(AtomicOp op, std::uint32_t old, std::uint32_t operand, std::uint32_t compare);

}  // namespace wavejit::sim
