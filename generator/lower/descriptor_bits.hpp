// SPDX-License-Identifier: MIT
// Bits of the kernel descriptor that must be 0 (LLVM AMDGPUUsage, "Kernel Descriptor"; hardware.md §9.1).
#pragma once

#include <cstdint>

#include "generator/target/target.hpp"

namespace wavejit::lower {

struct ReservedBits {
  std::uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  std::uint16_t properties = 0;
};

ReservedBits reserved_descriptor_bits(const target::Target& target);

}  // namespace wavejit::lower
