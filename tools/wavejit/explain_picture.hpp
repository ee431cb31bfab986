// SPDX-License-Identifier: MIT
// The pictures of the page of `wavejit explain`, as inline SVG. Colours are the classes of explain_style().
#pragma once

#include <string>
#include <string_view>

#include "tools/wavejit/explain_report.hpp"

namespace wavejit::tools {

/// &, <, > and quotes made harmless in HTML text and attributes.
std::string escape_html(std::string_view text);

/// Colours of every reason, in light and in dark.
std::string reason_style();
/// One swatch and word per reason that the report has.
std::string legend(const Report& report);

/// The pipe's clocks per iteration as one bar; `full` clocks are the width.
std::string share_bar(const Report& report, double full);

/// How busy each pipe is.
std::string pipe_bars(const Report& report);

/// One SIMD from the window's begin: its pipe, and each of its waves. `length` clocks over the width; with
/// `titles`, hovering names the instruction.
std::string timeline(const Report& report, model::Clock length, bool titles);

/// Vector registers by bank down, instructions of the loop across.
std::string register_picture(const Report& report);

}  // namespace wavejit::tools
