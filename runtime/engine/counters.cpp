// SPDX-License-Identifier: MIT
#include "runtime/engine/counters.hpp"

#include <fmt/format.h>

#include <iterator>

namespace wavejit {

std::string Counters::to_string() const {
  std::string text;
  const auto line = [&](std::string_view name, std::uint64_t value) {
    fmt::format_to(std::back_inserter(text), "{} {}\n", name, value);
  };
  line("prepares", prepares);
  line("plan_hits", plan_hits);
  line("prepare_failures", prepare_failures);
  for (std::size_t i = 0; i < kernels.size(); ++i)
    line(fmt::format("kernels_{}", name(static_cast<Tier>(i))), kernels[i]);
  for (std::size_t i = 1; i < disk_misses.size(); ++i)
    line(fmt::format("disk_miss_{}", cache::name(static_cast<cache::Miss>(i))), disk_misses[i]);
  line("compiles", compiles);
  line("compile_failures", compile_failures);
  line("compile_nanoseconds", compile_nanoseconds);
  line("refused_overrides", refused_overrides);
  line("gate_refusals", gate_refusals);
  line("loads", loads);
  line("load_failures", load_failures);
  line("load_nanoseconds", load_nanoseconds);
  line("code_bytes_loaded", code_bytes_loaded);
  line("launches", launches);
  line("empty_launches", empty_launches);
  line("launch_failures", launch_failures);
  line("disk_bytes_read", disk_bytes_read);
  line("disk_bytes_written", disk_bytes_written);
  line("disk_evicted", disk_evicted);
  line("disk_quarantined", disk_quarantined);
  return text;
}

}  // namespace wavejit
