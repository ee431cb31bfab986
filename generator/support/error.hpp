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
