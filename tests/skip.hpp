// SPDX-License-Identifier: MIT
// Test cases whose other side is not there: another tool, another compiler's objects, a right of the user's.
// Such a case ends as skipped, which ctest shows and counts, and a program says at its end with the reasons.
#pragma once

#include <filesystem>
#include <string>

namespace wavejit::test {

/// Ends the running test case as skipped. A case that failed before stays failed.
[[noreturn]] void skip(const std::string& reason);

/// `part` in the folder of material that is no part of the repository: $WAVEJIT_SHARED, or the folder
/// `shared` beside the source tree. Skips the case where neither holds it.
std::filesystem::path shared(const std::string& part);

}  // namespace wavejit::test
