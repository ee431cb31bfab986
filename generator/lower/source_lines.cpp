// SPDX-License-Identifier: MIT
// Which line of assembly text each decoded instruction comes from. The assembler says in which order it
// emits; the code object has the same order, with whatever fills alignments between.
#include <algorithm>

#include "generator/lower/lower.hpp"

namespace wavejit::lower {
namespace {

/// From the event behind the kernel's label on.
void note_lines(DecodedKernel& kernel, std::span<const SourceEvent> events) {
  std::size_t at = 0;
  for (const SourceEvent& e : events) {
    if (e.kind == SourceEvent::Kind::data) return;
    if (e.kind == SourceEvent::Kind::alignment) {
      while (at < kernel.instructions.size() && kernel.instructions[at].address % e.alignment != 0) ++at;
    }
    if (e.kind != SourceEvent::Kind::instruction) continue;
    if (at >= kernel.instructions.size()) return;
    kernel.instructions[at++].line = e.line;
    // The second half of a pair has its first half's line.
    if (at < kernel.instructions.size() && kernel.instructions[at].size == 0)
      kernel.instructions[at++].line = e.line;
  }
}

}  // namespace

Result<void> note_source_lines(CodeObject& object, std::string_view text, std::string file) {
  if (object.target == nullptr) return {};
  const auto events = source_events(text, *object.target);
  if (!events) return std::unexpected(events.error());
  for (DecodedKernel& kernel : object.kernels) {
    const auto label = std::ranges::find_if(*events, [&](const SourceEvent& e) {
      return e.kind == SourceEvent::Kind::label && e.label == kernel.name;
    });
    if (label == events->end()) continue;
    kernel.source = file;
    note_lines(kernel, std::span(label + 1, events->end()));
  }
  return {};
}

}  // namespace wavejit::lower
