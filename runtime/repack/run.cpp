// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/repack/layout.hpp"
#include "runtime/repack/repack.hpp"
#include "runtime/repack/scales.hpp"
#include "runtime/repack/weights.hpp"
#include "runtime/repack/zero_points.hpp"

namespace wavejit::repack {
namespace {

/// One output with all that its check needs.
struct Target {
  const char* field;
  const Output& output;
  std::span<std::byte> memory;
  const Tensor* source;  ///< its own source tensor, if there is one
};

struct Range {
  std::uintptr_t begin = 0, end = 0;
};

Range range(const std::byte* begin, std::int64_t size) {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  return {address, address + static_cast<std::uintptr_t>(size)};
}

bool overlap(const Range& a, const Range& b) { return a.begin < b.end && b.begin < a.end; }

std::unexpected<Error> bad(std::string field, std::string given, std::string allowed) {
  return fail_field(ErrorCode::invalid_argument, std::move(field), std::move(given), std::move(allowed));
}

Result<void> check_memory(const Target& t) {
  const std::string field = std::string("outputs.") + t.field;
  if (t.output.bytes == 0)
    return t.memory.empty() ? Result<void>{}
                            : bad(field, fmt::format("{} bytes", t.memory.size()),
                                  "empty, because the plan writes no such tensor");
  if (std::cmp_less(t.memory.size(), t.output.bytes))
    return bad(field, fmt::format("{} bytes", t.memory.size()),
               fmt::format("at least {} bytes", t.output.bytes));
  if (reinterpret_cast<std::uintptr_t>(t.memory.data()) % static_cast<std::uintptr_t>(t.output.alignment) !=
      0)
    return bad(field, "misaligned", fmt::format("aligned to {} bytes", t.output.alignment));
  return {};
}

std::vector<std::pair<const char*, const Tensor*>> source_tensors(const Source& s) {
  std::vector<std::pair<const char*, const Tensor*>> all{{"weights", &s.weights}, {"scales", &s.scales}};
  if (s.zero_points) all.emplace_back("zero_points", &*s.zero_points);
  if (s.g_idx) all.emplace_back("g_idx", &*s.g_idx);
  return all;
}

Result<void> check_overlap(const Plan& plan, const Target& t, std::span<const Target> others) {
  if (t.output.bytes == 0) return {};
  const std::string field = std::string("outputs.") + t.field;
  const Range mine = range(t.memory.data(), t.output.bytes);
  for (const Target& other : others)
    if (&other != &t && other.output.bytes != 0 &&
        overlap(mine, range(other.memory.data(), other.output.bytes)))
      return bad(field, std::string("overlapping outputs.") + other.field, "memory of its own");
  for (const auto& [name, tensor] : source_tensors(plan.source)) {
    if (!overlap(mine, range(tensor->data.data(), extent(*tensor)))) continue;
    if (tensor != t.source) return bad(field, std::string("overlapping source ") + name, "memory of its own");
    if (!t.output.in_place)
      return bad(field, "overlapping its source", "memory of its own: " + t.output.not_in_place_because);
    if (tensor->data.data() != t.memory.data())
      return bad(field, "overlapping its source at another base", "at the very base of its source, or apart");
  }
  return {};
}

/// Calls work(0 .. units - 1), each once, on up to `threads` threads. Fewer threads than asked for (the
/// system may refuse one) only cost time.
template <class F>
void for_each_unit(std::int64_t units, unsigned threads, const F& work) {
  std::atomic<std::int64_t> next{0};
  const auto loop = [&] {
    for (std::int64_t unit = 0; (unit = next.fetch_add(1, std::memory_order_relaxed)) < units;) work(unit);
  };
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  const std::int64_t helpers = std::min<std::int64_t>(threads, units) - 1;
  std::vector<std::jthread> pool;
  try {
    for (std::int64_t i = 0; i < helpers; ++i) pool.emplace_back(loop);
  } catch (const std::exception&) {  // no further thread to be had: go on with those there are
  }
  loop();
}

}  // namespace

Result<void> run(const Plan& plan, const Outputs& outputs, unsigned threads) {
  const Tensor* zero_points = plan.source.zero_points ? &*plan.source.zero_points : nullptr;
  const std::array<Target, 3> targets{
      Target{"weights", plan.weights, outputs.weights, &plan.source.weights},
      Target{"scales", plan.scales, outputs.scales, &plan.source.scales},
      Target{"zero_points", plan.zero_points, outputs.zero_points, zero_points}};
  for (const Target& target : targets)
    if (auto ok = check_memory(target); !ok) return ok;
  for (const Target& target : targets)
    if (auto ok = check_overlap(plan, target, targets); !ok) return ok;

  const std::int64_t weights = weight_units(plan), scales = scale_units(plan);
  for_each_unit(weights + scales + zero_point_units(plan), threads, [&](std::int64_t unit) {
    if (unit < weights)
      write_weights(plan, outputs.weights.data(), unit);
    else if (unit < weights + scales)
      write_scales(plan, outputs.scales.data(), unit - weights);
    else
      write_zero_points(plan, outputs.zero_points.data(), unit - weights - scales);
  });
  return {};
}

}  // namespace wavejit::repack
