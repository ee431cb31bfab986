// SPDX-License-Identifier: MIT
#include "tests/harness/mutation.hpp"

#include <algorithm>
#include <array>

#include "generator/lower/lower.hpp"
#include "runtime/check/checker.hpp"

namespace wavejit::harness {
namespace {

constexpr std::array<std::string_view, 5> catcher_names{"assembler", "static checker", "simulator", "oracle",
                                                        "nobody"};

/// The 1-based line `n` of a text, and those before it.
std::string_view before_line(std::string_view text, std::size_t n) {
  std::size_t at = 0;
  for (std::size_t line = 1; line < n; ++line) at = text.find('\n', at) + 1;
  return text.substr(0, at);
}

/// Straight-line code only: a branch back could bring LDS accesses after the barrier again.
bool nothing_follows_in_lds(const Mutant& mutant) {
  const std::string_view rest =
      std::string_view(mutant.text).substr(before_line(mutant.text, mutant.line).size());
  for (const std::string_view touching : {"\tds_", "\ts_cbranch", "\ts_branch", " lds"})
    if (rest.find(touching) != std::string_view::npos) return false;
  return true;
}

/// Why a mutant may live: what it changed was no guarantee. Empty = no such reason.
std::string explanation(const Mutant& mutant, const Subject& subject) {
  const templates::Problem& p = subject.problem;
  const auto of = [&](std::string_view tensor) { return mutant.before.find(tensor) != std::string::npos; };
  if (mutant.kind == MutationKind::barrier_dropped)
    return nothing_follows_in_lds(mutant) ? "nothing touches LDS behind this barrier" : "";
  const bool larger = mutant.kind == MutationKind::records_grown ||
                      (mutant.kind == MutationKind::operation && (of("0x7ffffffc") || of("num_records")));
  if (larger && !subject.exact_descriptors)
    return "this kernel guards its accesses by comparisons, too, so a larger descriptor admits none";
  if (mutant.kind != MutationKind::records_grown) return {};
  // Rows and offsets are multiples of the 16 bytes that each access takes, so an access is in bounds
  // or misses by 16 bytes at least; an element more admits none.
  const bool wide_activations = of("of a row of activations") && p.activation_stride % 8 == 0;
  const bool narrow_stores = subject.assembly.find("buffer_store_b16") != std::string::npos ||
                             subject.assembly.find("buffer_store_short") != std::string::npos;
  const bool wide_output =
      of("of a row of output") && p.n % 8 == 0 && p.output_stride % 8 == 0 && !narrow_stores;
  const bool wide_bias = of("of a row of bias") && p.n % 8 == 0 && !narrow_stores;
  if (wide_activations || wide_output || wide_bias)
    return "every access takes 16 bytes at a multiple of 16, so one element more admits none";
  return {};
}

Catcher judge(const Mutant& mutant, const Subject& subject) {
  const auto object = lower::assemble(mutant.text, *subject.target);
  if (!object) return Catcher::assembler;
  const auto linked = lower::link(*object);
  if (!linked) return Catcher::assembler;
  const auto decoded = lower::decode(*linked);
  if (!decoded) return Catcher::checker;
  for (const check::Report& report : check::check(*decoded))
    if (!report.ok()) return Catcher::checker;
  switch (subject.run(*linked).first) {
    case Judgement::faulty:
      return Catcher::simulator;
    case Judgement::wrong:
      return Catcher::oracle;
    case Judgement::right:
      break;
  }
  return Catcher::nobody;
}

}  // namespace

std::string_view name(Catcher catcher) { return catcher_names[static_cast<std::size_t>(catcher)]; }

double MutationScore::score() const {
  std::size_t explained = 0;
  for (const Survivor& s : survivors) explained += s.explanation.empty() ? 0 : 1;
  const std::size_t meaningful = total - explained;
  return meaningful == 0 ? 1.0
                         : static_cast<double>(total - survivors.size()) / static_cast<double>(meaningful);
}

void MutationScore::add(const MutationScore& other) {
  total += other.total;
  for (const auto& [catcher, count] : other.caught) caught[catcher] += count;
  for (const auto& [kind, counts] : other.by_kind) {
    by_kind[kind].first += counts.first;
    by_kind[kind].second += counts.second;
  }
  survivors.insert(survivors.end(), other.survivors.begin(), other.survivors.end());
}

Result<MutationScore> mutation_score(const Subject& subject, std::size_t first, std::size_t every,
                                     const Progress& progress) {
  const auto object = lower::assemble(subject.assembly, *subject.target);
  if (!object) return std::unexpected(object.error());
  const auto linked = lower::link(*object);
  if (!linked) return std::unexpected(linked.error());
  if (const auto [outcome, why] = subject.run(*linked); outcome != Judgement::right)
    return fail(ErrorCode::simulation, subject.kind + ": the unmutated kernel does not pass: " + why);
  const std::vector<Mutant> all = mutants(subject.assembly);
  MutationScore score;
  for (std::size_t i = first; i < all.size(); i += std::max<std::size_t>(every, 1)) {
    if (progress) progress(i, all.size());
    const Catcher catcher = judge(all[i], subject);
    if (catcher == Catcher::assembler) continue;  // no program: nothing to judge
    ++score.total;
    ++score.caught[catcher];
    auto& [caught, total] = score.by_kind[all[i].kind];
    ++total;
    if (catcher != Catcher::nobody) {
      ++caught;
      continue;
    }
    Survivor survivor{subject.kind, subject.config, all[i], explanation(all[i], subject)};
    survivor.mutant.text.clear();
    score.survivors.push_back(std::move(survivor));
  }
  return score;
}

}  // namespace wavejit::harness
