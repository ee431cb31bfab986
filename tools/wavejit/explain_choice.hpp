// SPDX-License-Identifier: MIT
// Why selection chose what it chose, in words and numbers.
#pragma once

#include <cstdio>

#include "tools/wavejit/options.hpp"

namespace wavejit::tools {

/// How many Configs were considered, what each rule took out, the time, the quickest by the quick estimate
/// and the choice among them.
void print_choice(std::FILE* to, const Job& job);

}  // namespace wavejit::tools
