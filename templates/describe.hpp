// SPDX-License-Identifier: MIT
// Private to templates/: fills in the tensors of a Launch.
#pragma once

#include "templates/kernel.hpp"

namespace wavejit::templates {

/// `rows` x `columns` elements, rows `stride` elements apart. No bytes when there are no rows.
void describe(Argument& argument, DataType type, std::int64_t rows, std::int64_t columns, std::int64_t stride,
              std::uint32_t alignment);

/// `count` elements in a row.
void describe(Argument& argument, DataType type, std::int64_t count, std::uint32_t alignment);

}  // namespace wavejit::templates
