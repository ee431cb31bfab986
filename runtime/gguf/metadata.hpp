// SPDX-License-Identifier: MIT
// One key and value of a GGUF header's metadata.
#pragma once

#include <utility>

#include "runtime/gguf/cursor.hpp"

namespace wavejit::gguf {

/// `index` is the entry's number, for errors about its key. Arrays nest at most four deep.
Result<std::pair<std::string_view, Value>> read_entry(Cursor& cursor, std::uint64_t index);

}  // namespace wavejit::gguf
