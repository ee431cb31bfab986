// SPDX-License-Identifier: MIT
// libamdhip64, found and opened at run time. Once opened it stays open to the end of the process: the
// HIP runtime has threads and exit handlers that do not survive dlclose.
#pragma once

#include <memory>
#include <string>

#include "generator/support/error.hpp"
#include "runtime/device/hip/api.hpp"

namespace wavejit::device::hip {

struct Library {
  std::string path;  ///< as given to the loader
  Api api;
  int version = 0;  ///< HIP_VERSION: major * 10^7 + minor * 10^5 + patch
  int devices = 0;
};

/// `path` if not empty, else the environment's WAVEJIT_HIP_LIBRARY, else libamdhip64.so.7, .6, .5 and
/// libamdhip64.so. Initialises the driver and counts its devices, anew at each call: a failure is not
/// remembered.
/// Errors: no_device (no library: the loader's reasons; no usable GPU: the driver's reason), driver (a
/// function that is missing, by name).
Result<std::shared_ptr<const Library>> load_library(const std::string& path);

/// The error of a failed driver call, with the driver's name and number of it. Codes of HIP that have a
/// meaning of their own become out_of_memory, capture_active, no_device or wrong_architecture; the others
/// `otherwise`. Takes the failure off the thread's last-error slot, so that the caller does not find ours.
Error driver_error(const Api& api, const char* call, Status status, ErrorCode otherwise);

inline std::unexpected<Error> driver_failure(const Api& api, const char* call, Status status,
                                             ErrorCode otherwise = ErrorCode::driver) {
  return std::unexpected(driver_error(api, call, status, otherwise));
}

}  // namespace wavejit::device::hip
