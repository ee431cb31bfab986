// SPDX-License-Identifier: MIT
// Where the analyses leave their findings, and how they describe paths.
#pragma once

#include <string>

#include "runtime/check/checker.hpp"
#include "runtime/check/program.hpp"

namespace wavejit::check {

/// Which rule a finding breaks; without one, the kind says all.
struct RuleName {
  std::string_view text;
  Source source = Source::isa;
};

class Reporter {
 public:
  Reporter(const lower::DecodedKernel& kernel, const Options& options) : kernel_(kernel), options_(options) {
    report_.kernel = kernel.name;
  }

  [[nodiscard]] bool enabled(Kind kind) const { return options_.enabled(kind); }
  [[nodiscard]] const Options& options() const { return options_; }

  /// Whether a finding of this kind would be listed; one that would only be counted is counted here. Asked
  /// before the costly parts of a finding (paths) are made.
  bool accepts(Kind kind) { return accepts(kind, source(kind)); }
  bool accepts(Kind kind, Source source);

  /// About an instruction, by its index.
  void add(Kind kind, std::uint32_t instruction, std::string message, std::string path = {}) {
    add(kind, RuleName{.text = {}, .source = source(kind)}, instruction, std::move(message), std::move(path));
  }
  void add(Kind kind, const RuleName& rule, std::uint32_t instruction, std::string message,
           std::string path = {});
  /// About the whole kernel.
  void add(Kind kind, std::string message) { add(kind, whole_kernel, std::move(message)); }

  /// The report, its findings in order of instructions.
  Report take() &&;

 private:
  const lower::DecodedKernel& kernel_;
  const Options& options_;
  Report report_;
};

/// "0x1a40 `buffer_load_b128 …`".
std::string place(const Program& program, const Step& step);

/// A shortest path from behind step `from` to step `to` by the addresses of the blocks on the way:
/// "0x1a40 -> 0x1b00 -> 0x1a80". Empty when both lie in one block in that order.
std::string path_between(const Program& program, std::uint32_t from, std::uint32_t to);

/// A shortest path from the entry to step `to` on which no step writes `unit`; empty if there is none
/// or it has no branch.
std::string path_without_write(const Program& program, std::uint32_t to, unsigned unit);

}  // namespace wavejit::check
