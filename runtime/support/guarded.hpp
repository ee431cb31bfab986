// SPDX-License-Identifier: MIT
// Where exceptions end. Nothing of ours is thrown, but the standard library throws when memory or threads run
// out, and a thread's function, a destructor or a caller of another language must not let that through.
#pragma once

#include <exception>
#include <new>
#include <system_error>
#include <type_traits>
#include <utility>

#include "generator/support/error.hpp"

namespace wavejit {

/// What `f`, which gives a Result, gives, or out_of_memory or internal for what it throws. The texts are so
/// short that they need no memory.
template <class F>
std::invoke_result_t<F> guarded(F&& f) noexcept {
  constexpr const char* no_memory = "out of memory";
  try {
    return std::forward<F>(f)();
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::out_of_memory, no_memory);
  } catch (const std::system_error&) {  // no thread, no lock: the system's own memory
    return fail(ErrorCode::out_of_memory, no_memory);
  } catch (const std::exception& error) {
    try {
      return fail(ErrorCode::internal, error.what());
    } catch (...) {  // its text does need memory
      return fail(ErrorCode::out_of_memory, no_memory);
    }
  } catch (...) {
    return fail(ErrorCode::internal, "an exception");
  }
}

}  // namespace wavejit
