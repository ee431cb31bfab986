// SPDX-License-Identifier: MIT
// Private to templates/: fills in the tensors of a Launch.
#pragma once

#include "templates/kernel.hpp"

namespace wavejit::templates {

/// `rows` x `columns` elements, rows `stride` elements apart. No bytes when there are no rows.
void describe(Argument& argument, DataType type, std::int64_t rows, std::int64_t columns, std::int64_t stride,
              std::uint32_t alignment);

/// A kernel argument's name, kind and place in the kernarg segment, to be described further.
Argument argument_of(const ir::KernelArg& arg);

/// A row stride in elements: `dense` for 0. Errors: invalid_problem for less than that, for what is no
/// multiple of `multiple`, for 2^31 and more.
Result<std::int64_t> checked_stride(const char* field, std::int64_t given, std::int64_t dense,
                                    std::int64_t multiple);

/// `count` elements in a row.
void describe(Argument& argument, DataType type, std::int64_t count, std::uint32_t alignment);

}  // namespace wavejit::templates
