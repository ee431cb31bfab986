// SPDX-License-Identifier: MIT
// What each text does to LLVM's own assembler, unchecked, was seen with llvm-mc-22: the cases say it.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/generator/lower/text_kernel.hpp"

namespace wavejit {
namespace {

/// What assemble() and source_events() both say of the text, or "accepted".
std::string answer(const std::string& text) {
  const target::Target& target = test::table("gfx1151");
  const auto object = lower::assemble(text, target);
  CHECK(lower::source_events(text, target).has_value() == object.has_value());
  return object ? "accepted" : object.error().message;
}

/// A whole kernel; `from`, which it must hold, is replaced.
std::string edited(const std::string& from, const std::string& to) {
  const std::string body = "\ts_mov_b32 s0, 1\n.Lloop:\n\ts_cbranch_scc1 .Lloop\n\ts_endpgm\n";
  std::string text = test::kernel_text("k", body, test::table("gfx1151"));
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string in_code(const std::string& line) { return edited("\ts_endpgm\n", line + "\n\ts_endpgm\n"); }

TEST_CASE("text that LLVM's assembler does not survive is an error with its place", "[lower]") {
  CHECK(answer(".text\nf:\n.section .foo\n.size f, .-f\n").starts_with("3:9: .section must be"));  // aborts
  CHECK(answer(".text\n.byte 1\n.p2align 8\ns_nop 0\n").starts_with("2:1: .byte is no"));          // no end
  CHECK(answer(".long -9223372036854775808/-1\n").starts_with("1:6: .long must be"));              // SIGFPE
  CHECK(answer("s_mov_b32 s0, -9223372036854775808/-1\n").starts_with("1:35: '/'"));               // SIGFPE
  CHECK(
      answer(".amdhsa_code_object_version 3\n").starts_with("1:28: .amdhsa_code_object_version"));  // aborts
  const std::string deep(100'000, '(');  // its stack
  CHECK(answer("s_mov_b32 s0, " + deep + "\n").starts_with("1:513: a statement"));
  CHECK(answer(".rept 1000000000\ns_nop 0\n.endr\n").starts_with("1:1: .rept"));  // without bound
  CHECK(answer(edited("amdhsa.version: [1, 2]", std::string(400, '['))).find("nested") != std::string::npos);
}

TEST_CASE("directives outside the table are refused by name, wherever they stand", "[lower]") {
  for (const char* d : {".include \"/etc/passwd\"",
                        ".incbin \"/etc/passwd\"",
                        ".macro m",
                        ".irp x, 1",
                        ".if 1",
                        ".org 0x7fffffff",
                        ".space 99999999",
                        ".zero 9",
                        ".balign 3",
                        ".quad 1",
                        ".data",
                        ".ascii \"x\"",
                        ".cfi_startproc",
                        ".loc 1 1",
                        ".hsa_code_object_isa",
                        ".equ x, 1",
                        ".altmacro",
                        ".end",
                        ".purgem x",
                        ".comm x, 4",
                        ".symver a, b@c",
                        ".pushsection .text"}) {
    INFO(d);
    const std::string name(d, std::string_view(d).find(' ') == std::string_view::npos
                                  ? std::string_view(d).size()
                                  : std::string_view(d).find(' '));
    CHECK(answer(in_code(d)).find(": " + name + " is no directive") != std::string::npos);
    CHECK(answer(in_code(".Lhere: " + std::string(d))).find(name + " is no directive") != std::string::npos);
  }
}

TEST_CASE("a directive's arguments are held to its one form and its range", "[lower]") {
  for (const auto& [line, accepted] :
       std::initializer_list<std::pair<const char*, bool>>{{".p2align 2", true},
                                                           {".p2align 8", true},
                                                           {".p2align 1", false},
                                                           {".p2align 9", false},
                                                           {".p2align 6, 0", false},
                                                           {".p2alignl 6, 0xBF800000", true},
                                                           {".p2alignl 6", false},
                                                           {".fill 1024, 4, 0xBF800000", true},
                                                           {".fill 1025, 4, 0", false},
                                                           {".fill 1, 3, 0", false},
                                                           {".fill -1, 4, 0", false},
                                                           {".long 0xFFFFFFFF", true},
                                                           {".long 0x100000000", false},
                                                           {".long 010", false},
                                                           {".long 1, 0x2, 3", true},
                                                           {".long 1,", false},
                                                           {".long", false},
                                                           {".long k", false},
                                                           {".size k, .-k", true},
                                                           {".size k, .Lloop-k", true},
                                                           {".size k, .Lbelow-k", false},
                                                           {".size k, 4*2", false},
                                                           {".set x, 5", true},
                                                           {".set x, y", false},
                                                           {".set x, (.Lloop-k+127)/128", true},
                                                           {".set x, (.Lloop-k+127)/0", false},
                                                           {".amdhsa_kernel k", false},
                                                           {".end_amdhsa_kernel", false},
                                                           {".amdhsa_next_free_vgpr 1", false}}) {
    INFO(line);
    CHECK((answer(in_code(line)) == "accepted") == accepted);
  }
  std::string fills;
  for (int i = 0; i < 17; ++i) fills += ".fill 1024, 4, 0xBF800000\n";
  CHECK(answer(in_code(fills)).find("more than 16384 dwords") != std::string::npos);
}

TEST_CASE("what a person writes into a kernel of ours is accepted", "[lower]") {
  for (const char* line :
       {"; a comment: .rept 5 (1/0)", "// so is this: /* .macro", "\ts_nop 0 ; and this",
        "s_nop 0x1 // and this", ".La: .Lb: s_branch .La", "\tv_add_f32 v1, -|v2|, v3",
        "\tv_mul_f32 v1, 0.15915494, v2", "\tv_mul_f32_e64 v1, 2.5e3, neg(v2) clamp mul:2",
        "\ts_waitcnt vmcnt(0) & lgkmcnt(0)",
        "\ts_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)",
        "\tv_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v3, v2",
        "\tbuffer_load_b32 v0, v1, s[0:3], 0 offen offset:16", "\ts_getreg_b32 s0, hwreg(HW_REG_MODE, 0, 4)",
        "\tv_mov_b32_dpp v0, v1 quad_perm:[0,1,2,3] row_mask:0xf"}) {
    INFO(line);
    CHECK(answer(in_code(line)) == "accepted");
  }
  // Carriage returns of another editor, and no line end at all.
  std::string dos;
  for (const char c : in_code("")) dos += c == '\n' ? "\r\n" : std::string(1, c);
  CHECK(answer(dos) == "accepted");
  CHECK(answer("s_nop 0") == "accepted");
  CHECK(answer("") == "accepted");
}

TEST_CASE("sizes of a text are bounded", "[lower]") {
  CHECK(answer("s_nop 0" + std::string(600, ' ')).starts_with("1:513: "));
  CHECK(answer("; " + std::string(100'000, 'x')) == "accepted");
  CHECK(answer(std::string(256, 'a') + ":\n") == "accepted");
  CHECK(answer(std::string(257, 'a') + ":\n").starts_with("1:1: "));
  CHECK(answer(std::string(1 << 16, '\n')) == "accepted");
  CHECK(answer(std::string((1 << 16) + 1, '\n')).starts_with("65537:1: "));
  CHECK(answer(std::string((4 << 20) + 1, ' ')).starts_with("1:1: "));
  CHECK(answer("s_nop 0\ns_nop 0\v\n").starts_with("2:8: a control"));
  CHECK(answer(std::string("s_nop\0 0", 8)).starts_with("1:6: a control"));
}

}  // namespace
}  // namespace wavejit
