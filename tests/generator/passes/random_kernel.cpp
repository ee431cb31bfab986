// SPDX-License-Identifier: MIT
#include "tests/generator/passes/random_kernel.hpp"

namespace wavejit::test {
namespace {

constexpr unsigned registers = 16;

class Writer {
 public:
  Writer(LateKernel& kernel, const RandomProgram& shape, unsigned seed)
      : k_(kernel), shape_(shape), random_(seed) {}

  void fill_block() {
    for (unsigned i = 0; i < shape_.instructions; ++i) shape_.alu_only ? alu() : any();
  }

  unsigned below(unsigned limit) { return std::uniform_int_distribution<unsigned>(0, limit - 1)(random_); }

 private:
  unsigned width() { return 1U << below(3); }
  unsigned tuple(unsigned w) { return below(registers / w) * w; }

  void alu() {
    switch (below(7)) {
      case 0:
        k_.add3(tuple(1), tuple(1), tuple(1));
        break;
      case 1:
        k_.add(Opcode::v_exp_f32, {vgpr(tuple(1))}, {vgpr(tuple(1))});
        break;
      case 2:
        k_.add(Opcode::s_add_u32, {sgpr(tuple(1))}, {sgpr(tuple(1)), imm(4)});
        break;
      case 3:
        k_.add(Opcode::v_fmac_f32, {vgpr(tuple(1))}, {vgpr(tuple(1)), vgpr(tuple(1))});
        break;
      case 4:
        k_.add(Opcode::v_add_nc_u32, {vgpr(tuple(1))}, {sgpr(tuple(1)), vgpr(tuple(1))});
        break;
      case 5:
        k_.add(Opcode::v_cvt_f32_i32, {vgpr(tuple(1))}, {vgpr(tuple(1))});
        break;
      default: {
        // D apart from A and B, as the instruction asks.
        const unsigned d = 16 + 8 * below(2);
        below(3) == 0 ? k_.wmma(0, d, 8) : k_.wmma(d, 0, 8);
      }
    }
  }

  void any() {
    const unsigned w = width();
    const unsigned v = tuple(w);
    switch (below(14)) {
      case 0:
      case 1:
      case 2:
        k_.load(v, w);
        break;
      case 3:
      case 4:
        k_.lds_load(v, w);
        break;
      case 5:
        k_.lds_store(v, w);
        break;
      case 6:
        k_.store(v, w).mem.object = static_cast<std::int16_t>(below(2));
        break;
      case 7:
        if (shape_.scalar_loads) k_.scalar_load(v, w);
        break;
      case 8:
        k_.barrier();
        break;
      case 9:
        k_.add(below(2) == 0 ? Opcode::buffer_load_d16_b16 : Opcode::buffer_load_d16_hi_b16, {vgpr(v)},
               {vgpr(tuple(1)), sgpr(96, 4), imm(0)})
            .mi.mods.offen = true;
        break;
      case 10:
        if (shape_.given_waits) given_wait();
        break;
      default:
        alu();
    }
  }

  void given_wait() {
    if (k_.kernel.target->has_split_counters()) {
      const Opcode op = below(2) == 0 ? Opcode::s_wait_loadcnt : Opcode::s_wait_dscnt;
      k_.add(op, {}, {imm(below(4))});
      return;
    }
    isa::WaitCounts counts;
    counts.vmcnt = static_cast<std::uint8_t>(below(4));
    if (below(2) == 0) counts.lgkmcnt = static_cast<std::uint8_t>(below(3));
    k_.add(Opcode::s_waitcnt, {}, {imm(isa::encode_waitcnt(counts, *k_.kernel.target))});
  }

  LateKernel& k_;
  RandomProgram shape_;
  std::mt19937 random_;
};

}  // namespace

LateKernel random_kernel(const target::Target& target, const RandomProgram& shape, unsigned seed) {
  LateKernel k(target);
  k.kernel.args = {{"weights", ir::ArgKind::buffer, 0, 8, ir::Access::write},
                   {"workspace", ir::ArgKind::buffer, 8, 8, ir::Access::read_write}};
  Writer writer(k, shape, seed);
  for (unsigned b = 0; b < shape.blocks; ++b) {
    if (b > 0) k.block("b" + std::to_string(b));
    writer.fill_block();
    const bool last = b + 1 == shape.blocks;
    if (last)
      k.end();
    else if (writer.below(4) != 0)
      k.branch_if_scc1(writer.below(shape.blocks));
  }
  return k;
}

}  // namespace wavejit::test
