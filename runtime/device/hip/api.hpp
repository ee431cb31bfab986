// SPDX-License-Identifier: MIT
// The few functions, numbers and one struct of HIP's C interface that are used here, declared by ourselves
// so that nothing of ROCm is needed to build. They are the same in HIP 5.2 to 7.x unless a line says
// otherwise: each number was printed by a program compiled against include/hip/hip_runtime_api.h of
// ROCm/HIP at the tags rocm-5.2.3, rocm-5.7.1, rocm-6.0.0 and rocm-6.2.2, and read in ROCm/rocm-systems
// (projects/hip, 2026) for 7.x. Rules of stream capture: ROCm/clr hipamd/src/hip_internal.hpp
// (CHECK_STREAM_CAPTURE_SUPPORTED), hip_graph.cpp, hip_module.cpp.
#pragma once

#include <cstddef>

namespace wavejit::device::hip {

using Status = int;  ///< hipError_t
using ModuleHandle = void*;
using FunctionHandle = void*;
using StreamHandle = void*;
using EventHandle = void*;

struct Uuid {  ///< hipUUID
  char bytes[16];
};

namespace status {
inline constexpr Status success = 0, invalid_value = 1, out_of_memory = 2, not_initialized = 3,
                        invalid_configuration = 9, insufficient_driver = 35, invalid_device_function = 98,
                        no_device = 100, invalid_device = 101, invalid_image = 200, no_binary_for_gpu = 209,
                        invalid_kernel_file = 218, shared_object_init_failed = 303, invalid_handle = 400,
                        not_found = 500, illegal_address = 700, launch_out_of_resources = 701,
                        context_is_destroyed = 709, launch_failure = 719;
/// 900 to 908: hipErrorStreamCapture* and hipErrorCapturedEvent.
inline constexpr Status capture_unsupported = 900, capture_invalidated = 901, capture_implicit = 906,
                        capture_last = 908;
}  // namespace status

/// hipDeviceAttribute_t.
enum Attribute : int { clock_khz = 5, multiprocessors = 63, lds_per_block = 74, wave_size = 87 };

/// hipStreamCaptureStatus.
enum CaptureStatus : int { capture_none = 0, capture_is_active = 1, capture_is_invalidated = 2 };
/// hipStreamCaptureMode.
enum CaptureMode : int { mode_global = 0, mode_thread_local = 1, mode_relaxed = 2 };

inline constexpr unsigned stream_non_blocking = 1;  ///< hipStreamNonBlocking

/// HIP_LAUNCH_PARAM_*: keys of hipModuleLaunchKernel's `extra` list.
inline void* const launch_param_buffer_pointer = reinterpret_cast<void*>(1);
inline void* const launch_param_buffer_size = reinterpret_cast<void*>(2);
inline void* const launch_param_end = reinterpret_cast<void*>(3);

/// hipDeviceProp_t grew and was reordered in 6.0. The symbol hipGetDeviceProperties keeps the old layout
/// (5.x; 792 bytes), and 6.x and 7.x headers call hipGetDevicePropertiesR0600 (1472 bytes). A buffer of
/// `properties_room` holds either with room to grow; only gcnArchName is read.
inline constexpr std::size_t properties_room = 8192;
inline constexpr std::size_t arch_name_bytes = 256;
inline constexpr std::size_t arch_name_offset_5 = 396;
inline constexpr std::size_t arch_name_offset_r0600 = 1160;

// X(name, parameters): functions that must be there.
#define WAVEJIT_HIP_REQUIRED(X)                                                                         \
  X(hipInit, (unsigned flags))                                                                          \
  X(hipRuntimeGetVersion, (int* version))                                                               \
  X(hipGetDeviceCount, (int* count))                                                                    \
  X(hipGetDevice, (int* ordinal))                                                                       \
  X(hipSetDevice, (int ordinal))                                                                        \
  X(hipDeviceGetName, (char* name, int bytes, int device))                                              \
  X(hipDeviceGetPCIBusId, (char* id, int bytes, int device))                                            \
  X(hipDeviceTotalMem, (std::size_t * bytes, int device))                                               \
  X(hipDeviceGetAttribute, (int* value, int attribute, int device))                                     \
  X(hipGetLastError, ())                                                                                \
  X(hipModuleLoadData, (ModuleHandle * module, const void* image))                                      \
  X(hipModuleUnload, (ModuleHandle module))                                                             \
  X(hipModuleGetFunction, (FunctionHandle * function, ModuleHandle module, const char* name))           \
  X(hipModuleLaunchKernel, (FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, \
                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned lds_bytes,   \
                            StreamHandle stream, void** parameters, void** extra))                      \
  X(hipStreamCreateWithFlags, (StreamHandle * stream, unsigned flags))                                  \
  X(hipStreamDestroy, (StreamHandle stream))                                                            \
  X(hipStreamSynchronize, (StreamHandle stream))                                                        \
  X(hipStreamIsCapturing, (StreamHandle stream, int* status))                                           \
  X(hipMalloc, (void** address, std::size_t bytes))                                                     \
  X(hipFree, (void* address))                                                                           \
  X(hipMemcpyHtoD, (void* to, void* from, std::size_t bytes))                                           \
  X(hipMemcpyDtoH, (void* to, void* from, std::size_t bytes))                                           \
  X(hipMemset, (void* to, int value, std::size_t bytes))                                                \
  X(hipEventCreate, (EventHandle * event))                                                              \
  X(hipEventDestroy, (EventHandle event))                                                               \
  X(hipEventRecord, (EventHandle event, StreamHandle stream))                                           \
  X(hipEventSynchronize, (EventHandle event))                                                           \
  X(hipEventElapsedTime, (float* milliseconds, EventHandle start, EventHandle stop))

// Functions that some versions lack; null then.
#define WAVEJIT_HIP_OPTIONAL(X)                                  \
  X(hipGetDeviceProperties, (void* properties, int device))      \
  X(hipGetDevicePropertiesR0600, (void* properties, int device)) \
  X(hipDeviceGetUuid, (Uuid * uuid, int device))                 \
  X(hipThreadExchangeStreamCaptureMode, (int* mode))

struct Api {
#define WAVEJIT_HIP_MEMBER(name, parameters) Status(*name) parameters = nullptr;
  WAVEJIT_HIP_REQUIRED(WAVEJIT_HIP_MEMBER)
  WAVEJIT_HIP_OPTIONAL(WAVEJIT_HIP_MEMBER)
#undef WAVEJIT_HIP_MEMBER
  const char* (*hipGetErrorName)(Status status) = nullptr;
};

}  // namespace wavejit::device::hip
