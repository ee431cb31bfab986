// SPDX-License-Identifier: MIT
// Reading a code object's header and metadata: facts against lower::decode, which is other code (LLVM's),
// and no bytes whatever may do more than give an error.
#include <catch2/catch.hpp>
#include <random>

#include "generator/lower/lower.hpp"
#include "runtime/device/common/code_object_target.hpp"
#include "runtime/device/common/kernel_facts.hpp"
#include "runtime/device/simulated/sim_device.hpp"
#include "tests/runtime/device/gemm_job.hpp"

using namespace wavejit;
using namespace wavejit::test;

namespace {

/// Stores the dword after the first argument and the three that follow it.
constexpr std::string_view hidden_kernel = R"(
  .amdgcn_target "amdgcn-amd-amdhsa--gfx1151"
  .amdhsa_code_object_version 5
  .text
  .globl k
  .p2align 8
  .type k,@function
k:
  s_load_b64 s[2:3], s[0:1], 0x0
  s_load_b128 s[4:7], s[0:1], 0x8
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v0, 0
  v_mov_b32 v1, s4
  v_mov_b32 v2, s5
  v_mov_b32 v3, s6
  v_mov_b32 v4, s7
  global_store_b128 v0, v[1:4], s[2:3]
  s_endpgm
.Lend:
  .size k, .Lend-k
  .section .rodata,"a",@progbits
  .p2align 6
  .amdhsa_kernel k
    .amdhsa_kernarg_size 32
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_user_sgpr_count 16
    .amdhsa_next_free_vgpr 8
    .amdhsa_next_free_sgpr 16
    .amdhsa_wavefront_size32 1
  .end_amdhsa_kernel
  .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx1151
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 32
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.offset: 8, .size: 4, .value_kind: hidden_block_count_x}
      - {.offset: 12, .size: 4, .value_kind: hidden_block_count_y}
      - {.offset: 16, .size: 4, .value_kind: hidden_block_count_z}
      - {.offset: 20, .size: 2, .value_kind: hidden_group_size_x}
      - {.offset: 22, .size: 2, .value_kind: hidden_group_size_y}
      - {.offset: 24, .size: 2, .value_kind: hidden_group_size_z}
...
  .end_amdgpu_metadata
)";

std::vector<std::uint8_t> assemble(std::string_view text) {
  const auto object = must(lower::assemble(text, *target::find("gfx1151")));
  return must(lower::link(object));
}

}  // namespace

TEST_CASE("Facts of a kernel are those that LLVM's reader finds", "[code_object]") {
  for (const char* target : {"gfx1151", "gfx1100"}) {
    const GemmJob job = make_job(target);
    const auto decoded = must(lower::decode(job.kernel.code_object));
    const auto& kernel = decoded.kernels.at(0);
    const auto facts = must(device::read_kernel(job.code(), kernel.name));
    CHECK(facts.kernarg_bytes == kernel.kernarg_segment_size);
    CHECK(facts.lds_bytes == kernel.group_segment_size);
    CHECK(facts.max_workgroup == kernel.max_flat_workgroup_size);
    std::uint32_t end = 0;
    for (const auto& arg : kernel.args)
      if (!arg.value_kind.starts_with("hidden_")) end = std::max(end, arg.offset + arg.size);
    CHECK(facts.explicit_bytes == end);
    CHECK(must(device::read_target(job.code())).id() == target);
    CHECK(decoded.isa_name.ends_with(target));
  }
}

TEST_CASE("A feature that the code object states must be the device's", "[code_object]") {
  GemmJob job = make_job();
  auto bytes = job.kernel.code_object;
  // e_flags at byte 48: gfx942 is 0x4c; xnack in bits 8 and 9, sramecc in 10 and 11: 1 any, 2 off, 3 on.
  const auto fits = [&](unsigned flags, std::string_view device) {
    for (unsigned i = 0; i < 4; ++i) bytes[48 + i] = static_cast<std::uint8_t>(flags >> (8 * i));
    return device::check_target(std::as_bytes(std::span(bytes)), device).has_value();
  };
  CHECK(fits(0x54c, "gfx942:sramecc+:xnack-"));
  CHECK(fits(0xe4c, "gfx942:sramecc+:xnack-"));
  CHECK_FALSE(fits(0xf4c, "gfx942:sramecc+:xnack-"));  // xnack+
  CHECK_FALSE(fits(0xa4c, "gfx942:sramecc+:xnack-"));  // sramecc-
  CHECK(fits(0xf4c, "gfx942"));                        // nothing stated
  CHECK_FALSE(fits(0x54c, "gfx950:sramecc+:xnack-"));
  bytes[48] = 0xfd;
  CHECK(must(device::read_target(std::as_bytes(std::span(bytes)))).processor == "mach 0xfd");
}

// gABI, "ELF Header", and AMDGPUUsage, "ELF Header": where each field lies.
TEST_CASE("Each field of a header that is wrong is named", "[code_object]") {
  const GemmJob job = make_job();
  const std::vector<std::byte> good(job.code().begin(), job.code().end());
  REQUIRE(device::read_target(good));
  const auto with = [&](std::size_t at, unsigned value) {
    std::vector<std::byte> bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    const auto read = device::read_target(bytes);
    return read ? std::string() : read.error().message;
  };
  CHECK(with(0, 0x7E).find("does not start with an ELF header") != std::string::npos);
  CHECK(with(3, 'G').find("does not start with an ELF header") != std::string::npos);
  CHECK(with(4, 1).find("64-bit little-endian") != std::string::npos);
  CHECK(with(5, 2).find("64-bit little-endian") != std::string::npos);
  CHECK(with(7, 3).find("OS ABI 3") != std::string::npos);
  CHECK(with(18, 62).find("ELF machine 62") != std::string::npos);
  CHECK(with(19, 1).find("ELF machine 480") != std::string::npos);
  CHECK_FALSE(device::read_target(std::span(good).first(63)));
  CHECK(device::read_target(std::span(good).first(64)));
}

TEST_CASE("A generic code object is for its family, a version 0 of it for nobody", "[code_object]") {
  GemmJob job = make_job("gfx11-generic");
  CHECK(must(device::read_target(job.code())).generic_version == 1);
  for (const char* member : {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152",
                             "gfx1153", "gfx1100:xnack-", "gfx11-generic"})
    CHECK(device::check_target(job.code(), member));
  for (const char* other : {"gfx1030", "gfx1200", "gfx1201", "gfx12-generic", "gfx942:sramecc+:xnack-", ""}) {
    const auto refused = device::check_target(job.code(), other);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::wrong_architecture);
    CHECK(refused.error().message.find("gfx11-generic") != std::string::npos);
  }
  CHECK_FALSE(device::check_target(make_job("gfx1151").code(), "gfx11-generic"));
  // e_flags at byte 48, the version in its highest byte (LLVM AMDGPUUsage, code object V6).
  job.kernel.code_object[51] = 0;
  CHECK_FALSE(device::check_target(job.code(), "gfx1151"));
}

TEST_CASE("One generic code object runs on the GPUs of its family", "[code_object]") {
  struct Family {
    const char* generic;
    std::vector<std::string> members;
  };
  for (const Family& f : {Family{"gfx11-generic", {"gfx1100", "gfx1151", "gfx1102"}},
                          {"gfx12-generic", {"gfx1200", "gfx1201"}}}) {
    const GemmJob job = make_job(f.generic, 70);
    for (const std::string& member : f.members) {
      CAPTURE(member);
      device::SimOptions options;
      options.target = member;
      const auto device = must(device::SimDevice::create(options));
      CHECK(judge(job, must(run(*device, job))).ok);
    }
  }
}

// shared/cases.md row 6: the host takes the block size from one GPU's table, the code is another's.
TEST_CASE("A generic kernel is launched as its own metadata says, not as the GPU's own kernel would be",
          "[code_object][cases]") {
  const GemmJob generic = make_job("gfx11-generic", 70);
  device::SimOptions options;
  options.target = "gfx1151";
  const auto device = must(device::SimDevice::create(options));
  const auto module = must(device->load(generic.code(), generic.kernel.name));
  const auto tensors = must(upload(*device, generic));
  const auto facts = must(device::read_kernel(generic.code(), generic.kernel.name));
  CHECK(facts.max_workgroup == generic.geometry().block[0]);
  device::Geometry wrong = generic.geometry();
  wrong.block[0] *= 2;
  const auto refused = device->launch(*module, wrong, tensors.kernarg, nullptr);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().field == "block");
  wrong = generic.geometry();
  wrong.block[0] /= 2;
  CHECK_FALSE(device->launch(*module, wrong, tensors.kernarg, nullptr));
  must(device->launch(*module, generic.geometry(), tensors.kernarg, nullptr));
  must(device->synchronise(nullptr));
  CHECK(judge(generic, must(download(*device, generic, tensors))).ok);
}

TEST_CASE("Damaged code objects give errors and nothing else", "[code_object]") {
  const GemmJob job = make_job();
  const std::vector<std::byte> good(job.code().begin(), job.code().end());
  REQUIRE(device::read_kernel(good, job.kernel.name));
  long refused = 0;
  for (std::size_t size = 0; size < good.size(); size += 13) {
    if (!device::read_kernel(std::span(good).first(size), job.kernel.name)) ++refused;
  }
  CHECK(refused == static_cast<long>((good.size() + 12) / 13));
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    auto bad = good;
    for (int flips = 0; flips < 3; ++flips)
      bad[random() % bad.size()] = static_cast<std::byte>(random() & 0xff);
    const auto result = device::read_kernel(bad, job.kernel.name);
    if (!result) CHECK(result.error().code == ErrorCode::invalid_code_object);
  }
}

TEST_CASE("Metadata that nests too deep is refused before anybody recurses", "[code_object]") {
  const GemmJob job = make_job();
  std::vector<std::byte> bytes(job.code().begin(), job.code().end());
  // A note of its own at the end: 4 MiB of arrays of one element, and a PT_NOTE that points to it.
  const std::uint64_t begin = bytes.size();
  constexpr std::uint32_t depth = 4U << 20;
  const std::array<std::uint32_t, 3> note{7, depth, 32};
  const auto head = std::as_bytes(std::span(note));
  bytes.insert(bytes.end(), head.begin(), head.end());
  const std::string_view owner("AMDGPU\0", 8);
  for (const char c : owner) bytes.push_back(static_cast<std::byte>(c));
  bytes.insert(bytes.end(), depth, std::byte{0x91});
  std::uint64_t table = 0;
  std::uint16_t count = 0;
  std::memcpy(&table, bytes.data() + 32, sizeof table);
  std::memcpy(&count, bytes.data() + 56, sizeof count);
  for (unsigned i = 0; i < count; ++i) {
    std::byte* header = bytes.data() + table + 56 * i;
    std::uint32_t type = 0;
    std::memcpy(&type, header, sizeof type);
    if (type != 4) continue;  // PT_NOTE
    const std::uint64_t size = bytes.size() - begin;
    std::memcpy(header + 8, &begin, sizeof begin);
    std::memcpy(header + 32, &size, sizeof size);
  }
  const auto refused = device::read_kernel(bytes, job.kernel.name);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("depth") != std::string::npos);
}

TEST_CASE("Hidden arguments are filled in where a launch passes the explicit ones", "[code_object]") {
  const auto elf = assemble(hidden_kernel);
  const auto device = must(device::SimDevice::create({}));
  const auto module = must(device->load(std::as_bytes(std::span(elf)), "k"));
  const auto out = must(device->allocate(16));
  const auto launch = [&](std::span<const std::byte> kernarg) {
    must(device->launch(*module, {{3, 1, 1}, {32, 2, 1}, 0}, kernarg, nullptr));
    must(device->synchronise(nullptr));
    std::array<std::uint32_t, 4> got{};
    must(device->copy_out(std::as_writable_bytes(std::span(got)), out));
    return got;
  };
  // Two waves of three workgroups store the same values to one place: no race.
  const std::array<std::uint64_t, 1> explicit_only{out};
  CHECK(launch(std::as_bytes(std::span(explicit_only))) ==
        std::array<std::uint32_t, 4>{3, 1, 1, 32 | 2 << 16});
  const std::array<std::uint64_t, 4> whole{out, 5 | std::uint64_t{6} << 32, 7 | std::uint64_t{8} << 32, 0};
  CHECK(launch(std::as_bytes(std::span(whole))) == std::array<std::uint32_t, 4>{5, 6, 7, 8});
}
