// SPDX-License-Identifier: MIT
// Why selection chose what it chose, in words and numbers.
#pragma once

#include <cstdio>

#include "tools/wavejit/options.hpp"

namespace wavejit::tools {

/// Of w4a16 and the int4 products: how many Configs were considered, what each rule took out, the quickest by
/// the quick estimate or, on CDNA, by counts, and the choice among them. Of kquant: every Config's time by
/// the timing model, what binds it, and the rule that chooses.
void print_choice(std::FILE* to, const Job& job);

}  // namespace wavejit::tools
