// SPDX-License-Identifier: MIT
#include <llvm/Config/llvm-config.h>

#include "generator/lower/lower.hpp"

namespace wavejit::lower {

std::string llvm_version() { return LLVM_VERSION_STRING; }

}  // namespace wavejit::lower
