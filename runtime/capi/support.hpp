// SPDX-License-Identifier: MIT
// Internal: how C++ results become C statuses. The text of a thread's last failure sits in fixed arrays, so
// that reporting a failure to allocate needs no allocation.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "generator/support/error.hpp"
#include "runtime/capi/wavejit.h"

namespace wavejit::capi {

/// Remembers the error and gives its number.
wavejit_status failed(const Error& error) noexcept;
wavejit_status failed(ErrorCode code, std::string_view message) noexcept;
/// "NAME is NULL, but must be …".
wavejit_status null_argument(std::string_view name) noexcept;

/// Fields in a row, none of which a struct of another header ends inside.
struct Whole {
  std::size_t begin, size, count;
};
template <class Struct>
inline constexpr std::array<Whole, 1> whole_parts{{{0, sizeof(std::size_t), 1}}};
template <>
inline constexpr std::array<Whole, 2> whole_parts<wavejit_arguments>{
    {{offsetof(wavejit_arguments, activations), sizeof(wavejit_tensor), 6},
     {offsetof(wavejit_arguments, group_rows), sizeof(wavejit_tensor), 1}}};
template <>
inline constexpr std::array<Whole, 1> whole_parts<wavejit_repack_request>{
    {{offsetof(wavejit_repack_request, weights), sizeof(wavejit_host_tensor), 5}}};
template <>
inline constexpr std::array<Whole, 2> whole_parts<wavejit_device_info>{
    {{offsetof(wavejit_device_info, name), sizeof(wavejit_device_info::name), 1},
     {offsetof(wavejit_device_info, target_id), sizeof(wavejit_device_info::target_id), 1}}};

/// Whether some header, older or newer, may have had this size: a multiple of the alignment that ends no
/// pointer, tensor or text in the middle.
bool possible_size(std::size_t given, std::span<const Whole> parts) noexcept;

/// Copies a struct that an older or newer program passed: what the caller's header did not know keeps the
/// value of `to`. False when struct_size cannot be.
template <class Struct>
bool read_struct(Struct& to, const Struct* from) noexcept {
  std::size_t given = 0;
  std::memcpy(&given, from, sizeof given);
  if (!possible_size(given, whole_parts<Struct>)) return false;
  std::memcpy(&to, from, std::min(sizeof to, given));
  to.struct_size = sizeof to;
  return true;
}

/// Gives the caller's struct as much as it has room for, and says in struct_size how much that is. False when
/// struct_size cannot be: nothing is written then.
template <class Struct>
bool write_struct(Struct* to, Struct from) noexcept {
  std::size_t given = 0;
  std::memcpy(&given, to, sizeof given);
  if (!possible_size(given, whole_parts<Struct>)) return false;
  from.struct_size = std::min(sizeof from, given);
  std::memcpy(to, &from, from.struct_size);
  return true;
}

/// What is wrong with a struct that neither takes.
template <class Struct>
std::unexpected<Error> bad_size(const char* type, const Struct* given) {
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  return fail_field(ErrorCode::invalid_argument, "struct_size", std::to_string(size),
                    std::string("sizeof(") + type + "), set before the call, as its _INIT macro sets it");
}

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
  } catch (const std::system_error&) {
    return failed(ErrorCode::out_of_memory, "the host has no thread or no lock left");
  } catch (const std::exception& error) {
    return failed(ErrorCode::internal, error.what());
  } catch (...) {
    return failed(ErrorCode::internal, "an unknown exception");
  }
}

/// snprintf's convention with a zero always written: returns the bytes that the whole text needs.
std::size_t copy_text(std::string_view text, char* to, std::size_t size) noexcept;

}  // namespace wavejit::capi
