// SPDX-License-Identifier: MIT
#include "tests/runtime/check/check_kernel.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>

#include "generator/lower/disassemble.hpp"
#include "generator/lower/elf.hpp"

namespace wavejit::test {
namespace {

std::string around(std::string_view body, const Frame& f, const target::Target& target) {
  std::string text =
      fmt::format("\t.amdgcn_target \"amdgcn-amd-amdhsa--{}\"\n\t.amdhsa_code_object_version 5\n", f.target);
  text += fmt::format(
      "\t.text\n\t.protected k\n\t.globl k\n\t.p2align 8\n\t.type k,@function\nk:\n{}\n.Lend:\n", body);
  text += "\t.size k, .Lend-k\n\t.section .rodata,\"a\",@progbits\n\t.p2align 6\n\t.amdhsa_kernel k\n";
  text += fmt::format("\t.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\t.amdhsa_next_free_vgpr {}\n", f.vgprs);
  text += fmt::format("\t.amdhsa_next_free_sgpr {}\n\t.amdhsa_group_segment_fixed_size {}\n", f.sgprs,
                      f.lds_bytes);
  text += fmt::format("\t.amdhsa_kernarg_size {}\n{}\t.end_amdhsa_kernel\n", f.kernarg_bytes, f.directives);
  text += fmt::format(
      "\t.amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.target: "
      "amdgcn-amd-amdhsa--{}\namdhsa.kernels:\n"
      "  - .name: k\n    .symbol: k.kd\n    .kernarg_segment_size: {}\n    .kernarg_segment_align: 8\n"
      "    .group_segment_fixed_size: {}\n    .private_segment_fixed_size: 0\n    .wavefront_size: {}\n"
      "    .sgpr_count: {}\n    .vgpr_count: {}\n    .max_flat_workgroup_size: "
      "{}\n...\n\t.end_amdgpu_metadata\n",
      f.target, f.kernarg_bytes, f.lds_bytes, target.wave_size, f.sgprs, f.vgprs, f.workgroup_size);
  return text;
}

std::vector<std::uint8_t> assembled(const std::string& text, const target::Target& target) {
  auto object = lower::assemble(text, target);
  INFO(text << (object ? std::string() : object.error().message));
  REQUIRE(object);
  return *object;
}

std::string with_end(std::string_view body) { return std::string(body) + "\ts_endpgm\n"; }

}  // namespace

std::vector<std::uint8_t> code_object(std::string_view body, const Frame& frame) {
  const target::Target& target = table(frame.target);
  auto linked = lower::link(assembled(around(body, frame, target), target));
  REQUIRE(linked);
  return *std::move(linked);
}

lower::DecodedKernel kernel(std::string_view body, const Frame& frame) {
  auto decoded = lower::decode(code_object(body, frame));
  INFO((decoded ? std::string() : decoded.error().message));
  REQUIRE(decoded);
  return decoded->kernels.at(0);
}

check::Report report(std::string_view body, const Frame& frame, const check::Options& options) {
  return check::check(kernel(with_end(body), frame), table(frame.target), options);
}

lower::DecodedKernel bare_kernel(std::string_view body, const target::Target& target) {
  const std::string text =
      fmt::format("\t.amdgcn_target \"amdgcn-amd-amdhsa--{}\"\n\t.text\nk:\n{}", target.name, body);
  const auto object = assembled(text, target);
  const auto file = lower::elf::parse(object);
  REQUIRE(file);
  const lower::elf::Section* section = file->find(".text");
  REQUIRE(section != nullptr);
  constexpr std::uint64_t address = 0x1000;
  auto code = lower::disassemble(section->contents, address, target, "k");
  INFO((code ? std::string() : code.error().message));
  REQUIRE(code);
  lower::DecodedKernel k;
  k.name = "k";
  k.instructions = std::move(*code);
  k.descriptor_address = 0x400;
  k.descriptor.entry_byte_offset = address - k.descriptor_address;
  k.descriptor.kernarg_size = k.kernarg_segment_size = 32;
  k.descriptor.group_segment_fixed_size = k.group_segment_size = 1024;
  k.descriptor.properties = target.wave_size == 32 ? 0x408 : 0x8;
  k.descriptor.rsrc1 = 64 / target.vgpr_encode_granule - 1;  // 64 VGPRs, of gfx9's the last 32 AGPRs
  k.descriptor.rsrc2 = 2U << 1 | 1U << 7;                    // two user SGPRs, workgroup id X
  k.descriptor.rsrc3 = target.has_agprs ? 32 / 4 - 1 : 0;
  k.vgpr_count = 64;
  k.wavefront_size = target.wave_size;
  k.max_flat_workgroup_size = 256;
  return k;
}

check::Report bare_report(std::string_view body, const target::Target& target,
                          const check::Options& options) {
  return check::check(bare_kernel(with_end(body), target), target, options);
}

const target::Target& table(std::string_view name) {
  const target::Target* target = target::find(name);
  REQUIRE(target != nullptr);
  return *target;
}

std::vector<std::string> kinds(const check::Report& report) {
  std::set<check::Kind> found;
  for (const check::Finding& f : report.findings) found.insert(f.kind);
  std::vector<std::string> names;
  names.reserve(found.size());
  for (const check::Kind k : found) names.emplace_back(check::name(k));
  return names;
}

std::vector<std::string> only(check::Kind kind) { return {std::string(check::name(kind))}; }

}  // namespace wavejit::test
