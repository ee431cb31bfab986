// SPDX-License-Identifier: MIT
// Shared libraries that the process has mapped already, whoever loaded them and by whatever path: a framework
// brings a HIP runtime of its own (PyTorch's wheels as torch/lib/libamdhip64.so, or with a hash in the name),
// and a second one beside it knows nothing of the first one's streams and memory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wavejit::device {

/// Paths, in the order of loading, of those whose SONAME or file name is `stem` with a version or hash behind
/// it: for "libamdhip64" libamdhip64.so, libamdhip64.so.6, libamdhip64-3f2a.so.6. dlopen() takes them with
/// RTLD_NOLOAD.
std::vector<std::string> mapped_libraries(std::string_view stem);

/// The file of an open library, as the loader has it; "" when it does not say.
std::string library_file(void* handle);

}  // namespace wavejit::device
