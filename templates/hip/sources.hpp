// SPDX-License-Identifier: MIT
// The HIP C++ sources of this folder, as text inside the library: what hiprtc compiles at run time where no
// kernel family serves a problem, and what a self-test compares with on a device. Each file says its
// arguments, definitions and grid at its head. Kernels are plain on purpose; nothing here is tuned.
#pragma once

#include <span>
#include <string_view>

namespace wavejit::templates::hip {

struct Source {
  std::string_view name;  ///< file name, as another source includes it
  std::string_view text;
};

/// All files: kernels (`*.hip`) and what they include (`*.h`).
std::span<const Source> sources();

/// nullptr when there is no such file.
const Source* find_source(std::string_view name);

}  // namespace wavejit::templates::hip
