// SPDX-License-Identifier: MIT
#include "tools/wavejit/stages.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

namespace wavejit::tools {
namespace {

using Names = std::vector<std::string>;

/// Of the arguments of each stage.
Result<std::vector<Names>> argument_names(const templates::Problem& problem, const templates::Config& config,
                                          const target::Target& target, std::int64_t m) {
  std::vector<Names> all;
  for (unsigned stage = 0; stage < templates::stages(problem, config); ++stage) {
    const auto launch = templates::launch(problem, config, target, m, stage);
    if (!launch) return std::unexpected(launch.error());
    Names& names = all.emplace_back();
    for (const templates::Argument& a : launch->arguments) names.push_back(a.name);
  }
  return all;
}

}  // namespace

Result<unsigned> stage_of(const lower::DecodedKernel& kernel, const templates::Problem& problem,
                          const templates::Config& config, const target::Target& target, std::int64_t m) {
  const auto all = argument_names(problem, config, target, m);
  if (!all) return std::unexpected(all.error());
  Names given;
  for (const lower::ArgMetadata& a : kernel.args)
    if (!a.value_kind.starts_with("hidden_")) given.push_back(a.name);
  const auto found = std::ranges::find(*all, given);
  if (found != all->end()) return static_cast<unsigned>(found - all->begin());
  std::string allowed;
  for (const Names& names : *all)
    allowed += fmt::format("{}{}", allowed.empty() ? "" : " or ", fmt::join(names, ", "));
  return fail_field(ErrorCode::invalid_code_object, "arguments", fmt::format("{}", fmt::join(given, ", ")),
                    allowed);
}

}  // namespace wavejit::tools
