// SPDX-License-Identifier: MIT
// Which processor a code object is for, from its ELF header alone: 64 bytes are looked at. Numbers:
// LLVM's AMDGPUUsage, tables "AMDGPU ELF Header e_flags" (EF_AMDGPU_MACH_*, features of code object V4
// and later; generic version in bits 31..24 of V6, ABI version 4).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "generator/support/error.hpp"

namespace wavejit::device {

enum class Feature : std::uint8_t { unsupported, any, off, on };

struct CodeObjectTarget {
  std::string processor;         ///< "gfx1151"; "mach 0x…" when the number is not known here
  unsigned generic_version = 0;  ///< of a generic processor's code object ("gfx11-generic"), else 0
  Feature xnack = Feature::unsupported, sramecc = Feature::unsupported;
  /// "gfx942:sramecc+:xnack-"; features that may be either way are left out.
  [[nodiscard]] std::string id() const;
};

/// Errors: invalid_code_object (not an AMDGPU ELF, names what is wrong).
Result<CodeObjectTarget> read_target(std::span<const std::byte> code_object);

/// Whether the code object runs on a device of this target id: made for its processor, or for the generic one
/// of its family (target::Target::family), as HIP's loader has it. Errors: invalid_code_object,
/// wrong_architecture (says both). A feature that the device does not state is not compared.
Result<void> check_target(std::span<const std::byte> code_object, std::string_view device_target_id);

}  // namespace wavejit::device
