// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "runtime/check/checker.hpp"

namespace wavejit::check {
namespace {

struct KindInfo {
  std::string_view name;
  Severity severity;  ///< in the strict set
  Source source;
  Severity lenient = severity;  ///< … and outside of it, whatever the source
};

constexpr std::array<KindInfo, static_cast<std::size_t>(Kind::count_)> kinds{{
    {"read-in-flight", Severity::error, Source::isa},
    {"write-in-flight", Severity::error, Source::isa},
    // Double buffering may keep the loads from those very bytes; our own kernels wait all the same.
    {"lds-store-at-barrier", Severity::error, Source::isa, Severity::warning},
    {"lds-order-at-barrier", Severity::warning, Source::isa},
    {"lds-without-barrier", Severity::warning, Source::isa},
    {"undefined-lds", Severity::error, Source::isa},
    {"matrix-hazard", Severity::error, Source::isa},
    {"trans-use", Severity::error, Source::llvm},
    {"wait-states", Severity::error, Source::isa},
    {"replayed-clause", Severity::error, Source::llvm},
    {"sgpr-read-hazard", Severity::error, Source::llvm},
    {"cmpx-permlane", Severity::error, Source::llvm},
    {"dealloc", Severity::error, Source::llvm},
    {"dealloc-scratch", Severity::warning, Source::llvm},
    {"use-after-dealloc", Severity::error, Source::isa},
    {"register-range", Severity::error, Source::isa},
    {"lds-range", Severity::error, Source::isa},
    {"kernarg-range", Severity::error, Source::abi},
    {"kernarg-padding", Severity::note, Source::abi},
    {"undefined-register", Severity::error, Source::isa},
    {"partly-written", Severity::warning, Source::isa},
    {"buffer-descriptor", Severity::error, Source::isa},
    {"foreign-instruction", Severity::error, Source::isa},
    {"operand-rule", Severity::error, Source::isa},
    {"tuple-alignment", Severity::error, Source::isa},
    {"branch-target", Severity::error, Source::isa},
    {"missing-end", Severity::error, Source::isa},
    {"endless-path", Severity::error, Source::isa},
    {"clause-content", Severity::warning, Source::isa},
    {"unreachable-code", Severity::note, Source::isa},
    {"descriptor-field", Severity::error, Source::abi},
    {"metadata-mismatch", Severity::error, Source::abi},
    {"too-complex", Severity::error, Source::isa},
}};

const KindInfo& info(Kind kind) { return kinds[static_cast<std::size_t>(kind)]; }

}  // namespace

std::string_view name(Kind kind) { return info(kind).name; }
Severity severity(Kind kind) { return info(kind).severity; }
Severity severity(Kind kind, Source source, bool strict) {
  if (strict) return info(kind).severity;
  const Severity most = source == Source::llvm ? Severity::warning : Severity::error;
  return std::min(info(kind).lenient, most);
}
Source source(Kind kind) { return info(kind).source; }

std::string_view name(Severity severity) {
  static constexpr std::array<std::string_view, 3> names{"note", "warning", "error"};
  return names[static_cast<std::size_t>(severity)];
}

std::string_view name(Source source) {
  static constexpr std::array<std::string_view, 4> names{"isa", "abi", "llvm", "measured"};
  return names[static_cast<std::size_t>(source)];
}

std::optional<Kind> find_kind(std::string_view text) {
  const auto* it = std::ranges::find(kinds, text, &KindInfo::name);
  if (it == kinds.end()) return std::nullopt;
  return static_cast<Kind>(it - kinds.begin());
}

std::size_t Report::count(Severity at_least) const {
  const auto listed =
      std::ranges::count_if(findings, [&](const Finding& f) { return f.severity >= at_least; });
  return static_cast<std::size_t>(listed) + (at_least == Severity::error ? dropped_errors : dropped);
}

bool Report::has(Kind kind) const {
  return std::ranges::any_of(findings, [&](const Finding& f) { return f.kind == kind; });
}

std::string to_string(const Finding& f) {
  std::string text = fmt::format("{} {} at 0x{:x}", name(f.severity), name(f.kind), f.address);
  if (!f.text.empty()) fmt::format_to(std::back_inserter(text), " `{}`", f.text);
  fmt::format_to(std::back_inserter(text), ": {}", f.message);
  if (f.source == Source::llvm) text += "; a rule of LLVM's, not of the ISA manual";
  if (f.source == Source::measured) text += "; a rule measured on hardware, not of the ISA manual";
  if (!f.path.empty()) fmt::format_to(std::back_inserter(text), "; path: {}", f.path);
  return text;
}

std::string to_string(const Report& report) {
  std::string text;
  for (const Finding& f : report.findings)
    fmt::format_to(std::back_inserter(text), "{}: {}\n", report.kernel, to_string(f));
  if (report.dropped > 0)
    fmt::format_to(std::back_inserter(text), "{}: {} more findings\n", report.kernel, report.dropped);
  return text;
}

}  // namespace wavejit::check
