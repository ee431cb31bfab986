// SPDX-License-Identifier: MIT
// Internal: a kernel as the simulator keeps it. Each instruction is resolved once into operand
// indices, a handler and the sets of registers that the checks need.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "generator/isa/instruction.hpp"
#include "generator/lower/lower.hpp"
#include "generator/target/target.hpp"

// Functions in headers that the vector units (exec/) include must not leave a copy compiled for
// AVX2 where the linker may pick it for a machine without.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// Instrumented code is too large to inline everywhere, and some of these are called through pointers.
#define WJ_SIM_INLINE inline
#else
#define WJ_SIM_INLINE [[gnu::always_inline]] inline
#endif

namespace wavejit::sim {
class Wave;
}

namespace wavejit::sim::detail {

inline constexpr unsigned max_lanes = 64;
inline constexpr unsigned vector_registers = 512;  ///< 256 VGPRs, then 256 AGPRs

/// Scalar state by number: SGPRs as in isa::sreg, then what has no register number.
inline constexpr unsigned scc_index = isa::sreg::count;
inline constexpr unsigned vccz_index = scc_index + 1;   ///< read only, computed
inline constexpr unsigned execz_index = scc_index + 2;  ///< read only, computed
inline constexpr unsigned scalar_registers = 192;

template <unsigned Bits>
struct BitSet {
  static constexpr unsigned words = Bits / 64;
  std::array<std::uint64_t, words> w{};

  WJ_SIM_INLINE void set(unsigned i) { w[i / 64] |= std::uint64_t{1} << i % 64; }
  WJ_SIM_INLINE void reset(unsigned i) { w[i / 64] &= ~(std::uint64_t{1} << i % 64); }
  WJ_SIM_INLINE bool test(unsigned i) const { return (w[i / 64] >> i % 64 & 1) != 0; }
  WJ_SIM_INLINE bool meets(const BitSet& o) const {
    std::uint64_t any = 0;
    for (unsigned i = 0; i < words; ++i) any |= w[i] & o.w[i];
    return any != 0;
  }
  [[nodiscard]] WJ_SIM_INLINE bool any() const {
    std::uint64_t all = 0;
    for (unsigned i = 0; i < words; ++i) all |= w[i];
    return all != 0;
  }
};
using VectorSet = BitSet<vector_registers>;
using ScalarSet = BitSet<scalar_registers>;

struct Source {
  enum class Kind : std::uint8_t { none, vgpr, sgpr, constant };
  Kind kind = Kind::none;
  std::uint8_t width = 1;  ///< dwords
  bool neg = false, abs = false;
  bool high = false;        ///< 16-bit operand in the high half
  std::uint16_t reg = 0;    ///< VGPR number (AGPRs from 256) or scalar number
  std::uint64_t value = 0;  ///< constant; float constants already in the operand's own format
};

/// Halves of a register: bit 0 low, bit 1 high.
inline constexpr std::uint8_t low_half = 1, high_half = 2, both_halves = 3;

struct Touch {
  std::uint16_t reg = 0;
  std::uint8_t halves = both_halves;
  std::uint8_t source = 0;  ///< operand number, for reports
};

/// Which lanes of its VGPR sources an instruction looks at.
enum class LaneUse : std::uint8_t { exec, all, first_active, selected, none };

/// What an undefined input does.
enum class OnUndefined : std::uint8_t {
  report,     ///< arithmetic, addresses, branches, stores
  propagate,  ///< moves, selects and bit operations: the bits that depend on it become undefined
};

/// Whose rounding mode applies.
enum class FloatClass : std::uint8_t { none, f32, f16 };

struct Inst;
using Execute = void (*)(Wave&, const Inst&);

struct Inst {
  Execute execute = nullptr;
  isa::Opcode op = isa::Opcode::invalid;
  isa::Pipe pipe = isa::Pipe::hint;
  FloatClass floats = FloatClass::none;
  OnUndefined on_undefined = OnUndefined::report;
  LaneUse lanes = LaneUse::exec;
  bool dual_first = false;  ///< x of a VOPD pair: the next instruction issues with it
  bool out_of_allocation = false;
  bool writes_all_lanes = false;  ///< ignores EXEC
  bool clears_high = false;       ///< a 16-bit result that clears the other half
  std::uint8_t src_count = 0;
  std::array<Source, 5> src{};
  bool has_dst = false, dst_scalar = false, dst_high = false;
  bool has_dst2 = false;  ///< carry or mask out: scalar
  std::uint8_t dst_width = 1;
  std::uint16_t dst = 0, dst2 = 0;
  isa::Modifiers mods{};
  std::uint32_t index = 0;                    ///< in DecodedKernel::instructions
  std::uint32_t target = 0;                   ///< branch: position in Code::insts
  std::uint8_t word_begin = 0, word_end = 0;  ///< words of vread and vwrite that are not 0
  VectorSet vread{}, vwrite{};
  ScalarSet sread{}, swrite{};
  std::uint32_t reads_begin = 0, writes_begin = 0;  ///< in Code::touches
  std::uint16_t reads_count = 0, writes_count = 0;
};

/// Where hardware puts what it sets before the first instruction (hardware.md §9.2).
struct EntryLayout {
  std::uint8_t user_sgprs = 0;
  int private_buffer = -1, dispatch_ptr = -1, queue_ptr = -1, kernarg_ptr = -1, dispatch_id = -1,
      flat_scratch = -1, private_size = -1;
  std::array<int, 3> workgroup_id{-1, -1, -1};
  int workgroup_info = -1;
  bool ids_in_ttmp = false;
  std::uint8_t workitem_id_dims = 1;
  /// Kernel arguments that hardware copies into SGPRs: first SGPR, dwords, first dword of the segment.
  unsigned preload_first = 0, preload_count = 0, preload_offset = 0;
};

struct InstText {
  std::string text;
  std::uint64_t address = 0;
  std::uint32_t line = 0;  ///< in Code::source; 0 = not known
};

struct Code {
  const target::Target* target = nullptr;
  std::string name;
  lower::KernelDescriptor descriptor{};
  unsigned lanes = 32;
  unsigned allocated_vgprs = 0;  ///< per the descriptor, AGPRs not counted
  unsigned allocated_agprs = 0;
  unsigned scratch_rows = 0;      ///< first of the rows that the simulator keeps for itself (SDWA)
  std::uint32_t entry_index = 0;  ///< instruction that waves start at
  unsigned register_rows = 0;     ///< rows that a wave's register file needs
  unsigned lds_bytes = 0, private_bytes = 0, kernarg_bytes = 0;
  unsigned max_workgroup_size = 0;
  std::uint32_t mode = 0;  ///< MODE at entry
  bool xnack_off = false;  ///< the object runs only where memory instructions are never issued again
  EntryLayout entry;
  std::vector<Inst> insts;
  std::vector<Touch> touches;
  std::vector<InstText> texts;          ///< by Inst::index
  std::string source;                   ///< name of the file that the lines are of
  std::vector<std::uint32_t> reserved;  ///< instructions with bits set that must be 0
  std::string reserved_in_descriptor;   ///< fields of the kernel descriptor with such bits
  std::array<std::uint32_t, 3> required_workgroup_size{};
};

}  // namespace wavejit::sim::detail
