// SPDX-License-Identifier: MIT
#include "tools/wavejit/sweep_kernels.hpp"

#include <fmt/format.h>

#include <cstring>
#include <type_traits>

namespace wavejit::tools {
namespace {

bool equal_tables(const target::Target& a, const target::Target& b) {
  target::Target x = a;
  x.name = b.name;
  x.marketing = b.marketing;
  x.compute_units = b.compute_units;
  x.elf_flags = b.elf_flags;
  x.timing.vmem_loaded_latency = b.timing.vmem_loaded_latency;
  x.timing.l2_bytes_per_clock = b.timing.l2_bytes_per_clock;
  x.timing.dram_gigabytes = b.timing.dram_gigabytes;
  x.timing.clock_megahertz = b.timing.clock_megahertz;
  x.hazards.trans_use = b.hazards.trans_use;
  // Byte by byte, so that no field is forgotten. Padding that differs only costs a compilation.
  static_assert(std::is_trivially_copyable_v<target::Target>);
  return std::memcmp(static_cast<const void*>(&x), static_cast<const void*>(&b), sizeof x) == 0;
}

}  // namespace

const target::Target& same_code(const target::Target& target) {
  for (const target::Target& first : target::all())
    if (equal_tables(first, target)) return first;
  return target;
}

std::string kernel_key(const templates::Problem& problem, const templates::Config& config, unsigned stage,
                       const target::Target& target) {
  templates::Problem read = problem;
  if (problem.op == templates::Operation::kquant) {
    // The quantiser sees no weights, and the product no activations but the quantised ones.
    if (stage == 0) {
      read.n = 1;
      read.weight_type = templates::GgufType::q4_k;
    } else {
      read.activation = templates::DataType::bf16;
    }
  }
  return fmt::format("{}|{}|{}|{}", templates::canonical(read), templates::canonical(config), stage,
                     same_code(target).name);
}

SweptKernels::Answer SweptKernels::get(const templates::Problem& problem, const templates::Config& config,
                                       unsigned stage, const target::Target& target) {
  Entry* entry = nullptr;
  {
    const std::lock_guard lock(mutex_);
    auto& slot = entries_[kernel_key(problem, config, stage, target)];
    if (!slot) slot = std::make_unique<Entry>();
    entry = slot.get();
  }
  Answer answer;
  std::call_once(entry->once, [&] {
    answer.compiled = true;
    templates::GenerateOptions options;
    options.stage = stage;
    options.verify = false;  // what is asked is whether it compiles
    const auto kernel = templates::generate(problem, config, target, options);
    if (!kernel) entry->error = kernel.error();
  });
  answer.error = entry->error;
  return answer;
}

}  // namespace wavejit::tools
