// SPDX-License-Identifier: MIT
// Runs IR with one lane and sequential memory: what a kernel means, without any knowledge of the
// passes. A global load returns a value made of its address, so a wrong address is a wrong value.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "generator/ir/kernel.hpp"

namespace wavejit::test {

class ScalarInterpreter {
 public:
  explicit ScalarInterpreter(const ir::Kernel& kernel) : kernel_(kernel) {}

  /// Byte offsets (vaddr + soffset + immediate) of global loads in the order in which they ran.
  std::vector<std::uint32_t> loads;

  static std::uint32_t memory(std::uint32_t address) { return address * 2654435761U + 12345U; }

  /// Runs a kernel without counted loops to its end.
  void run() {
    std::size_t block = 0;
    for (std::size_t budget = 0; block < kernel_.blocks.size(); ++budget) {
      if (budget > 100000) throw std::runtime_error("runaway loop");
      std::size_t next = block + 1;
      for (const ir::Instruction& inst : kernel_.blocks[block].insts) {
        if (inst.mi.op == isa::Opcode::s_cbranch_scc1) {
          if (scc_) next = inst.mi.src[0].index;
        } else {
          step(inst, 0, 0);
        }
      }
      block = next;
    }
  }

  /// Runs a kernel whose block `loop` is still a counted loop, iteration by iteration in program
  /// order: the meaning that every rotation must keep.
  void run_unrotated() {
    for (const ir::Block& block : kernel_.blocks) {
      const std::int64_t trips = block.loop ? block.loop->trip_count : 1;
      for (std::int64_t i = 0; i < trips; ++i) {
        for (const ir::Instruction& inst : block.insts) {
          std::uint32_t ring = 0;
          if (inst.mem.ring) {
            const ir::LdsRegion& region = kernel_.lds[static_cast<std::size_t>(inst.mem.object)];
            ring = static_cast<std::uint32_t>(i % region.buffers) * region.distance;
          }
          step(inst, ring, i);
        }
        if (block.loop)
          for (const ir::Induction& ind : block.loop->inductions)
            set(ind.reg, get(ind.reg) + static_cast<std::uint32_t>(ind.step));
      }
    }
  }

  std::uint32_t get(const isa::Operand& o) {
    if (o.kind == isa::Operand::Kind::imm) return static_cast<std::uint32_t>(o.value);
    const auto it = registers_.find(key(o));
    if (it == registers_.end()) throw std::runtime_error("read of an undefined register");
    return it->second;
  }
  void set(const isa::Operand& o, std::uint32_t value) { registers_[key(o)] = value; }

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;
  static Key key(const isa::Operand& o) { return {o.index, o.sub}; }

  void step(const ir::Instruction& inst, std::uint32_t ring, std::int64_t) {
    using enum isa::Opcode;
    const isa::Instruction& m = inst.mi;
    const auto s = [&](unsigned i) { return get(m.src[i]); };
    const auto offset = static_cast<std::uint32_t>(m.mods.offset);
    switch (m.op) {
      case s_mov_b32:
      case v_mov_b32:
        set(m.dst[0], s(0));
        break;
      case v_add_nc_u32:
        set(m.dst[0], s(0) + s(1));
        break;
      case s_add_u32:
      case s_addc_u32: {
        const std::uint64_t wide = std::uint64_t{s(0)} + s(1) + (m.op == s_addc_u32 && scc_ ? 1 : 0);
        set(m.dst[0], static_cast<std::uint32_t>(wide));
        scc_ = wide >> 32 != 0;
        break;
      }
      case s_sub_u32:
      case s_subb_u32: {
        const std::uint64_t taken = std::uint64_t{s(1)} + (m.op == s_subb_u32 && scc_ ? 1 : 0);
        const std::uint32_t from = s(0);
        set(m.dst[0], from - static_cast<std::uint32_t>(taken));
        scc_ = taken > from;
        break;
      }
      case s_sub_i32:
        set(m.dst[0], s(0) - s(1));
        break;
      case s_mul_i32:
        set(m.dst[0], s(0) * s(1));
        break;
      case s_mul_hi_u32:
        set(m.dst[0], static_cast<std::uint32_t>((std::uint64_t{s(0)} * s(1)) >> 32));
        break;
      case s_min_u32: {
        const bool first = s(0) < s(1);
        set(m.dst[0], first ? s(0) : s(1));
        scc_ = first;
        break;
      }
      case s_and_b32:
        set(m.dst[0], s(0) & s(1));
        break;
      case s_cselect_b32:
        set(m.dst[0], scc_ ? s(0) : s(1));
        break;
      case v_subrev_nc_u32:
        set(m.dst[0], s(1) - s(0));
        break;
      case v_xor_b32:
        set(m.dst[0], s(0) ^ s(1));
        break;
      case v_mul_lo_u32:
        set(m.dst[0], s(0) * s(1));
        break;
      case s_lshr_b32:
        set(m.dst[0], s(0) >> s(1));
        break;
      case s_lshl_b32:
        set(m.dst[0], s(0) << s(1));
        break;
      case s_cmp_lg_u32:
        scc_ = s(0) != s(1);
        break;
      case buffer_load_b32: {
        const std::uint32_t address = s(0) + s(2) + offset;
        loads.push_back(address);
        set(m.dst[0], memory(address));
        break;
      }
      case ds_store_b32:
        lds_[s(0) + offset + ring] = s(1);
        break;
      case ds_load_b32: {
        const auto it = lds_.find(s(0) + offset + ring);
        if (it == lds_.end()) throw std::runtime_error("LDS read of bytes never written");
        set(m.dst[0], it->second);
        break;
      }
      case s_barrier:
      case s_endpgm:
        break;
      default:
        throw std::runtime_error("instruction outside the interpreter: " + std::string(m.info().name));
    }
  }

  const ir::Kernel& kernel_;
  std::map<Key, std::uint32_t> registers_;
  std::map<std::uint32_t, std::uint32_t> lds_;
  bool scc_ = false;
};

}  // namespace wavejit::test
