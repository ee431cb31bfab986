// SPDX-License-Identifier: MIT
#include <llvm/Config/llvm-config.h>

#include "generator/lower/lower.hpp"
#if __has_include(<llvm/Support/VCSRevision.h>)
#include <llvm/Support/VCSRevision.h>
#endif

namespace wavejit::lower {

std::string llvm_version() { return LLVM_VERSION_STRING; }

std::string llvm_commit() {
#ifdef LLVM_REVISION
  return LLVM_REVISION;
#else
  return {};
#endif
}

}  // namespace wavejit::lower
