// SPDX-License-Identifier: MIT
// Typed fields of a JSON object from outside; the first of another type is the error.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "generator/support/error.hpp"

namespace wavejit::checkpoint {

using Json = nlohmann::ordered_json;  // rules count in the order of the file

inline std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() > 60 ? text.substr(0, 60) + "..." : text;
}

class Fields {
 public:
  Fields(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  std::optional<std::int64_t> integer(const char* name) {
    const Json* v = find(name);
    if (v == nullptr) return {};
    const bool fits =
        v->is_number_integer() && (!v->is_number_unsigned() || v->get<std::uint64_t>() >> 62 == 0);
    if (fits) return v->get<std::int64_t>();
    refuse(name, *v, "an integer");
    return {};
  }
  std::optional<bool> boolean(const char* name) {
    const Json* v = find(name);
    if (v == nullptr) return {};
    if (v->is_boolean()) return v->get<bool>();
    refuse(name, *v, "true or false");
    return {};
  }
  std::string text(const char* name) {
    const Json* v = find(name);
    if (v == nullptr) return {};
    if (v->is_string()) return v->get<std::string>();
    refuse(name, *v, "a string");
    return {};
  }
  /// Null where the field is absent or null.
  [[nodiscard]] const Json* find(const char* name) const {
    const auto it = json_.find(name);
    return it == json_.end() || it->is_null() ? nullptr : &*it;
  }
  void refuse(const std::string& name, const Json& given, const char* allowed) {
    if (!error)
      error = fail_field(ErrorCode::io, fmt::format("{}: {}", where_, name), shown(given), allowed).error();
  }

  std::optional<Error> error;

 private:
  const Json& json_;
  std::string where_;
};

}  // namespace wavejit::checkpoint
