// SPDX-License-Identifier: MIT
// HIP C++ source -> code object, by hiprtc, found and opened at run time. The fallback for a problem that
// no kernel family serves, and the maker of the on-device reference. Needs no GPU.
//
// hiprtc hands its work to comgr, and some comgr (Debian's 5.2.3) aborts the process when asked for a
// processor or feature that it does not know. So comgr is asked first (amd_comgr_get_isa_metadata); what it
// does not know is an error here and never reaches hiprtc. Where comgr cannot be asked, nothing is compiled.
//
// Thread safety: any thread; compiles run one at a time, as comgr locks anyway.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "generator/support/error.hpp"

namespace wavejit::hiprtc {

struct Options {
  /// Instead of the environment's WAVEJIT_HIPRTC_LIBRARY, one that the process has mapped already, one beside
  /// the HIP runtime that it has mapped, libhiprtc.so.7, .6, .5, libhiprtc.so, and libamdhip64.so.5, which
  /// held hiprtc up to HIP 5.4.
  std::string library;
  std::vector<std::string> definitions;  ///< "NAME" or "NAME=VALUE"
  std::vector<std::string> flags;        ///< of the compiler: "-O3"
};

struct Header {
  std::string name;  ///< as the source includes it
  std::string text;
};

struct CodeObject {
  std::vector<std::byte> bytes;  ///< ELF
  std::string log;               ///< warnings
};

/// `name` is the file name in messages; `target_id` as gcnArchName gives it: "gfx90a:sramecc+:xnack-".
/// Errors, all ErrorCode::hiprtc: no library, a target that is not known (those that are, are named), source
/// that is refused (with the compiler's log).
Result<CodeObject> compile(std::string_view source, std::string_view name, std::string_view target_id,
                           const std::vector<Header>& headers = {}, const Options& options = {});

/// Whether `compile` would have a compiler for this target. Errors: hiprtc, those of `compile` before it
/// begins.
Result<void> check_target(std::string_view target_id, const Options& options = {});

/// Processors that the compiler knows: "gfx90a". Errors: hiprtc.
Result<std::vector<std::string>> known_targets(const Options& options = {});

}  // namespace wavejit::hiprtc
