// SPDX-License-Identifier: MIT
// The names of error codes, as reports, logs and the C ABI show them.
#pragma once

#include <string_view>

#include "generator/support/error.hpp"

namespace wavejit {

/// Zero-terminated; "unknown" for a number that is no code.
constexpr std::string_view name(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_problem:
      return "invalid_problem";
    case ErrorCode::invalid_config:
      return "invalid_config";
    case ErrorCode::unknown_target:
      return "unknown_target";
    case ErrorCode::out_of_registers:
      return "out_of_registers";
    case ErrorCode::out_of_lds:
      return "out_of_lds";
    case ErrorCode::invalid_ir:
      return "invalid_ir";
    case ErrorCode::assembler:
      return "assembler";
    case ErrorCode::invalid_code_object:
      return "invalid_code_object";
    case ErrorCode::unknown_instruction:
      return "unknown_instruction";
    case ErrorCode::simulation:
      return "simulation";
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::io:
      return "io";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::no_device:
      return "no_device";
    case ErrorCode::wrong_architecture:
      return "wrong_architecture";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::capture_active:
      return "capture_active";
    case ErrorCode::load_failed:
      return "load_failed";
    case ErrorCode::launch_failed:
      return "launch_failed";
    case ErrorCode::not_prepared:
      return "not_prepared";
    case ErrorCode::driver:
      return "driver";
    case ErrorCode::hiprtc:
      return "hiprtc";
    case ErrorCode::timed_out:
      return "timed_out";
    case ErrorCode::shut_down:
      return "shut_down";
    case ErrorCode::internal:
      return "internal";
  }
  return "unknown";
}

}  // namespace wavejit
