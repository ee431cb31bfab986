// SPDX-License-Identifier: MIT
#include "runtime/check/reporter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <tuple>
#include <vector>

namespace wavejit::check {
namespace {

constexpr std::uint32_t none = 0xFFFFFFFF;

/// Breadth-first search over blocks. `starts` are the first ones; `passes(block)` says whether a
/// path may go through a block to its end.
template <class Passes>
std::vector<std::uint32_t> shortest(const Program& program, const std::vector<std::uint32_t>& starts,
                                    std::uint32_t goal, Passes&& passes) {
  std::vector<std::uint32_t> from(program.blocks.size(), none);
  std::vector<std::uint32_t> queue;
  for (const std::uint32_t b : starts) {
    if (b == no_block || from[b] != none) continue;
    from[b] = b;
    queue.push_back(b);
  }
  for (std::size_t head = 0; head < queue.size() && from[goal] == none; ++head) {
    const std::uint32_t b = queue[head];
    if (!passes(b)) continue;
    for (const std::uint32_t to : program.blocks[b].next) {
      if (to == no_block || from[to] != none) continue;
      from[to] = b;
      queue.push_back(to);
    }
  }
  std::vector<std::uint32_t> path;
  if (from[goal] == none) return path;
  for (std::uint32_t b = goal;; b = from[b]) {
    path.push_back(b);
    if (from[b] == b) break;
  }
  std::ranges::reverse(path);
  return path;
}

std::string describe(const Program& program, const std::vector<std::uint32_t>& path) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (i == most && path.size() > most + 1) {
      i = path.size() - 1;
      text += " -> …";
    }
    const Step& first = program.steps[program.blocks[path[i]].first];
    fmt::format_to(std::back_inserter(text), "{}0x{:x}", i == 0 ? "" : " -> ", program.address(first));
  }
  return text;
}

}  // namespace

bool Reporter::accepts(Kind kind, Source source) {
  if (!enabled(kind)) return false;
  if (report_.findings.size() < options_.max_findings) return true;
  ++report_.dropped;
  if (severity(kind, source, options_.strict) == Severity::error) ++report_.dropped_errors;
  return false;
}

void Reporter::add(Kind kind, const RuleName& rule, std::uint32_t instruction, std::string message,
                   std::string path) {
  if (!accepts(kind, rule.source)) return;
  Finding f;
  f.kind = kind;
  f.severity = severity(kind, rule.source, options_.strict);
  f.source = rule.source;
  f.rule = rule.text;
  f.instruction = instruction;
  f.address = kernel_.descriptor_address;
  f.message = std::move(message);
  f.path = std::move(path);
  if (instruction < kernel_.instructions.size()) {
    f.address = kernel_.instructions[instruction].address;
    f.text = kernel_.instructions[instruction].text;
  }
  report_.findings.push_back(std::move(f));
}

Report Reporter::take() && {
  // The whole kernel's index is the greatest: + 1 brings it to the front.
  std::ranges::sort(report_.findings, {}, [](const Finding& f) {
    return std::tuple(f.instruction + 1U, f.kind, std::string_view(f.message));
  });
  return std::move(report_);
}

std::string place(const Program& program, const Step& step) {
  return fmt::format("0x{:x} `{}`", program.address(step), program.text(step));
}

std::string path_between(const Program& program, std::uint32_t from, std::uint32_t to) {
  const std::uint32_t start = program.block_of[from];
  const std::uint32_t goal = program.block_of[to];
  if (start == goal && from < to) return {};
  const Block& b = program.blocks[start];
  const auto path = shortest(program, {b.next[0], b.next[1]}, goal, [](std::uint32_t) { return true; });
  if (path.empty()) return {};
  return fmt::format("from 0x{:x} over {}", program.address(program.steps[from]), describe(program, path));
}

std::string path_without_write(const Program& program, std::uint32_t to, unsigned unit) {
  const auto passes = [&](std::uint32_t b) {
    for (std::uint32_t s = program.blocks[b].first; s < program.blocks[b].end; ++s)
      for (const Access& a : program.writes(program.steps[s]))
        if (a.first <= unit && unit < a.end()) return false;
    return true;
  };
  const auto path = shortest(program, {0}, program.block_of[to], passes);
  return path.size() < 2 ? std::string{} : describe(program, path);
}

}  // namespace wavejit::check
