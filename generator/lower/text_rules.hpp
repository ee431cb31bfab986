// SPDX-License-Identifier: MIT
// What assembly text may hold before LLVM's parser sees it: what print_assembly() writes and a person edits.
// That parser is made for compilers and for people who mean well. Other text makes it abort (a `.size` over
// two sections), run without end (code aligned behind an odd byte), divide by zero, overflow its stack or
// grow without bound, and a server that reads an edited kernel must outlive all of that. So: labels,
// instructions whose operands are names, numbers and brackets, the directives of one table with plain
// arguments, metadata of plain scalars, all of bounded length. Private to this floor.
#pragma once

#include <string_view>

#include "generator/support/error.hpp"

namespace wavejit::lower {

/// Errors: assembler, "line:column: message", of the first place that is not allowed.
Result<void> check_text(std::string_view text);

}  // namespace wavejit::lower
