// SPDX-License-Identifier: MIT
// Files of a checkpoint folder that hold one JSON object.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "generator/support/error.hpp"
#include "runtime/support/json.hpp"

namespace wavejit::checkpoint {

/// Errors: io for a file that cannot be read, is larger, or a Git LFS pointer.
Result<std::string> read_text(const std::filesystem::path& path, std::uintmax_t max_bytes);

/// `AnyJson`: ordered_json where order counts; its objects are slow for many members, nlohmann::json's are
/// not. Errors: those of read_text(), and io for no JSON object.
template <class AnyJson>
Result<AnyJson> read_json(const std::filesystem::path& path, std::uintmax_t max_bytes) {
  const auto text = read_text(path, max_bytes);
  if (!text) return std::unexpected(text.error());
  auto json = parse_json<AnyJson>(*text);
  if (json && json->is_object()) return *std::move(json);
  const bool deep = !json && json.error() != not_json;
  return fail_field(ErrorCode::io, path.filename().string(), deep ? json.error() : "no JSON object",
                    "a JSON object");
}

}  // namespace wavejit::checkpoint
