// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "templates/family.hpp"

namespace wavejit::templates {

Result<void> check_stage(const Problem& problem, const Config& config, unsigned stage) {
  const unsigned count = stages(problem, config);
  if (stage < count) return {};
  return fail_field(
      ErrorCode::invalid_argument, "stage", std::to_string(stage),
      fmt::format("below {}: this Config runs {} kernel{}", count, count, count == 1 ? "" : "s"));
}

Result<Launch> launch(const Problem& problem, const Config& config, const target::Target& target,
                      std::int64_t m, unsigned stage) {
  auto p = normalise(problem, target);
  if (!p) return std::unexpected(p.error());
  auto c = normalise(config, *p, target);
  if (!c) return std::unexpected(c.error());
  if (m < 1 || m > 0x7FFFFFFF)
    return fail_field(ErrorCode::invalid_argument, "m", std::to_string(m), "between 1 and 2^31 - 1");
  if (auto ok = check_stage(*p, *c, stage); !ok) return std::unexpected(ok.error());
  return family(p->op).launch(*p, *c, stage, target, m);
}

Result<void> check_addresses(const Launch& launch, std::span<const std::uint64_t> addresses) {
  std::size_t next = 0;
  for (const Argument& a : launch.arguments) {
    if (a.kind != ir::ArgKind::buffer) continue;
    if (next >= addresses.size())
      return fail_field(ErrorCode::invalid_argument, "addresses", std::to_string(addresses.size()),
                        "one per buffer argument; " + a.name + " has none");
    const std::uint64_t address = addresses[next++];
    if (address == 0)
      return fail_field(ErrorCode::invalid_argument, a.name, "a null address", "a device address");
    if (address % a.alignment != 0)
      return fail_field(ErrorCode::invalid_argument, a.name, fmt::format("at address {:#x}", address),
                        fmt::format("aligned to {} bytes", a.alignment));
  }
  return {};
}

}  // namespace wavejit::templates
