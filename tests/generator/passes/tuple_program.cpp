// SPDX-License-Identifier: MIT
#include "tests/generator/passes/tuple_program.hpp"

#include <random>
#include <set>

#include "generator/ir/builder.hpp"

namespace wavejit::test {
namespace {

using isa::Opcode;
using isa::Operand;
using isa::RegClass;

/// A tuple and which of its dwords hold something on every path to here.
struct Tuple {
  Operand reg;
  std::set<unsigned> defined;
};

class Writer {
 public:
  Writer(ir::Kernel& kernel, const TupleProgram& shape, unsigned seed)
      : b_(kernel), shape_(shape), random_(seed) {
    entry();
    for (unsigned i = 0; i < shape.regions; ++i) region(i);
    b_.block("last");
    for (Tuple& t : vector_)
      if (whole(t) && below(2) == 0) store(t.reg.slice(0));
    b_.emit(Opcode::s_endpgm, {}, {});
  }

 private:
  unsigned below(unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(random_); }
  static bool whole(const Tuple& t) { return t.defined.size() == t.reg.width; }

  void entry() {
    ir::EntryState& e = b_.kernel().entry;
    e.kernarg = b_.fixed(RegClass::sgpr, "kernarg", 0, 2);
    e.workgroup_id[0] = b_.fixed(RegClass::sgpr, "group_x", 2);
    e.workgroup_id[1] = b_.fixed(RegClass::sgpr, "group_y", 3);
    e.workitem_id = b_.fixed(RegClass::vgpr, "item", 0);
    b_.block("entry");
    descriptor_ = b_.sgpr("descriptor", 4);
    b_.emit(Opcode::s_load_b128, {descriptor_}, {e.kernarg, isa::imm(16)});
    scalar_ = {{e.workgroup_id[0], {0}}, {e.workgroup_id[1], {0}}, {e.kernarg, {0, 1}}};
    vector_ = {{e.workitem_id, {0}}};
    for (unsigned i = 0; i < 6; ++i) instruction();
    if (shape_.matrix)
      for (unsigned i = 0; i < 3; ++i) fill_matrix_pools();
  }

  /// A tuple for each place of a matrix instruction, all written.
  void fill_matrix_pools() {
    for (auto* pool : {&a_, &b_tuples_, &c_}) {
      const unsigned width = pool != &c_ && below(3) == 0 ? 16 : 8;
      const Operand reg = b_.vgpr("m", width);
      for (unsigned d = 0; d < width; d += 4) load(reg.slice(d, 4));
      pool->push_back(reg);
    }
  }

  void load(const Operand& to) {
    const Opcode op = to.width == 4   ? Opcode::buffer_load_b128
                      : to.width == 2 ? Opcode::buffer_load_b64
                                      : Opcode::buffer_load_b32;
    b_.emit(op, {to}, {vector_source(), descriptor_, isa::imm(0)}).mi.mods.offen = true;
  }
  void store(const Operand& from) {
    b_.emit(Opcode::buffer_store_b32, {}, {from, vector_source(), descriptor_, isa::imm(0)}).mi.mods.offen =
        true;
  }

  Operand vector_source() {
    for (unsigned tries = 0; tries < 8; ++tries) {
      const Tuple& t = vector_[below(static_cast<unsigned>(vector_.size()))];
      const unsigned d = below(t.reg.width);
      if (t.defined.contains(d)) return t.reg.slice(d);
    }
    return vector_.front().reg;  // the work-item id, which nothing overwrites
  }
  Operand scalar_source() {
    const Tuple& t = scalar_[below(static_cast<unsigned>(scalar_.size()))];
    for (const unsigned d : t.defined)
      if (below(2) == 0) return t.reg.slice(d);
    return scalar_.front().reg;
  }

  /// A new tuple, or an old one to be written again; inductions are left alone.
  Tuple& vector_target(unsigned width) {
    if (below(3) == 0)
      for (unsigned tries = 0; tries < 4; ++tries) {
        const unsigned i = below(static_cast<unsigned>(vector_.size()));
        if (i > 0 && vector_[i].reg.width == width && !frozen_.contains(vector_[i].reg.index))
          return vector_[i];
      }
    vector_.push_back({b_.vgpr("t", width), {}});
    return vector_.back();
  }

  void define(Tuple& t, unsigned first, unsigned count) {
    for (unsigned d = first; d < first + count; ++d) t.defined.insert(d);
  }

  void instruction() {
    switch (below(shape_.matrix && !a_.empty() ? 11 : 9)) {
      case 0:
      case 1: {
        const Operand x = vector_source(), y = vector_source(), z = vector_source();
        Tuple& t = vector_target(1);
        b_.emit(Opcode::v_add3_u32, {t.reg}, {x, y, z});
        define(t, 0, 1);
        break;
      }
      case 2: {
        const unsigned width = 1U << below(3);
        Tuple& t = vector_target(width);
        load(t.reg);
        define(t, 0, width);
        break;
      }
      case 3:
        half_writes();
        break;
      case 4: {
        const Operand x = vector_source();
        Tuple& t = vector_target(1);
        b_.emit(Opcode::v_mov_b32, {t.reg}, {x});
        define(t, 0, 1);
        break;
      }
      case 5:
        scalar();
        break;
      case 6: {
        Tuple& t = vector_[below(static_cast<unsigned>(vector_.size()))];
        if (whole(t) && t.reg.index != vector_.front().reg.index && !frozen_.contains(t.reg.index))
          b_.emit(Opcode::v_fmac_f32, {t.reg.slice(t.reg.width - 1U)}, {vector_source(), vector_source()});
        break;
      }
      case 7:
        store(vector_source());
        break;
      case 8: {
        const Operand amount = vector_source(), low = vector_source();
        Tuple& t = vector_target(2);
        b_.emit(Opcode::v_mov_b32, {t.reg.slice(0)}, {low});
        b_.emit(Opcode::v_mov_b32, {t.reg.slice(1)}, {amount});
        b_.emit(Opcode::v_lshlrev_b64, {t.reg}, {amount, t.reg});
        define(t, 0, 2);
        break;
      }
      default:
        matrix();
    }
  }

  void half_writes() {
    const Operand x = vector_source(), y = vector_source(), z = vector_source();
    Tuple& t = vector_target(1U << below(3));
    const unsigned d = below(t.reg.width);
    for (const unsigned sel : {0U, 8U}) {
      b_.emit(Opcode::v_dot2_bf16_bf16, {t.reg.slice(d)}, {x, y, z}).mi.mods.op_sel =
          static_cast<std::uint8_t>(sel);
      if (sel == 0 && below(2) == 0) b_.emit(Opcode::v_mov_b32, {scratch()}, {vector_source()});
    }
    define(t, d, 1);
  }

  Operand scratch() { return b_.vgpr("unread"); }

  void scalar() {
    const Operand x = scalar_source();
    switch (below(3)) {
      case 0: {
        scalar_.push_back({b_.sgpr("s"), {0}});
        b_.emit(Opcode::s_add_u32, {scalar_.back().reg}, {x, isa::imm(static_cast<int>(below(60)))});
        break;
      }
      case 1: {
        const unsigned width = 2U << below(2);
        const Operand reg = b_.sgpr("q", width);
        b_.emit(width == 2 ? Opcode::s_load_b64 : Opcode::s_load_b128, {reg}, {scalar_[2].reg, isa::imm(0)});
        scalar_.push_back({reg, {}});
        define(scalar_.back(), 0, width);
        break;
      }
      default:
        scalar_.push_back({b_.sgpr("f"), {0}});
        b_.emit(Opcode::v_readfirstlane_b32, {scalar_.back().reg}, {vector_source()});
    }
  }

  void matrix() {
    const auto pick = [&](const std::vector<Operand>& pool) {
      return pool[below(static_cast<unsigned>(pool.size()))];
    };
    const Operand a = pick(a_), bb = pick(b_tuples_), c = pick(c_);
    const Operand d = below(4) == 0 ? b_.vgpr("d", 8) : c;
    b_.emit(Opcode::v_wmma_f32_16x16x16_bf16, {d}, {a.slice(a.width - 8U, 8), bb.slice(bb.width - 8U, 8), c});
    if (d.index != c.index) c_.push_back(d);
  }

  void body(unsigned count) {
    for (unsigned i = 0; i < count; ++i) instruction();
  }

  void region(unsigned i) {
    const std::string name = "r" + std::to_string(i);
    switch (below(shape_.masks ? 5 : 4)) {
      case 0:
        b_.block(name);
        body(shape_.instructions);
        break;
      case 1:
        counted_loop(name);
        break;
      case 2:
        written_loop(name);
        break;
      case 3:
        branch(name);
        break;
      default:
        mask(name);
    }
  }

  void counted_loop(const std::string& name) {
    const Operand k = below(2) == 0 ? b_.sgpr("k") : b_.vgpr("k");
    b_.emit(k.is_sgpr() ? Opcode::s_mov_b32 : Opcode::v_mov_b32, {k}, {isa::imm(3)});
    frozen_.insert(k.index);
    (k.is_sgpr() ? scalar_ : vector_).push_back({k, {0}});
    b_.block(name);
    ir::CountedLoop& loop = b_.make_loop(name, 1 + below(3));
    loop.inductions.push_back({k, 16, 0, std::nullopt});
    body(shape_.instructions);
    b_.block(name + "_after");
  }

  void written_loop(const std::string& name) {
    const std::uint32_t head = b_.block(name);
    body(shape_.instructions);
    b_.emit(Opcode::s_cmp_lt_u32, {}, {scalar_source(), isa::imm(7)});
    b_.emit(Opcode::s_cbranch_scc1, {}, {isa::label(head)});
    b_.block(name + "_after");
  }

  /// What the skipped block defines is not defined behind it.
  void branch(const std::string& name) {
    b_.emit(Opcode::s_cmp_lt_u32, {}, {scalar_source(), isa::imm(9)});
    const std::uint32_t skipped = static_cast<std::uint32_t>(b_.kernel().blocks.size());
    b_.emit(Opcode::s_cbranch_scc0, {}, {isa::label(skipped + 1)});
    const auto vector = vector_;
    const auto scalar = scalar_;
    const auto c = c_;
    b_.block(name + "_then");
    body(shape_.instructions / 2);
    vector_ = vector;
    scalar_ = scalar;
    c_ = c;
    b_.block(name + "_join");
    body(shape_.instructions / 2);
  }

  /// Lanes off in the middle of a block. Matrix instructions need all lanes, so none there.
  void mask(const std::string& name) {
    b_.block(name);
    body(shape_.instructions / 3);
    const unsigned wave = b_.kernel().target->wave_size;
    const Operand saved = b_.sgpr("saved", wave / 32);
    b_.emit(Opcode::v_cmp_lt_u32, {isa::vcc(wave)}, {vector_source(), vector_source()});
    b_.emit(Opcode::s_and_saveexec_b32, {saved}, {isa::vcc(wave)});
    const bool matrix = std::exchange(shape_.matrix, false);
    body(shape_.instructions / 3);
    shape_.matrix = matrix;
    if (below(2) == 0) {
      b_.emit(Opcode::s_or_b32, {isa::exec(wave)}, {isa::exec(wave), saved});
    } else {
      b_.emit(Opcode::s_mov_b32, {isa::exec(wave)}, {isa::imm(-1)});
    }
    body(shape_.instructions / 3);
  }

  ir::Builder b_;
  TupleProgram shape_;
  std::mt19937 random_;
  Operand descriptor_;
  std::vector<Tuple> vector_, scalar_;
  std::vector<Operand> a_, b_tuples_, c_;
  std::set<std::uint32_t> frozen_;
};

}  // namespace

ir::Kernel random_tuple_kernel(const target::Target& target, const TupleProgram& shape, unsigned seed) {
  ir::Kernel kernel;
  kernel.name = "random" + std::to_string(seed);
  kernel.target = &target;
  kernel.workgroup_size = 256;
  Writer writer(kernel, shape, seed);
  return kernel;
}

}  // namespace wavejit::test
