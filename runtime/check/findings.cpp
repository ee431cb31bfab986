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
  Severity severity;
};

constexpr std::array<KindInfo, static_cast<std::size_t>(Kind::count_)> kinds{{
    {"read-in-flight", Severity::error},        {"write-in-flight", Severity::error},
    {"lds-store-at-barrier", Severity::error},  {"lds-order-at-barrier", Severity::warning},
    {"lds-without-barrier", Severity::warning}, {"undefined-lds", Severity::error},
    {"matrix-hazard", Severity::error},         {"trans-use", Severity::error},
    {"wait-states", Severity::error},           {"sgpr-read-hazard", Severity::error},
    {"cmpx-permlane", Severity::error},         {"dealloc", Severity::error},
    {"dealloc-scratch", Severity::warning},     {"use-after-dealloc", Severity::error},
    {"register-range", Severity::error},        {"lds-range", Severity::error},
    {"kernarg-range", Severity::error},         {"kernarg-padding", Severity::note},
    {"undefined-register", Severity::error},    {"partly-written", Severity::warning},
    {"buffer-descriptor", Severity::error},     {"foreign-instruction", Severity::error},
    {"operand-rule", Severity::error},          {"tuple-alignment", Severity::error},
    {"branch-target", Severity::error},         {"missing-end", Severity::error},
    {"endless-path", Severity::error},          {"clause-content", Severity::warning},
    {"unreachable-code", Severity::note},       {"descriptor-field", Severity::error},
    {"metadata-mismatch", Severity::error},     {"too-complex", Severity::error},
}};

const KindInfo& info(Kind kind) { return kinds[static_cast<std::size_t>(kind)]; }

}  // namespace

std::string_view name(Kind kind) { return info(kind).name; }
Severity severity(Kind kind) { return info(kind).severity; }

std::string_view name(Severity severity) {
  static constexpr std::array<std::string_view, 3> names{"note", "warning", "error"};
  return names[static_cast<std::size_t>(severity)];
}

std::optional<Kind> find_kind(std::string_view text) {
  const auto* it = std::ranges::find(kinds, text, &KindInfo::name);
  if (it == kinds.end()) return std::nullopt;
  return static_cast<Kind>(it - kinds.begin());
}

std::size_t Report::count(Severity at_least) const {
  const auto listed =
      std::ranges::count_if(findings, [&](const Finding& f) { return severity(f.kind) >= at_least; });
  return static_cast<std::size_t>(listed) + (at_least == Severity::error ? dropped_errors : dropped);
}

bool Report::has(Kind kind) const {
  return std::ranges::any_of(findings, [&](const Finding& f) { return f.kind == kind; });
}

std::string to_string(const Finding& f) {
  std::string text = fmt::format("{} {} at 0x{:x}", name(severity(f.kind)), name(f.kind), f.address);
  if (!f.text.empty()) fmt::format_to(std::back_inserter(text), " `{}`", f.text);
  fmt::format_to(std::back_inserter(text), ": {}", f.message);
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
