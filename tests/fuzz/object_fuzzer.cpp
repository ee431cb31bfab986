// SPDX-License-Identifier: MIT
// Hostile code objects: decode, check and simulate whatever the bytes are. Nothing may crash, hang or
// read outside. Linked with libFuzzer (tools/fuzz) and, in the ordinary test run, with a loop of
// seeded mutations (test_object_fuzz.cpp).
#include "tests/fuzz/object_fuzzer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "generator/lower/lower.hpp"
#include "runtime/check/checker.hpp"
#include "runtime/device/sim/simulator.hpp"

using namespace wavejit;

namespace wavejit::test {

void judge_object(std::span<const std::uint8_t> bytes) {
  const auto object = lower::decode(bytes);
  if (!object) return;
  for (const check::Report& report : check::check(*object)) static_cast<void>(check::to_string(report));
  if (object->target == nullptr) return;
  for (const lower::DecodedKernel& kernel : object->kernels) {
    const auto program = sim::Program::create(kernel, *object->target);
    if (!program) continue;
    sim::Memory memory;
    const std::vector<std::byte> kernarg(std::min<std::uint32_t>(kernel.kernarg_segment_size, 4096));
    sim::LaunchParams launch;
    launch.block = {object->target->wave_size * 2U, 1, 1};
    launch.kernarg = kernarg;
    launch.options.max_instructions_per_wave = 2000;
    launch.options.threads = 1;
    static_cast<void>(sim::run(*program, memory, launch));
  }
}

}  // namespace wavejit::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  wavejit::test::judge_object({data, size});
  return 0;
}
