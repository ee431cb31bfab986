// SPDX-License-Identifier: MIT
#include "tests/runtime/sim/asm_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "generator/lower/lower.hpp"

namespace wavejit::test {

std::string assembly(const AsmKernel& k) {
  const target::Target* target = target::find(k.target);
  REQUIRE(target != nullptr);
  const bool gfx9 = target->generation == target::Generation::gfx9;
  const bool narrow = !gfx9;
  std::string text = fmt::format(
      "\t.amdgcn_target \"amdgcn-amd-amdhsa--{}\"\n\t.amdhsa_code_object_version 5\n\t.text\n\t.protected k\n"
      "\t.globl k\n\t.p2align 8\n\t.type k,@function\nk:\n{}\n\ts_endpgm\n.Lend_k:\n\t.size k, .Lend_k-k\n"
      "\t.section .rodata,\"a\",@progbits\n\t.p2align 6\n\t.amdhsa_kernel k\n"
      "\t\t.amdhsa_group_segment_fixed_size {}\n\t\t.amdhsa_private_segment_fixed_size {}\n"
      "\t\t.amdhsa_kernarg_size {}\n\t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
      "\t\t.amdhsa_system_sgpr_workgroup_id_x 1\n\t\t.amdhsa_system_sgpr_workgroup_id_y 1\n"
      "\t\t.amdhsa_system_sgpr_workgroup_id_z 1\n\t\t.amdhsa_system_vgpr_workitem_id 2\n"
      "\t\t.amdhsa_next_free_vgpr {}\n\t\t.amdhsa_next_free_sgpr {}\n",
      k.target, k.body, k.lds_bytes, k.private_bytes, k.kernarg_bytes, k.vgprs, k.sgprs);
  if (gfx9) {
    text += "\t\t.amdhsa_accum_offset 64\n";
  } else {
    text += "\t\t.amdhsa_wavefront_size32 1\n";
  }
  // Denormals are kept unless a test asks otherwise (the assembler's own default flushes f32).
  if (k.descriptor.find("denorm_mode_32") == std::string::npos)
    text += "\t\t.amdhsa_float_denorm_mode_32 3\n";
  text += k.descriptor;
  text += fmt::format(
      "\t.end_amdhsa_kernel\n\t.amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.target: "
      "amdgcn-amd-amdhsa--{}\n"
      "amdhsa.kernels:\n  - .name: k\n    .symbol: k.kd\n    .kernarg_segment_size: {}\n"
      "    .kernarg_segment_align: 8\n    .group_segment_fixed_size: {}\n    .private_segment_fixed_size: "
      "{}\n"
      "    .wavefront_size: {}\n    .sgpr_count: {}\n    .vgpr_count: {}\n    .max_flat_workgroup_size: "
      "1024\n"
      "...\n\t.end_amdgpu_metadata\n",
      k.target, k.kernarg_bytes, k.lds_bytes, k.private_bytes, narrow ? 32 : 64, k.sgprs, k.vgprs);
  return text;
}

Result<sim::Program> try_program(const AsmKernel& kernel) {
  const target::Target* target = target::find(kernel.target);
  const auto object = lower::assemble(assembly(kernel), *target);
  if (!object) return std::unexpected(object.error());
  const auto linked = lower::link(*object);
  if (!linked) return std::unexpected(linked.error());
  const auto decoded = lower::decode(*linked);
  if (!decoded) return std::unexpected(decoded.error());
  return sim::Program::create(decoded->kernels.at(0), *target);
}

sim::Program make_program(const AsmKernel& kernel) {
  auto program = try_program(kernel);
  INFO((program ? std::string() : program.error().message));
  INFO(kernel.body);
  REQUIRE(program);
  return *std::move(program);
}

std::unique_ptr<Bench> make_bench(const AsmKernel& kernel, const sim::Options& options, unsigned lanes) {
  auto bench = std::make_unique<Bench>(Bench{make_program(kernel), {}, {}});
  const unsigned all = target::find(kernel.target)->wave_size;
  sim::LaunchParams launch;
  launch.block = {lanes == 0 ? all : lanes, 1, 1};
  launch.options = options;
  auto probe = sim::Probe::start(bench->program, bench->memory, launch);
  INFO((probe ? std::string() : probe.error().message));
  REQUIRE(probe);
  bench->probe = std::move(*probe);
  return bench;
}

void set_pair(sim::Probe& probe, unsigned reg, std::uint64_t value) {
  probe.set_sgpr(reg, static_cast<std::uint32_t>(value));
  probe.set_sgpr(reg + 1, static_cast<std::uint32_t>(value >> 32));
}

void set_descriptor(sim::Probe& probe, unsigned reg, std::uint64_t base, std::uint32_t records,
                    std::uint32_t word3) {
  set_pair(probe, reg, base & 0xFFFFFFFFFFFF);
  probe.set_sgpr(reg + 2, records);
  probe.set_sgpr(reg + 3, word3);
}

std::uint64_t upload(sim::Memory& memory, std::span<const std::uint32_t> words, const std::string& name) {
  const auto address = memory.allocate(words.size_bytes(), 16, name);
  REQUIRE(address);
  REQUIRE(memory.write(*address, std::as_bytes(words)));
  return *address;
}

std::vector<sim::Fault> faults_of(const AsmKernel& kernel, const Setup& setup, const sim::Options& options) {
  auto bench = make_bench(kernel, options);
  if (setup) setup(*bench);
  bench->probe->run();
  REQUIRE(bench->probe->ended());
  return bench->probe->faults();
}

std::string text(const std::vector<sim::Fault>& faults) {
  std::string all;
  for (const sim::Fault& f : faults) all += sim::to_string(f) + "\n";
  return all;
}

std::size_t count(const std::vector<sim::Fault>& faults, sim::FaultKind kind) {
  return static_cast<std::size_t>(std::ranges::count(faults, kind, &sim::Fault::kind));
}

}  // namespace wavejit::test
