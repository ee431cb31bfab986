// SPDX-License-Identifier: MIT
// Internal: how C++ results become C statuses. The text of a thread's last failure sits in fixed arrays, so
// that reporting a failure to allocate needs no allocation.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "generator/support/error.hpp"
#include "runtime/capi/wavejit.h"

namespace wavejit::capi {

/// Remembers the error and gives its number.
wavejit_status failed(const Error& error) noexcept;
wavejit_status failed(ErrorCode code, std::string_view message) noexcept;
/// "NAME is NULL, but must be …".
wavejit_status null_argument(std::string_view name) noexcept;

/// Copies a struct that an older or newer program passed: what the caller's header did not know keeps the
/// value of `initial`. False when struct_size cannot be.
bool read_struct(void* to, std::size_t size, const void* from) noexcept;

/// The number in a C enumeration: the caller may have put there any, and to load one that is no enumerator as
/// the enumeration is undefined.
template <class Enumeration>
std::int32_t number_of(const Enumeration& value) noexcept {
  std::int32_t number = 0;
  static_assert(sizeof value == sizeof number);
  std::memcpy(&number, &value, sizeof number);
  return number;
}

/// The same as an enumeration of ours, whose numbers are 0 to `last`. Errors: invalid_argument.
template <class To, class From>
Result<To> enumeration(std::string field, const From& value, int last) {
  const std::int32_t number = number_of(value);
  if (number >= 0 && number <= last) return static_cast<To>(number);
  return fail_field(ErrorCode::invalid_argument, std::move(field), std::to_string(number),
                    "0 to " + std::to_string(last));
}

/// Nothing that is thrown crosses the border.
template <class F>
wavejit_status guarded(F&& f) noexcept {
  try {
    return std::forward<F>(f)();
  } catch (const std::bad_alloc&) {
    return failed(ErrorCode::out_of_memory, "the host has no memory left");
  } catch (const std::exception& error) {
    return failed(ErrorCode::internal, error.what());
  } catch (...) {
    return failed(ErrorCode::internal, "an unknown exception");
  }
}

/// snprintf's convention with a zero always written: returns the bytes that the whole text needs.
std::size_t copy_text(std::string_view text, char* to, std::size_t size) noexcept;

}  // namespace wavejit::capi
