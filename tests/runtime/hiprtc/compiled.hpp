// SPDX-License-Identifier: MIT
// A source of templates/hip, compiled by whatever hiprtc this machine has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/hiprtc/hiprtc.hpp"

namespace wavejit::test {

/// Skips the case where no hiprtc is installed: Debian's are libhiprtc-builtins5, libamdhip64-5 and
/// libamd-comgr2 (tools/setup).
void need_hiprtc();

/// Fails the test when the source is refused.
std::vector<std::byte> compile_source(const std::string& file, const std::string& target_id,
                                      std::vector<std::string> definitions);

}  // namespace wavejit::test
