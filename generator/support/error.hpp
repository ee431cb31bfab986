// SPDX-License-Identifier: MIT
// The one error type of the library. Everything a caller can cause is returned as
// std::expected<T, Error>; our own bugs are assertions. Library code never prints and never exits.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

namespace wavejit {

/// Stable numbers: they cross the C ABI and must not be renumbered.
enum class ErrorCode : std::uint8_t {
  invalid_problem = 1,      ///< a Problem field is outside what the operation allows
  invalid_config = 2,       ///< a Config field is outside what the family allows
  unknown_target = 3,       ///< no target table of that name
  out_of_registers = 4,     ///< a kernel does not fit its register budget; never spilled
  out_of_lds = 5,           ///< a kernel does not fit the target's LDS
  invalid_ir = 6,           ///< the verifier refused a kernel
  assembler = 7,            ///< LLVM refused the text; message has line and column
  invalid_code_object = 8,  ///< an ELF or its metadata is malformed or foreign
  unknown_instruction = 9,  ///< an instruction outside the vocabulary, named with its place
  simulation = 10,          ///< a simulated run found a fault
  invalid_argument = 11,    ///< a launch or command-line argument is wrong
  io = 12,                  ///< a file could not be read or written
  unsupported = 13,         ///< right in itself, but nothing serves it
  no_device = 14,           ///< no device of that kind or ordinal; the driver's own reason is in the message
  wrong_architecture = 15,  ///< a code object for another target than the device's
  out_of_memory = 16,       ///< the device or its driver has none left
  capture_active = 17,      ///< the call may not happen while a stream of the device is being captured
  load_failed = 18,         ///< the driver refused a module
  launch_failed = 19,       ///< the driver refused a launch, or an earlier one failed
  not_prepared = 20,        ///< launch without a prepare that covers this problem and M
  driver = 21,              ///< any other driver failure; its name and number are in the message
  hiprtc = 22,              ///< hiprtc is missing, lacks the target, or refused the source (log in message)
  timed_out = 23,           ///< something waited for did not come in time
  shut_down = 24,           ///< the engine is being destroyed
  internal = 25,            ///< a bug of ours that was caught at the border
};

/// `message` is a whole sentence that names what was wrong and what would be right.
/// `field`, `given` and `allowed` repeat its parts for machines; they may be empty.
struct Error {
  ErrorCode code = ErrorCode::invalid_argument;
  std::string message;
  std::string field;
  std::string given;
  std::string allowed;
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(ErrorCode code, std::string message) {
  return std::unexpected(Error{code, std::move(message), {}, {}, {}});
}

/// "field: given; allowed" in the fixed sentence form that the tests look for.
inline std::unexpected<Error> fail_field(ErrorCode code, std::string field, std::string given,
                                         std::string allowed) {
  std::string message = field + " is " + given + ", but must be " + allowed;
  return std::unexpected(
      Error{code, std::move(message), std::move(field), std::move(given), std::move(allowed)});
}

}  // namespace wavejit
