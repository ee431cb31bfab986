// SPDX-License-Identifier: MIT
#include "tests/generator/lower/text_kernel.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <sstream>

namespace wavejit::test {
namespace {

/// The assembler's complaints, each with the line that it is about.
std::string explain(const std::string& complaints, const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::string result;
  std::istringstream each(complaints);
  for (std::string complaint; std::getline(each, complaint);) {
    const std::size_t number = std::strtoul(complaint.c_str(), nullptr, 10);
    result += complaint + (number >= 1 && number <= lines.size() ? ":" + lines[number - 1] : "") + "\n";
  }
  return result;
}

}  // namespace

std::string file_header(const target::Target& target) {
  return fmt::format("\t.amdgcn_target \"amdgcn-amd-amdhsa--{}\"\n\t.amdhsa_code_object_version {}\n",
                     target.name, target.name.ends_with("-generic") ? 6 : 5);
}

std::string kernel_code(std::string_view name, std::string_view body) {
  return fmt::format(
      "\t.text\n\t.protected {0}\n\t.globl {0}\n\t.p2align 8\n\t.type {0},@function\n{0}:\n{1}"
      ".Lend_{0}:\n\t.size {0}, .Lend_{0}-{0}\n"
      "\t.section .rodata,\"a\",@progbits\n\t.p2align 6\n\t.amdhsa_kernel {0}\n"
      "\t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\t\t.amdhsa_next_free_vgpr 24\n"
      "\t\t.amdhsa_next_free_sgpr 16\n\t.end_amdhsa_kernel\n",
      name, body);
}

std::string kernel_metadata(const std::vector<std::string>& names, const target::Target& target) {
  std::string text = fmt::format(
      "\t.amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.target: "
      "amdgcn-amd-amdhsa--{}\namdhsa.kernels:\n",
      target.name);
  for (const std::string& name : names) {
    text += fmt::format(
        "  - .name: {0}\n    .symbol: {0}.kd\n    .kernarg_segment_size: 0\n    .kernarg_segment_align: 8\n"
        "    .group_segment_fixed_size: 0\n    .private_segment_fixed_size: 0\n    .wavefront_size: {1}\n"
        "    .sgpr_count: 16\n    .vgpr_count: 24\n    .max_flat_workgroup_size: 64\n",
        name, target.wave_size);
  }
  return text + "...\n\t.end_amdgpu_metadata\n";
}

std::string kernel_text(std::string_view name, std::string_view body, const target::Target& target) {
  return file_header(target) + kernel_code(name, body) + kernel_metadata({std::string(name)}, target);
}

std::vector<std::uint8_t> assembled(const std::string& text, const target::Target& target) {
  const auto object = lower::assemble(text, target);
  INFO((object ? std::string() : explain(object.error().message, text)));
  REQUIRE(object);
  return *object;
}

std::vector<std::uint8_t> build_object(const std::string& text, const target::Target& target) {
  auto linked = lower::link(assembled(text, target));
  INFO((linked ? std::string() : linked.error().message));
  REQUIRE(linked);
  return *linked;
}

lower::CodeObject build(const std::string& text, const target::Target& target) {
  auto decoded = lower::decode(build_object(text, target));
  INFO((decoded ? std::string() : decoded.error().message));
  REQUIRE(decoded);
  return *decoded;
}

const target::Target& table(std::string_view name) {
  const target::Target* target = target::find(name);
  REQUIRE(target != nullptr);
  return *target;
}

target::Target any_table(std::string_view name) {
  if (const target::Target* found = target::find(name)) return *found;
  const bool gfx9 = name.starts_with("gfx9");
  target::Target target = table("gfx1151");
  target.name = name;
  target.generation = gfx9                        ? target::Generation::gfx9
                      : name.starts_with("gfx12") ? target::Generation::gfx12
                                                  : target::Generation::gfx11;
  target.wave_size = gfx9 ? 64 : 32;
  return target;
}

bool assembler_knows(std::string_view mnemonic, const target::Target& target) {
  const auto object = lower::assemble(fmt::format("{} $nonsense\n", mnemonic), target);
  REQUIRE_FALSE(object);
  const std::string& message = object.error().message;
  return message.find("invalid instruction") == std::string::npos &&
         message.find("not supported on this GPU") == std::string::npos;
}

}  // namespace wavejit::test
