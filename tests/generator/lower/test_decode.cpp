// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <random>

#include "tests/generator/lower/text_kernel.hpp"

namespace wavejit {
namespace {

using isa::Opcode;
using isa::Operand;

const std::string loop_body =
    "\ts_mov_b32 s4, 3\n"
    ".Lagain:\n"
    "\tv_dual_mov_b32 v0, 0 :: v_dual_mov_b32 v1, 1.0\n"
    "\ts_sub_i32 s4, s4, 1\n"
    "\ts_cmp_lg_i32 s4, 0\n"
    "\ts_cbranch_scc1 .Lagain\n"
    "\ts_branch .Lout\n"
    "\ts_nop 0\n"
    ".Lout:\n"
    "\ts_endpgm\n";

TEST_CASE("a decoded branch holds the index of the instruction that it goes to", "[lower]") {
  const target::Target& target = test::table("gfx1151");
  const auto object = test::build(test::kernel_text("k", loop_body, target), target);
  const auto& code = object.kernels.at(0).instructions;
  // By hand: mov, dual x, dual y, sub, cmp, cbranch, branch, nop, endpgm.
  REQUIRE(code.size() == 9);
  CHECK(code[5].inst.op == Opcode::s_cbranch_scc1);
  CHECK(code[5].inst.src[0] == isa::label(1));
  CHECK(code[6].inst.op == Opcode::s_branch);
  CHECK(code[6].inst.src[0] == isa::label(8));
  CHECK(code[8].inst.op == Opcode::s_endpgm);
}

TEST_CASE("padding behind the code is no instruction", "[lower]") {
  const target::Target& target = test::table("gfx1151");
  const std::string padding = "\t.text\n\t.p2alignl 7, 0xbf9f0000\n\t.fill 96, 4, 0xbf9f0000\n";
  const auto object = test::build(test::file_header(target) + test::kernel_code("k", loop_body) + padding +
                                      test::kernel_metadata({"k"}, target),
                                  target);
  CHECK(object.kernels.at(0).instructions.size() == 9);
}

TEST_CASE("metadata and descriptor are read", "[lower]") {
  const target::Target& target = test::table("gfx1100");
  const auto object = test::build(test::kernel_text("some_kernel", "\ts_endpgm\n", target), target);
  CHECK(object.target == &target);
  CHECK(object.isa_name == "amdgcn-amd-amdhsa--gfx1100");
  const lower::DecodedKernel& k = object.kernels.at(0);
  CHECK(k.name == "some_kernel");
  CHECK(k.vgpr_count == 24);
  CHECK(k.sgpr_count == 16);
  CHECK(k.wavefront_size == 32);
  CHECK(k.max_flat_workgroup_size == 64);
  CHECK(k.instructions.at(0).address ==
        k.descriptor_address + static_cast<std::uint64_t>(k.descriptor.entry_byte_offset));
  CHECK(k.instructions.at(0).address % 256 == 0);
  CHECK(k.descriptor.properties == 0x0408);  // hardware.md §9.1: wave32 and kernarg pointer
}

TEST_CASE("an argument's access is what the metadata says in either key", "[lower]") {
  const target::Target& target = test::table("gfx1151");
  std::string text = test::kernel_text("k", "\ts_endpgm\n", target);
  const std::string args =
      "    .args:\n"
      "      - {.offset: 0, .size: 8, .value_kind: global_buffer, .access: read_only}\n"
      "      - {.offset: 8, .size: 8, .value_kind: global_buffer, .actual_access: write_only}\n"
      "      - {.offset: 16, .size: 4, .value_kind: by_value, .unknown_key: [1, {a: b}]}\n"
      // With both, `.access` is what the source declares: it holds, whichever comes first.
      "      - {.offset: 24, .size: 8, .value_kind: global_buffer, .access: read_write, .actual_access: "
      "read_only}\n"
      "      - {.offset: 32, .size: 8, .value_kind: global_buffer, .actual_access: read_only, .access: "
      "read_write}\n";
  text.insert(text.find("...\n\t.end_amdgpu_metadata"), args);
  const lower::DecodedKernel k = test::build(text, target).kernels.at(0);
  REQUIRE(k.args.size() == 5);
  CHECK(k.args[3].access == "read_write");
  CHECK(k.args[4].access == "read_write");
  CHECK(k.args[0].access == "read_only");
  CHECK(k.args[1].access == "write_only");
  CHECK(k.args[2].access.empty());
  CHECK(k.args[2].offset == 16);
}

TEST_CASE("an instruction outside the vocabulary is named with its place", "[lower]") {
  const target::Target& target = test::table("gfx1151");
  const auto bytes =
      test::build_object(test::kernel_text("k", "\ts_nop 0\n\ts_ttracedata\n\ts_endpgm\n", target), target);
  const auto object = lower::decode(bytes);
  REQUIRE_FALSE(object);
  CHECK(object.error().code == ErrorCode::unknown_instruction);
  CHECK(object.error().message.find("s_ttracedata") != std::string::npos);
  CHECK(object.error().message.find("kernel k") != std::string::npos);
  CHECK(object.error().message.find("at 0x") != std::string::npos);
}

TEST_CASE("bytes that are no instruction are named with their place", "[lower]") {
  const target::Target& target = test::table("gfx1151");
  const auto bytes =
      test::build_object(test::kernel_text("k", "\t.long 0xffffffff\n\ts_endpgm\n", target), target);
  const auto object = lower::decode(bytes);
  REQUIRE_FALSE(object);
  CHECK(object.error().code == ErrorCode::unknown_instruction);
}

TEST_CASE("a branch out of the kernel is an error", "[lower]") {
  const target::Target& target = test::table("gfx1151");
  const auto bytes =
      test::build_object(test::kernel_text("k", "\ts_branch 100\n\ts_endpgm\n", target), target);
  const auto object = lower::decode(bytes);
  REQUIRE_FALSE(object);
  CHECK(object.error().code == ErrorCode::invalid_code_object);
}

TEST_CASE("foreign files are refused in words", "[lower]") {
  CHECK_FALSE(lower::decode({}));
  std::vector<std::uint8_t> host(64, 0);
  host[0] = 0x7F, host[1] = 'E', host[2] = 'L', host[3] = 'F', host[4] = 2, host[5] = 1, host[6] = 1;
  const auto object = lower::decode(host);
  REQUIRE_FALSE(object);
  CHECK(object.error().code == ErrorCode::invalid_code_object);
  CHECK(object.error().message.find("OS ABI") != std::string::npos);
}

/// decode() may accept or refuse; what it accepts must hang together.
void check_hostile(std::span<const std::uint8_t> bytes) {
  const auto object = lower::decode(bytes);
  if (!object) {
    CHECK_FALSE(object.error().message.empty());
    return;
  }
  for (const lower::DecodedKernel& k : object->kernels)
    for (const lower::DecodedInstruction& d : k.instructions)
      if (d.inst.pipe() == isa::Pipe::branch && d.inst.src_count > 0)
        CHECK(d.inst.src[0].index < k.instructions.size());
}

TEST_CASE("truncated at any byte: an error, never a crash", "[lower]") {
  const target::Target& target = test::table("gfx1151");
  const auto bytes = test::build_object(test::kernel_text("k", loop_body, target), target);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    // A copy of exactly that size, so that a sanitizer sees any read past it.
    const std::vector<std::uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK_FALSE(lower::decode(cut));
  }
}

TEST_CASE("any flipped bit: no crash", "[lower]") {
  const target::Target& target = test::table("gfx1151");
  const auto original = test::build_object(test::kernel_text("k", loop_body, target), target);
  for (std::size_t bit = 0; bit < original.size() * 8; ++bit) {
    auto bytes = original;
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
    check_hostile(bytes);
  }
}

TEST_CASE("random damage: no crash", "[lower]") {
  const target::Target& target = test::table("gfx1151");
  const auto original = test::build_object(test::kernel_text("k", loop_body, target), target);
  std::mt19937 random(1);
  static constexpr std::uint8_t nasty[] = {0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF, 0xDF, 0xDD, 0xDB};
  for (int i = 0; i < 3000; ++i) {
    auto bytes = original;
    for (unsigned n = 1 + random() % 8; n > 0; --n)
      bytes[random() % bytes.size()] = nasty[random() % std::size(nasty)];
    check_hostile(bytes);
  }
}

}  // namespace
}  // namespace wavejit
