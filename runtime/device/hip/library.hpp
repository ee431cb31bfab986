// SPDX-License-Identifier: MIT
// libamdhip64, found and opened at run time. Once opened it stays open to the end of the process: the
// HIP runtime has threads and exit handlers that do not survive dlclose.
#pragma once

#include <memory>
#include <string>

#include "runtime/device/device.hpp"
#include "runtime/device/hip/api.hpp"

namespace wavejit::device::hip {

struct Library {
  std::string path;     ///< its file, as the loader has it
  std::string why;      ///< it is this one
  std::string warning;  ///< that others are mapped, too
  Api api;
  int version = 0;  ///< HIP_VERSION: major * 10^7 + minor * 10^5 + patch
  int devices = 0;
};

/// By the rule of OpenOptions::hip_library. Of several mapped ones the first that was loaded is taken.
/// Initialises the driver and counts its devices, anew at each call: a failure is not remembered. Errors:
/// no_device (no library: the loader's reasons; no usable GPU: the driver's reason; a parent of this process
/// has used HIP through this function before it forked), driver (a function that is missing, by name).
Result<std::shared_ptr<const Library>> load_library(const OpenOptions& options);

/// The error of a failed driver call, with the driver's name and number of it. Codes of HIP that have a
/// meaning of their own become out_of_memory, capture_active, no_device or wrong_architecture; the others
/// `otherwise`. Takes the failure off the thread's last-error slot, so that the caller does not find ours.
Error driver_error(const Api& api, const char* call, Status status, ErrorCode otherwise);

inline std::unexpected<Error> driver_failure(const Api& api, const char* call, Status status,
                                             ErrorCode otherwise = ErrorCode::driver) {
  return std::unexpected(driver_error(api, call, status, otherwise));
}

}  // namespace wavejit::device::hip
