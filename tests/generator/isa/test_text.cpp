// SPDX-License-Identifier: MIT
// Text forms by hand, as LLVM 22's assembler and disassembler write them.
#include <catch2/catch.hpp>
#include <random>
#include <span>

#include "generator/isa/instruction.hpp"

namespace wavejit {
namespace {

using isa::Dual;
using isa::Half;
using isa::Instruction;
using isa::Opcode;

const target::Target& gfx1151() { return *target::find("gfx1151"); }

/// `simm16` stands in the low half of the encoding, where SOPP and SOPK have it.
Result<isa::Parsed> parse(std::string_view text, std::uint16_t simm16 = 0) {
  const std::uint8_t encoding[] = {static_cast<std::uint8_t>(simm16), static_cast<std::uint8_t>(simm16 >> 8),
                                   0, 0};
  return isa::parse_disassembly(text, encoding, gfx1151());
}

Instruction parsed(std::string_view text, std::uint16_t simm16 = 0) {
  const auto result = parse(text, simm16);
  INFO(text << ": " << (result ? std::string() : result.error().message));
  REQUIRE(result);
  REQUIRE(result->count == 1);
  return result->inst[0];
}

TEST_CASE("halves set op_sel too", "[isa]") {
  const Instruction dot = parsed("v_dot2_bf16_bf16 v1.h, v2, v3, 0 op_sel:[0,0,0,1]");
  CHECK(dot.op == Opcode::v_dot2_bf16_bf16);
  CHECK(dot.dst[0].half == Half::high);
  CHECK(dot.mods.op_sel == 8);
  CHECK(dot.src[2] == isa::imm(0));
  const Instruction add = parsed("v_add_f16_e32 v1.h, v2.l, v3.h");
  CHECK(add.mods.op_sel == 6);
  CHECK(add.src[0].half == Half::low);
}

TEST_CASE("memory operands", "[isa]") {
  const Instruction load = parsed("buffer_load_b128 v[0:3], v4, s[4:7], s8 offen offset:16 glc");
  CHECK(load.dst[0] == isa::vgpr(0, 4));
  CHECK(load.src[0] == isa::vgpr(4));
  CHECK(load.src[1] == isa::sgpr(4, 4));
  CHECK(load.src[2] == isa::sgpr(8));
  CHECK(load.mods.offen);
  CHECK(load.mods.glc);
  CHECK(load.mods.offset == 16);
  CHECK(parsed("buffer_load_b32 v0, off, s[4:7], 0").src[0].kind == isa::Operand::Kind::none);
  CHECK(parsed("global_load_b32 v0, v[2:3], off").src[1] == isa::null_reg());
  CHECK(parsed("global_store_b32 v0, v1, s[2:3] offset:-16").mods.offset == -16);
  CHECK(parsed("s_load_b128 s[8:11], s[0:1], null").src[1] == isa::imm(0));
  CHECK(parsed("s_load_b32 s0, s[2:3], s5 offset:0x10").mods.offset == 16);
  const Instruction two = parsed("ds_load_2addr_b32 v[0:1], v2 offset0:1 offset1:2");
  CHECK(two.mods.offset0 == 1);
  CHECK(two.mods.offset1 == 2);
  CHECK(parsed("ds_swizzle_b32 v0, v1 offset:swizzle(BITMASK_PERM, \"00p11\")", 0x1234).mods.offset ==
        0x1234);
}

TEST_CASE("operand modifiers and constants", "[isa]") {
  const Instruction fma = parsed("v_fma_f32 v0, -v1, |v2|, -|s3|");
  CHECK(fma.src[0].neg);
  CHECK_FALSE(fma.src[0].abs);
  CHECK(fma.src[1].abs);
  CHECK(fma.src[2].neg);
  CHECK(fma.src[2].abs);
  CHECK(parsed("v_add_f32_e64 v0, neg(1.0), v1").src[0].neg);
  CHECK(parsed("v_mov_b32_e32 v0, -4.0").src[0] == isa::fimm(0xC0800000));
  CHECK(parsed("v_mov_b32_e32 v0, 0.15915494").src[0] == isa::fimm(0x3E22F983));
  CHECK(parsed("v_mov_b32_e32 v0, 0xffffff9c").src[0] == isa::imm(0xFFFFFF9C));
  CHECK(parsed("v_mov_b32_e32 v0, -16").src[0] == isa::imm(-16));
  // What LLVM 22 prints for a literal whose value has an inline form (recorded RDNA3 vectors have such).
  CHECK(parsed("v_add_f32_e64 v1, v0, lit(0x0) clamp").src[1] == isa::imm(0));
  CHECK(parsed("v_add_co_ci_u32_e64 v0, null, lit(0xffffffff), 1, s6").src[0] == isa::imm(0xFFFFFFFF));
  CHECK(parsed("v_mov_b32_e32 v0, src_scc").src[0] == isa::special(isa::Special::scc));
  CHECK(parsed("s_mov_b32 exec_lo, ttmp9").src[0] == isa::sgpr(isa::sreg::ttmp0 + 9));
  CHECK(parsed("s_mov_b64 vcc, exec").dst[0] == isa::sgpr(isa::sreg::vcc_lo, 2));
}

TEST_CASE("immediates come from the encoding", "[isa]") {
  CHECK(parsed("s_waitcnt vmcnt(3) lgkmcnt(0)", 0x0C07).src[0] == isa::imm(0x0C07));
  CHECK(parsed("s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(SALU_CYCLE_1)", 0x0491).src[0] ==
        isa::imm(0x0491));
  CHECK(parsed("s_movk_i32 s0, 0xfffb", 0xFFFB).src[0] == isa::imm(-5));
  CHECK(parsed("s_cmpk_lg_u32 s0, 0xfffb", 0xFFFB).src[1] == isa::imm(0xFFFB));
  CHECK(parsed("s_cbranch_scc1 65520", 0xFFF0).src[0] == isa::imm(-16));
  const Instruction set = parsed("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3", 0x0801);
  CHECK(set.src[0] == isa::imm(0x0801));
  CHECK(set.src[1] == isa::imm(3));
}

TEST_CASE("a dual pair is two instructions", "[isa]") {
  const auto pair = parse("v_dual_cndmask_b32 v1, v2, v3 :: v_dual_mul_f32 v2, v4, v5");
  REQUIRE(pair);
  REQUIRE(pair->count == 2);
  CHECK(pair->inst[0].op == Opcode::v_cndmask_b32);
  CHECK(pair->inst[0].dual == Dual::x);
  CHECK(pair->inst[0].src[2] == isa::vcc(32));
  CHECK(pair->inst[1].op == Opcode::v_mul_f32);
  CHECK(pair->inst[1].dual == Dual::y);
}

TEST_CASE("DPP", "[isa]") {
  const isa::Dpp dpp =
      parsed("v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0x7 bound_ctrl:1").mods.dpp;
  CHECK(dpp.kind == isa::Dpp::Kind::dpp16);
  CHECK(dpp.ctrl == 0x111);
  CHECK(dpp.bank_mask == 7);
  CHECK(dpp.bound_ctrl);
  CHECK(parsed("v_add_f32_dpp v0, v1, v2 dpp8:[7,6,5,4,3,2,1,0]").mods.dpp.lanes == 0x053977);
  CHECK(parsed("v_add_f32_e64_dpp v0, v1, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf").mods.dpp.ctrl ==
        0xB1);
}

TEST_CASE("what is not understood is named", "[isa]") {
  const auto message = [](std::string_view text) {
    const auto result = parse(text);
    REQUIRE_FALSE(result);
    CHECK(result.error().code == ErrorCode::unknown_instruction);
    return result.error().message;
  };
  CHECK(message("v_frobnicate_b32 v0, v1").find("v_frobnicate_b32") != std::string::npos);
  CHECK(message("v_mov_b32_e32 v0, w1").find("w1") != std::string::npos);
  CHECK(message("v_mov_b32_e32 v0").find("operands") != std::string::npos);
  CHECK(message("v_mov_b32_e32 v0, v1, v2").find("operands") != std::string::npos);
  CHECK(message("v_add_f32_e64 v0, v1, v2 frob:1").find("frob:1") != std::string::npos);
  CHECK(message("v_mov_b32_sdwa v0, v1 dst_sel:HALF").find("dst_sel:HALF") != std::string::npos);
  CHECK(message("v_mov_b32_e32 v[3:1], v1").find("v[3:1]") != std::string::npos);
  CHECK(message("v_mov_b32_e32 v0, v99999").find("v99999") != std::string::npos);
  message("");
  message(",,,");
  message("v_mov_b32 , , , , , , , , , , ,");
  message("v_dual_mov_b32 v0, v1 :: ");
}

TEST_CASE("damaged text is an error or an instruction, never a crash", "[isa]") {
  const std::string lines[] = {
      "buffer_load_b128 v[0:3], v4, s[4:7], s8 offen offset:16 glc",
      "v_dual_cndmask_b32 v1, v2, v3 :: v_dual_mul_f32 v2, v4, v5",
      "v_mov_b32_dpp v0, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",
      "v_pk_fma_f16 v0, v1, v2, v3 op_sel:[0,1,0] op_sel_hi:[1,0,1] neg_lo:[1,0,0]",
      "v_fma_f32 v0, -|v1|, neg(1.0), 0x40490fdb clamp mul:2",
      "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3",
  };
  const std::string_view junk = " ,:[]()|-.0189xvsaoffe_\t";
  std::mt19937 random(1);
  unsigned refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = lines[random() % std::size(lines)];
    for (unsigned n = 1 + random() % 3; n > 0; --n)
      text[random() % text.size()] = junk[random() % junk.size()];
    text.resize(random() % 4 == 0 ? random() % text.size() : text.size());
    const auto result = parse(text);
    if (!result) {
      ++refused;
      REQUIRE(result.error().code == ErrorCode::unknown_instruction);
    }
  }
  CHECK(refused > 10000);
}

TEST_CASE("SDWA and bitop3 of gfx9", "[isa]") {
  target::Target gfx9 = gfx1151();
  gfx9.generation = target::Generation::gfx9;
  gfx9.wave_size = 64;
  const std::uint8_t encoding[8] = {};
  for (const std::string_view text :
       {"v_ashrrev_i32_sdwa v1, v2, sext(v3) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD "
        "src1_sel:BYTE_1",
        "v_cvt_f32_i32_sdwa v1, sext(v2) dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0",
        "v_bitop3_b32 v0, v1, s2, v3 bitop3:0x6c"}) {
    const auto result = isa::parse_disassembly(text, encoding, gfx9);
    INFO(text << (result ? std::string() : result.error().message));
    REQUIRE(result);
    CHECK(isa::to_text(result->inst[0], gfx9) == text);
    const bool preserves = text.find("PRESERVE") != std::string_view::npos;
    CHECK(isa::reads_destination(result->inst[0]) == preserves);
  }
}

TEST_CASE("waits, delays and messages print by name", "[isa]") {
  const auto text = [](Opcode op, std::int64_t value) {
    Instruction inst;
    inst.op = op;
    inst.src[0] = isa::imm(value);
    inst.src_count = 1;
    return isa::to_text(inst, gfx1151());
  };
  CHECK(text(Opcode::s_waitcnt, 0x0C07) == "s_waitcnt vmcnt(3) lgkmcnt(0)");
  CHECK(text(Opcode::s_waitcnt, 0xFFF7) == "s_waitcnt 0xfff7");
  CHECK(text(Opcode::s_delay_alu, 0x0491) ==
        "s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(SALU_CYCLE_1)");
  CHECK(text(Opcode::s_sendmsg, 3) == "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)");
  CHECK(text(Opcode::s_waitcnt_depctr, 0x0F9F) == "s_waitcnt_depctr depctr_va_vdst(0)");
  CHECK(text(Opcode::s_clause, 3) == "s_clause 3");
}

TEST_CASE("defaults are not printed", "[isa]") {
  Instruction pk;
  pk.op = Opcode::v_pk_mul_f16;
  pk.dst_count = 1;
  pk.src_count = 2;
  pk.dst[0] = isa::vgpr(0);
  pk.src = {isa::vgpr(1), isa::vgpr(2)};
  CHECK(isa::to_text(pk, gfx1151()) == "v_pk_mul_f16 v0, v1, v2");
  pk.mods.op_sel_hi = 5;
  CHECK(isa::to_text(pk, gfx1151()) == "v_pk_mul_f16 v0, v1, v2 op_sel_hi:[1,0]");
}

class Names : public isa::OperandNames {
 public:
  [[nodiscard]] std::string virtual_register(const isa::Operand& op) const override {
    return "%r" + std::to_string(op.index);
  }
  [[nodiscard]] std::string label(std::uint32_t index) const override {
    return ".Lb" + std::to_string(index);
  }
};

TEST_CASE("virtual registers and labels print through the names given", "[isa]") {
  Instruction mov;
  mov.op = Opcode::v_mov_b32;
  mov.dst_count = mov.src_count = 1;
  mov.dst[0].kind = mov.src[0].kind = isa::Operand::Kind::reg;
  mov.dst[0].is_virtual = mov.src[0].is_virtual = true;
  mov.dst[0].index = 3;
  mov.src[0].index = 4;
  mov.src[0].neg = true;
  const Names names;
  CHECK(isa::to_text(mov, gfx1151(), &names) == "v_mov_b32 %r3, -%r4");
  Instruction branch;
  branch.op = Opcode::s_branch;
  branch.src_count = 1;
  branch.src[0] = isa::label(2);
  CHECK(isa::to_text(branch, gfx1151(), &names) == "s_branch .Lb2");
}

}  // namespace
}  // namespace wavejit
