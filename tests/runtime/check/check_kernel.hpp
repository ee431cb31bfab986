// SPDX-License-Identifier: MIT
// Tiny kernels for the checker's tests: a few lines of code with a descriptor and metadata around them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/check/checker.hpp"

namespace wavejit::test {

/// What stands around the code. Defaults make a kernel without faults: kernel-argument pointer in
/// s[0:1], workgroup id X in s2, work-item id in v0.
struct Frame {
  std::string_view target = "gfx1151";
  unsigned vgprs = 24, sgprs = 16;
  unsigned lds_bytes = 1024;
  unsigned kernarg_bytes = 32;
  unsigned workgroup_size = 256;
  std::string directives = {};  ///< more .amdhsa_* lines
};

std::vector<std::uint8_t> code_object(std::string_view body, const Frame& frame = {});
/// Assembled, linked and decoded; the running test fails when a step does.
lower::DecodedKernel kernel(std::string_view body, const Frame& frame = {});

/// Snippets load from LDS what nobody stored; the tests that are about that use check::Options{}.
inline check::Options snippet() {
  return check::Options{}.without(check::Kind::undefined_lds).without(check::Kind::lds_without_barrier);
}

/// The findings on it; s_endpgm is put behind `body`.
check::Report report(std::string_view body, const Frame& frame = {},
                     const check::Options& options = snippet());

/// The same for any target with only the code real: the descriptor is made up, for 64 VGPRs (gfx9: 32 and
/// 32 AGPRs), 1024 bytes of LDS and 32 of kernel arguments.
lower::DecodedKernel bare_kernel(std::string_view body, const target::Target& target);
check::Report bare_report(std::string_view body, const target::Target& target,
                          const check::Options& options = snippet());

/// The table of that name, which must exist.
const target::Target& table(std::string_view name);

/// Kinds found, each once, in the order of the enumeration; for CHECK(kinds(r) == only(k)).
std::vector<std::string> kinds(const check::Report& report);
std::vector<std::string> only(check::Kind kind);
inline const std::vector<std::string> nothing;

}  // namespace wavejit::test
