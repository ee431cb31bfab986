// SPDX-License-Identifier: MIT
#include "runtime/capi/support.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "generator/lower/lower.hpp"
#include "generator/support/error_name.hpp"
#include "runtime/cache/key.hpp"

namespace wavejit::capi {
namespace {

template <std::size_t size>
struct Text {
  std::array<char, size> chars{};
  void set(std::string_view text) noexcept { copy_text(text, chars.data(), size); }
};

struct LastError {
  Text<2048> message;
  Text<128> field;
  Text<512> given, allowed;
};
thread_local LastError last;

LastError& last_error() { return last; }

}  // namespace

std::size_t copy_text(std::string_view text, char* to, std::size_t size) noexcept {
  if (to != nullptr && size != 0) {
    const std::size_t n = std::min(text.size(), size - 1);
    std::memcpy(to, text.data(), n);
    to[n] = 0;
  }
  return text.size() + 1;
}

wavejit_status failed(const Error& error) noexcept {
  last.message.set(error.message);
  last.field.set(error.field);
  last.given.set(error.given);
  last.allowed.set(error.allowed);
  return static_cast<wavejit_status>(error.code);
}

wavejit_status failed(ErrorCode code, std::string_view message) noexcept {
  last = {};
  last.message.set(message);
  return static_cast<wavejit_status>(code);
}

wavejit_status null_argument(std::string_view name) noexcept {
  last = {};
  last.field.set(name);
  last.given.set("NULL");
  last.allowed.set("a valid pointer");
  last.message.set("an argument is NULL that must not be; wavejit_last_error_field() names it");
  return WAVEJIT_INVALID_ARGUMENT;
}

bool possible_size(std::size_t given, std::span<const Whole> parts) noexcept {
  constexpr std::size_t alignment = 8, longest = 1 << 16;
  if (given < sizeof given || given > longest || given % alignment != 0) return false;
  return std::ranges::none_of(parts, [given](const Whole& p) {
    return given > p.begin && given < p.begin + p.size * p.count && (given - p.begin) % p.size != 0;
  });
}

}  // namespace wavejit::capi

using wavejit::capi::last_error;

extern "C" {

uint32_t wavejit_abi_version(void) { return WAVEJIT_ABI_VERSION; }
const char* wavejit_version(void) { return WAVEJIT_VERSION; }

const char* wavejit_build_id(void) {
  static const std::string id(wavejit::cache::generator_build_id());
  return id.c_str();
}

const char* wavejit_llvm_version(void) {
  static const std::string version = wavejit::lower::llvm_version();
  return version.c_str();
}

const char* wavejit_status_name(wavejit_status status) {
  const std::int32_t number = wavejit::capi::number_of(status);
  if (number == WAVEJIT_OK) return "ok";
  return number < 0 || number > 255 ? "unknown"
                                    : wavejit::name(static_cast<wavejit::ErrorCode>(number)).data();
}

const char* wavejit_last_error(void) { return last_error().message.chars.data(); }
const char* wavejit_last_error_field(void) { return last_error().field.chars.data(); }
const char* wavejit_last_error_given(void) { return last_error().given.chars.data(); }
const char* wavejit_last_error_allowed(void) { return last_error().allowed.chars.data(); }

}  // extern "C"
