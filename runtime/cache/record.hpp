// SPDX-License-Identifier: MIT
// The payload of an entry: a finished kernel and what a launcher must know of it that Problem and Config do
// not say. Grid, block, shapes and argument values for an M come from templates::launch(problem, config,
// target, m), which generates nothing. The record repeats the argument layout that the code was generated
// for; agrees() compares the two before the kernel is used, so that no record can be launched with a layout
// other than its own. Serialised deterministically (no times), with lengths that the parser bounds.
#pragma once

#include <span>

#include "runtime/cache/lookup.hpp"
#include "templates/kernel.hpp"

namespace wavejit::cache {

struct RecordArgument {
  std::string name;
  ir::ArgKind kind = ir::ArgKind::buffer;
  ir::Access access = ir::Access::read;
  std::uint32_t offset = 0, size = 0;  ///< in the kernarg segment, bytes
  friend bool operator==(const RecordArgument&, const RecordArgument&) = default;
};

struct Record {
  std::string kernel;  ///< symbol
  std::string target;  ///< processor: "gfx1151"
  std::uint32_t workgroup_size = 0, kernarg_size = 0, lds_bytes = 0;
  std::vector<RecordArgument> arguments;
  // Generator statistics.
  std::uint32_t vgprs = 0, sgprs = 0, agprs = 0, waves_per_simd = 0, instructions = 0;
  Bytes code_object;
  friend bool operator==(const Record&, const Record&) = default;
};

/// Of a kernel that was generated with its code object.
Record make_record(const templates::GeneratedKernel& kernel);
Bytes serialise(const Record& record);
/// Errors: invalid_code_object, with the part that is malformed.
Result<Record> parse_record(std::span<const std::uint8_t> bytes);
/// Checks target, workgroup size, kernarg size and every argument against what `launch` says (for any M).
/// Errors: invalid_code_object, with the field that differs.
Result<void> agrees(const Record& record, const templates::Launch& launch, const target::Target& target);

}  // namespace wavejit::cache
