// SPDX-License-Identifier: MIT
#include "runtime/repack/permutation.hpp"

#include <fmt/format.h>

#include "runtime/repack/bits.hpp"

namespace wavejit::repack {
namespace {

std::unexpected<Error> refuse(std::string field, std::string given, std::string allowed) {
  return fail_field(ErrorCode::unsupported, std::move(field), std::move(given), std::move(allowed));
}

/// Columns per group. All of them being G is what makes sorting sound; a row shard of an act-order tensor
/// has uneven ones, and one of plain grouping starts above 0.
Result<void> check_counts(const std::vector<std::int32_t>& g_idx, std::int64_t group) {
  const std::int64_t groups = static_cast<std::int64_t>(g_idx.size()) / group;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(groups));
  for (std::size_t k = 0; k < g_idx.size(); ++k) {
    if (g_idx[k] < 0 || g_idx[k] >= groups)
      return refuse(fmt::format("g_idx[{}]", k), std::to_string(g_idx[k]),
                    fmt::format("0 to {}, the groups of this K (a row shard must be cut with its own groups, "
                                "counted from 0)",
                                groups - 1));
    ++counts[static_cast<std::size_t>(g_idx[k])];
  }
  for (std::size_t g = 0; g < counts.size(); ++g)
    if (counts[g] != group)
      return refuse(
          "g_idx", fmt::format("one that gives group {} {} columns", g, counts[g]),
          fmt::format("one with {} columns in each group (a row shard of act-order weights has not)", group));
  return {};
}

}  // namespace

Result<std::vector<std::int32_t>> column_order(const Plan& plan) {
  if (!plan.source.g_idx) return {};
  const std::int64_t k_end = plan.destination.k, group = plan.destination.group;
  std::vector<std::int32_t> g_idx(static_cast<std::size_t>(k_end));
  std::memcpy(g_idx.data(), plan.source.g_idx->data.data(), g_idx.size() * sizeof(std::int32_t));
  if (auto ok = check_counts(g_idx, group); !ok) return std::unexpected(std::move(ok.error()));

  // Counts are all G, so the next place of group g starts at g * G: a counting sort, which is stable.
  std::vector<std::int64_t> next(static_cast<std::size_t>(k_end / group));
  for (std::size_t g = 0; g < next.size(); ++g) next[g] = static_cast<std::int64_t>(g) * group;
  std::vector<std::int32_t> order(g_idx.size());
  bool sorted = true;
  for (std::size_t k = 0; k < g_idx.size(); ++k) {
    const auto place = static_cast<std::size_t>(next[static_cast<std::size_t>(g_idx[k])]++);
    order[place] = static_cast<std::int32_t>(k);
    sorted &= place == k;
  }
  if (sorted) return {};
  if (!plan.destination.gathers_activations)
    return refuse("g_idx", "in activation order",
                  "sorted, unless destination.gathers_activations promises permuted activations");
  return order;
}

}  // namespace wavejit::repack
