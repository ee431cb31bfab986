// SPDX-License-Identifier: MIT
// Internal: how C++ results become C statuses. The text of a thread's last failure sits in fixed arrays, so
// that reporting a failure to allocate needs no allocation.
#pragma once

#include <new>
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
