// SPDX-License-Identifier: MIT
// The functions of hiprtc and comgr that are used, by facts: include/hip/hiprtc.h of ROCm/HIP (rocm-5.2.3
// to 6.2.2; hiprtcResult 0 = success) and amd_comgr.h (amd_comgr_metadata_node_t is one 64-bit handle passed
// by value; status 0 = success, 2 = invalid argument).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "generator/support/error.hpp"

namespace wavejit::hiprtc {

using Program = void*;

struct MetadataNode {
  std::uint64_t handle = 0;
};

struct Hiprtc {
  int (*hiprtcCreateProgram)(Program*, const char* source, const char* name, int headers,
                             const char** header_texts, const char** header_names) = nullptr;
  int (*hiprtcCompileProgram)(Program, int options, const char** option_texts) = nullptr;
  int (*hiprtcDestroyProgram)(Program*) = nullptr;
  int (*hiprtcGetProgramLogSize)(Program, std::size_t*) = nullptr;
  int (*hiprtcGetProgramLog)(Program, char*) = nullptr;
  int (*hiprtcGetCodeSize)(Program, std::size_t*) = nullptr;
  int (*hiprtcGetCode)(Program, char*) = nullptr;
  const char* (*hiprtcGetErrorString)(int) = nullptr;
};

struct Comgr {
  int (*amd_comgr_get_isa_count)(std::size_t*) = nullptr;
  int (*amd_comgr_get_isa_name)(std::size_t, const char**) = nullptr;
  int (*amd_comgr_get_isa_metadata)(const char*, MetadataNode*) = nullptr;
  int (*amd_comgr_destroy_metadata)(MetadataNode) = nullptr;
};

struct Libraries {
  std::string path;  ///< of hiprtc, as given to the loader
  Hiprtc hiprtc;
  Comgr comgr;
};

/// Opens hiprtc and the comgr that it uses. Both stay open. Errors: hiprtc (the loader's reasons, or the
/// functions that are missing).
Result<Libraries> open_libraries(const std::string& path);

}  // namespace wavejit::hiprtc
