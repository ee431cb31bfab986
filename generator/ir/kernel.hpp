// SPDX-License-Identifier: MIT
// Kernel IR: machine-level, small, not SSA. A Kernel is a target, its kernel arguments, its LDS
// regions and a list of basic blocks in layout order; a block may be a counted loop.
//
// Registers. Before register assignment operands name virtual tuples (`isa::Operand::is_virtual`,
// index = position in Kernel::vregs). A tuple may be redefined (accumulators, loop-carried values);
// liveness is computed. VCC, EXEC, SCC, M0 and null are always physical. After assign_registers
// every operand is physical.
//
// Control flow. Blocks execute in order. A block whose `loop` is set is a counted loop whose body
// is that one block: it runs `trip_count` times (constant, >= 1) and has no branch instruction
// until lower_loops writes it. Other control flow is an explicit branch as a block's last
// instruction (label operand = block index).
//
// Life of a loop: templates mark each instruction with a stage; passes::scalar_offsets rewrites
// inductions; passes::pipeline peels and rotates; passes::lower_loops writes the updates, the
// compare and the branch; later passes see plain blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generator/isa/instruction.hpp"
#include "generator/target/target.hpp"

namespace wavejit::ir {

/// A virtual register tuple.
struct VirtualRegister {
  isa::RegClass cls = isa::RegClass::vgpr;
  std::uint8_t width = 1;              ///< dwords
  std::uint8_t align = 1;              ///< first register is a multiple of this
  std::int8_t bank = -1;               ///< wish: first register mod banks == bank; -1 = none
  std::optional<std::uint32_t> fixed;  ///< must be this physical register (kernel inputs)
  std::string name;                    ///< for print and comments
};

/// What memory an instruction touches; lets passes reorder and the printer explain.
struct MemoryTag {
  enum class Space : std::uint8_t { none, global, lds };
  Space space = Space::none;
  std::int16_t object = -1;  ///< Kernel::args index (global) or Kernel::lds index (lds)
  bool ring = false;         ///< LDS only: address is relative to the region's current buffer
};

struct Instruction {
  isa::Instruction mi;
  MemoryTag mem;
  /// Pipeline stage inside a counted loop: iteration i of stage s may run while iteration i-s of
  /// stage 0 ... stage 0 = global loads and their addresses; 1 = consumes them.
  std::uint8_t stage = 0;
  std::string comment;  ///< printed after the instruction
};

/// A register that grows by a constant each iteration: value(i) = start + i * step. The start is
/// set by ordinary instructions before the loop; the update is implied until lower_loops writes it
/// (s_add_u32 for an SGPR, v_add_nc_u32 for a VGPR) at the end of the body.
struct Induction {
  isa::Operand reg;  ///< one-dword virtual register
  std::int64_t step = 0;
  std::uint8_t stage = 0;  ///< the stage whose instructions read it
  /// Known constant start (SGPR set by s_mov before the loop): lets it serve as the loop counter.
  std::optional<std::int64_t> constant_start;
};

struct CountedLoop {
  std::int64_t trip_count = 1;
  std::vector<Induction> inductions;
  std::string name;
};

struct Block {
  std::string label;  ///< unique; printed as ".L<label>" (the entry has the kernel's name)
  std::string comment;
  std::vector<Instruction> insts;
  std::optional<CountedLoop> loop;
  /// Set by lower_loops on a block that branches back to itself; kept for model and printers.
  bool is_loop_body = false;
  std::int64_t trip_count = 0;
};

/// LDS bytes [offset, offset + size). With buffers > 1 the region is a ring: buffer b of the ring
/// starts `distance` bytes after buffer b-1, and an instruction tagged `ring` addresses buffer
/// (iteration mod buffers) — its operands and immediate give the address in buffer 0.
struct LdsRegion {
  std::string name;
  std::uint32_t offset = 0;
  std::uint32_t size = 0;  ///< bytes of the whole region, all buffers
  std::uint32_t buffers = 1;
  std::uint32_t distance = 0;
};

enum class ArgKind : std::uint8_t { buffer, scalar };
enum class Access : std::uint8_t { read, write, read_write };

struct KernelArg {
  std::string
      name;  ///< contract names: activations, weights, scales, zero_points, bias, output, workspace, m
  ArgKind kind = ArgKind::buffer;
  std::uint32_t offset = 0;  ///< bytes in the kernarg segment
  std::uint32_t size = 8;    ///< bytes
  Access access = Access::read;
};

/// Registers that hardware sets before the first instruction, as virtual registers with `fixed`.
struct EntryState {
  isa::Operand kernarg;          ///< SGPR pair
  isa::Operand workgroup_id[3];  ///< kind none when not enabled
  isa::Operand workitem_id;      ///< VGPR: x in [9:0], y [19:10], z [29:20]
  std::uint8_t user_sgprs = 2;
};

struct Kernel {
  std::string name;
  const target::Target* target = nullptr;
  std::vector<KernelArg> args;
  std::uint32_t kernarg_size = 0;
  std::vector<LdsRegion> lds;
  std::vector<VirtualRegister> vregs;
  EntryState entry;
  std::vector<Block> blocks;
  std::uint32_t workgroup_size = 0;  ///< work-items
  bool wgp_mode = true;              ///< gfx10+: workgroup may spread over both CUs of a WGP
  unsigned vgpr_budget = 256;        ///< hard limit for assign_registers; VGPRs and AGPRs together
  unsigned sgpr_budget = 104;
  std::vector<std::string> header;  ///< comment lines printed at the top of the .s

  // Filled by assign_registers.
  bool registers_assigned = false;
  unsigned vgprs_used = 0;  ///< highest VGPR + 1
  unsigned agprs_used = 0;  ///< highest AGPR + 1, where the target has them
  unsigned sgprs_used = 0;  ///< highest plain SGPR + 1, without VCC
  bool uses_vcc = false;

  [[nodiscard]] std::uint32_t lds_bytes() const {
    std::uint32_t end = 0;
    for (const LdsRegion& r : lds) end = std::max(end, r.offset + r.size);
    return end;
  }
};

/// Readable form of the whole kernel, before or after any pass (`emit --dump-after`).
std::string print(const Kernel& kernel);

/// Checks what every pass must leave true: operand counts, classes and widths against the opcode's
/// signature; definitions before uses on every path; tuples within their registers; at most one
/// literal per instruction and the target's scalar-operand limit; LDS regions within the target's
/// limit and disjoint; VMEM immediates in range; branch labels that exist; registers in budget once
/// assigned. The error names block, instruction text and rule.
Result<void> verify(const Kernel& kernel);

}  // namespace wavejit::ir
