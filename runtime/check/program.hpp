// SPDX-License-Identifier: MIT
// The kernel as the analyses see it: issue steps (an instruction, or a VOPD pair that issues as one),
// each with the register units that it reads and writes, in basic blocks with successors.
//
// Registers become units of one small index space, so that an analysis holds plain arrays:
// SGPRs and the other scalar registers keep their numbers (isa::sreg), then come SCC and three units
// that stand for LDS and scratch operations in flight, then the VGPRs and AGPRs that the kernel names.
// Malformed input (indexes out of any range, virtual registers, bad labels) is noted here and leaves no
// trace in the steps, so what follows may index freely.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "generator/lower/lower.hpp"
#include "runtime/check/traits.hpp"

namespace wavejit::check {

namespace unit {
inline constexpr std::uint16_t scc = isa::sreg::count;
inline constexpr std::uint16_t lds_stores = scc + 1;  ///< LDS stores of the wave
inline constexpr std::uint16_t lds_loads = scc + 2;   ///< LDS loads of the wave
inline constexpr std::uint16_t scratch = scc + 3;     ///< scratch stores of the wave
inline constexpr std::uint16_t first_vgpr = scc + 4;
}  // namespace unit
inline constexpr std::uint32_t most_registers = 512;  ///< VGPRs, and AGPRs, that any known target names

/// How an instruction uses an operand; a bit set.
namespace role {
using Bits = std::uint16_t;
inline constexpr Bits data = 1U << 0;  ///< source of the vector or scalar ALU
inline constexpr Bits matrix_a = 1U << 1;
inline constexpr Bits matrix_b = 1U << 2;
inline constexpr Bits matrix_c = 1U << 3;      ///< accumulator, also of a dot product
inline constexpr Bits memory = 1U << 4;        ///< address or data of LDS and vector memory
inline constexpr Bits store_data = 1U << 5;    ///< … the data of a vector store
inline constexpr Bits base = 1U << 6;          ///< scalar part of a memory address: V#, soffset, base pair
inline constexpr Bits mask = 1U << 7;          ///< lane mask: v_cndmask, carry in
inline constexpr Bits lane = 1U << 8;          ///< lane select
inline constexpr Bits keep = 1U << 9;          ///< destination whose old value stays in part: no use of it
inline constexpr Bits implied = 1U << 10;      ///< not named by the text
inline constexpr Bits flag = 1U << 11;         ///< vccz, execz as a source
inline constexpr Bits first_only = 1U << 12;   ///< of a pair of registers, op_sel picks the first twice
inline constexpr Bits second_only = 1U << 13;  ///< … the second twice
inline constexpr Bits by_dpp = 1U << 14;       ///< source of the vector ALU that DPP fetches from other lanes
}  // namespace role

/// Halves of each register that are touched; scalar registers are whole.
inline constexpr std::uint8_t low_half = 1, high_half = 2, both_halves = 3;

struct Access {
  std::uint16_t first = 0;  ///< unit
  std::uint8_t width = 1;
  std::uint8_t halves = both_halves;
  role::Bits roles = 0;

  [[nodiscard]] unsigned end() const { return unsigned{first} + width; }
  [[nodiscard]] bool overlaps(const Access& other) const {
    return first < other.end() && other.first < end();
  }
  [[nodiscard]] bool same(const Access& other) const { return first == other.first && width == other.width; }
};

struct Step {
  std::uint32_t instruction = 0;  ///< index into the kernel's instructions; a pair is this and the next
  std::uint8_t count = 1;
  std::uint8_t passes = 0;  ///< MFMA
  /// First VGPR unit that the step writes at a place that M0 adds to; 0 = it does nothing of the kind. What
  /// M0 picks is in neither list of accesses.
  std::uint16_t indexed_write = 0;
  trait::Bits traits = 0;
  std::uint32_t reads = 0, writes = 0, end = 0;  ///< [reads, writes) and [writes, end) in Program::accesses

  [[nodiscard]] bool is(trait::Bits any) const { return (traits & any) != 0; }
};

inline constexpr std::uint32_t no_block = 0xFFFFFFFF;

struct Block {
  std::uint32_t first = 0, end = 0;  ///< steps
  std::uint32_t next[2] = {no_block, no_block};
};

/// Something wrong that building the program came upon.
struct Oddity {
  enum class What : std::uint8_t {
    opcode,
    operand_count,
    virtual_register,
    register_index,
    branch,
    size
  } what;
  std::uint32_t instruction;
};

struct Program {
  const lower::DecodedKernel* kernel = nullptr;
  const target::Target* target = nullptr;
  std::vector<Step> steps;
  std::vector<Access> accesses;
  std::vector<Block> blocks;            ///< in address order; block 0 is the entry
  std::vector<std::uint32_t> order;     ///< reachable blocks in reverse post-order
  std::vector<std::uint8_t> reachable;  ///< per block
  std::vector<std::uint32_t> block_of;  ///< per step
  std::uint32_t vgprs = 0, agprs = 0;   ///< registers named, as highest index + 1
  std::vector<Oddity> oddities;

  [[nodiscard]] std::uint32_t units() const { return unit::first_vgpr + vgprs + agprs; }
  [[nodiscard]] std::span<const Access> reads(const Step& s) const {
    return {accesses.data() + s.reads, accesses.data() + s.writes};
  }
  [[nodiscard]] std::span<const Access> writes(const Step& s) const {
    return {accesses.data() + s.writes, accesses.data() + s.end};
  }
  /// A malformed instruction reads as one that does nothing.
  [[nodiscard]] const isa::Instruction& instruction(const Step& s, unsigned part = 0) const {
    return instruction_at(s.instruction + part);
  }
  [[nodiscard]] const isa::Instruction& instruction_at(std::uint32_t index) const;
  [[nodiscard]] std::uint64_t address(const Step& s) const {
    return kernel->instructions[s.instruction].address;
  }
  [[nodiscard]] std::string_view text(const Step& s) const {
    return kernel->instructions[s.instruction].text;
  }
  [[nodiscard]] bool is_vector(unsigned u) const { return u >= unit::first_vgpr; }
};

/// Steps and blocks of a kernel. Kernels beyond `most_steps` or `most_blocks` keep only their
/// oddities, among them What::size.
inline constexpr std::size_t most_steps = 1U << 20, most_blocks = 1U << 12;
Program make_program(const lower::DecodedKernel& kernel, const target::Target& target);

/// "v[4:7]", "s3", "vcc_lo", "scc": `width` units from `first`.
std::string unit_name(const Program& program, unsigned first, unsigned width = 1);

}  // namespace wavejit::check
