// SPDX-License-Identifier: MIT
// What a launch may ask for, and how its options reach the threads that run it.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/device/sim/group.hpp"

namespace wavejit::sim {
namespace {

using detail::Code;

/// Of a launch that nobody has checked yet: where it does not fit 64 bits, the largest number.
std::uint64_t product(const std::array<std::uint32_t, 3>& a) {
  std::uint64_t result = 0;
  const bool wraps = __builtin_mul_overflow(std::uint64_t{a[0]} * a[1], std::uint64_t{a[2]}, &result);
  return wraps ? ~std::uint64_t{0} : result;
}

std::unexpected<Error> bad(std::string field, std::string given, std::string allowed) {
  return fail_field(ErrorCode::invalid_argument, std::move(field), std::move(given), std::move(allowed));
}

}  // namespace

Result<void> check_launch(const Code& code, const LaunchParams& launch) {
  const target::Target& t = *code.target;
  for (unsigned i = 0; i < 3; ++i) {
    if (launch.grid[i] == 0) return bad("grid", "0 workgroups in a dimension", "at least 1");
    if (launch.block[i] == 0) return bad("block", "0 work-items in a dimension", "at least 1");
    // The dispatch packet counts work-items in 32 bits.
    const std::uint64_t items = std::uint64_t{launch.grid[i]} * launch.block[i];
    if (items >> 32 != 0) {
      return bad("grid", fmt::format("{} x {} work-items in a dimension", launch.grid[i], launch.block[i]),
                 "below 2^32 work-items in each dimension");
    }
  }
  const std::uint64_t size = product(launch.block);
  const std::uint64_t most = code.max_workgroup_size != 0
                                 ? std::min<std::uint64_t>(t.max_workgroup_size, code.max_workgroup_size)
                                 : t.max_workgroup_size;
  if (size > most) return bad("block", fmt::format("{} work-items", size), fmt::format("at most {}", most));
  const auto& required = code.required_workgroup_size;
  if (product(required) != 0 && launch.block != required) {
    return bad("block", fmt::format("{} x {} x {}", launch.block[0], launch.block[1], launch.block[2]),
               fmt::format("{} x {} x {}, for which kernel '{}' is compiled", required[0], required[1],
                           required[2], code.name));
  }
  const std::uint64_t lds = std::uint64_t{code.lds_bytes} + launch.dynamic_lds_bytes;
  if (lds > t.lds_per_workgroup) {
    return bad("LDS", fmt::format("{} bytes", lds),
               fmt::format("at most {} bytes on {}", t.lds_per_workgroup, t.name));
  }
  // LLVM's GCNSubtarget: 13 bits of 1024 bytes on gfx9, 15 of 256 on gfx11.
  constexpr std::uint64_t wave_scratch = 8 << 20;
  if (std::uint64_t{code.private_bytes} * t.wave_size > wave_scratch) {
    return bad("private segment", fmt::format("{} bytes a lane", code.private_bytes),
               fmt::format("at most {}: a wave has 8 MiB", wave_scratch / t.wave_size));
  }
  if (launch.kernarg.size() < code.kernarg_bytes) {
    return bad("kernarg", fmt::format("{} bytes", launch.kernarg.size()),
               fmt::format("the {} bytes that kernel '{}' reads", code.kernarg_bytes, code.name));
  }
  const std::uint64_t groups = product(launch.grid);
  constexpr std::uint64_t most_groups = std::uint64_t{1} << 32;  // hours of simulation
  if (groups > most_groups)
    return bad("grid", fmt::format("{} x {} x {} workgroups", launch.grid[0], launch.grid[1], launch.grid[2]),
               "at most 2^32 workgroups in all");
  for (const std::uint64_t id : launch.workgroups) {
    if (id >= groups) return bad("workgroups", fmt::format("{}", id), fmt::format("below {}", groups));
  }
  return {};
}

namespace {

SoffsetRule rule_of(const LaunchParams& launch, const target::Target& t) {
  if (launch.options.soffset != SoffsetRule::of_target) return launch.options.soffset;
  switch (t.soffset_in_bounds) {
    case target::SoffsetInBounds::excluded:
      return SoffsetRule::excluded;
    case target::SoffsetInBounds::included:
      return SoffsetRule::included;
    case target::SoffsetInBounds::disputed:
      break;
  }
  return SoffsetRule::both;
}

}  // namespace

void prepare_worker(Worker& w, const Code& code, Memory& memory, const LaunchParams& launch,
                    std::uint64_t kernarg, std::uint64_t dispatch_packet) {
  w.code = &code;
  w.memory = &memory;
  w.launch = &launch;
  w.checks = launch.options.checks;
  w.soffset = rule_of(launch, *code.target);
  w.dot2_bf16 = launch.options.dot2_bf16.value_or(code.target->dot2_bf16);
  w.flush_bf16 = launch.options.flush_bf16_denormals;
  w.log.limit(launch.options.max_faults);
  w.executed.assign(code.insts.size(), 0);
  w.bytes.assign(code.insts.size(), 0);
  w.conflicts.assign(code.insts.size(), 0);
  w.lines.assign(code.insts.size(), 0);
  w.last_allocation.assign(code.insts.size(), nullptr);
  if (launch.options.count_bank_conflicts) w.conflict_memo.assign(code.insts.size(), {});
  w.kernarg = kernarg;
  w.dispatch_packet = dispatch_packet;
}

}  // namespace wavejit::sim
