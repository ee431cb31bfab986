// SPDX-License-Identifier: MIT
// args.json: how to launch any code object's kernel on the simulator.
//
//   {"kernel": "name",                        which, when the object has several
//    "grid": [11, 304, 1], "block": [256, 1, 1], "dynamic_lds_bytes": 8192,
//    "args": [
//      {"name": "a", "bytes": 4096, "file": "a.bin"},         buffer from a file (bytes: its size)
//      {"bytes": 4096, "random": "bf16", "seed": 1},          generated: bf16, f16, f32, u8, u32
//      {"bytes": 4096, "fill": 0},                            every byte the same
//      {"bytes": 4096, "undefined": true, "output": "c.bin"}, poisoned; written to a file afterwards
//      {"null": true},                                        null pointer
//      {"value": 1322}]}                                      scalar (also floats, hex strings)
//
// "args" follow the kernel's own metadata, hidden arguments left out (they are filled in from grid and
// block). An entry with "name" goes to the argument of that name where the metadata has names.
// "expect" of a buffer compares afterwards: {"file": "c.ref", "dtype": "bf16", "atol": 1e-2, "rtol": 1e-2}.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "generator/lower/lower.hpp"

namespace wavejit::tools {

enum class ElementType : std::uint8_t { u8, u32, bf16, f16, f32 };
std::optional<ElementType> element_type(const std::string& name);
unsigned bytes(ElementType type);

struct Expectation {
  std::filesystem::path file;
  ElementType type = ElementType::f32;
  double atol = 0, rtol = 0;
};

struct LaunchArgument {
  enum class Source : std::uint8_t { scalar, null, file, random, fill, undefined };
  Source source = Source::undefined;
  std::string name;
  std::uint64_t bytes = 0;  ///< of the buffer
  std::uint32_t alignment = 256;
  std::filesystem::path file;
  ElementType random_type = ElementType::f32;
  std::uint64_t seed = 1;
  std::uint8_t fill = 0;
  std::array<std::uint8_t, 8> scalar{};  ///< little-endian; the metadata's size decides how many count
  std::filesystem::path output;
  std::optional<Expectation> expect;
};

struct LaunchFile {
  std::string kernel;
  std::array<std::uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::uint32_t dynamic_lds_bytes = 0;
  std::vector<LaunchArgument> arguments;
};

/// Errors: io, invalid_argument naming the field. Relative paths are relative to the file's folder.
Result<LaunchFile> read_launch_file(const std::filesystem::path& path);

/// Kernel arguments of the metadata that a caller gives, hidden ones left out, with the entry of the
/// launch file for each. Errors: invalid_argument when counts, names or kinds do not match.
struct BoundArgument {
  const lower::ArgMetadata* metadata = nullptr;
  const LaunchArgument* given = nullptr;
};
Result<std::vector<BoundArgument>> bind(const lower::DecodedKernel& kernel, const LaunchFile& launch);

}  // namespace wavejit::tools
