// SPDX-License-Identifier: MIT
// The metadata note of a code object (LLVM AMDGPUUsage, "Code Object V3 Metadata" and later):
// which kernels there are, their arguments and resources. Private to this floor.
#pragma once

#include <string>
#include <vector>

#include "generator/lower/elf.hpp"
#include "generator/lower/lower.hpp"

namespace wavejit::lower {

struct KernelMetadata {
  DecodedKernel kernel;  ///< name, args and sizes; the rest is empty
  std::string symbol;    ///< of the descriptor
};

struct Metadata {
  std::string target;  ///< empty when the note does not say
  std::vector<KernelMetadata> kernels;
};

/// Errors: invalid_code_object when there is no note or it is malformed.
Result<Metadata> read_metadata(const elf::File& file);

}  // namespace wavejit::lower
