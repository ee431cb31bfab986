// SPDX-License-Identifier: MIT
// What a code object's metadata says of one kernel, read without a disassembler: enough to refuse a launch
// that the kernel cannot have. Layout: LLVM's AMDGPUUsage, note NT_AMDGPU_METADATA (32), MessagePack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "generator/support/error.hpp"
#include "runtime/device/device.hpp"

namespace wavejit::device {

struct KernelFacts {
  std::uint32_t kernarg_bytes = 0;   ///< of the whole segment
  std::uint32_t explicit_bytes = 0;  ///< up to the last argument that is not hidden: what a launch passes
  std::uint32_t lds_bytes = 0;       ///< static
  std::uint32_t max_workgroup = 0;   ///< work-items
};

/// Also checks that every section and segment lies within the bytes, since a driver reads them without
/// knowing where they end. Errors: invalid_code_object (says which part; a kernel that is not there: says
/// those that are).
Result<KernelFacts> read_kernel(std::span<const std::byte> code_object, std::string_view kernel);

/// Errors: invalid_argument, naming the field.
Result<void> check_geometry(const Geometry& geometry, const KernelFacts& facts, std::size_t kernarg_bytes,
                            std::uint64_t lds_of_device);

}  // namespace wavejit::device
