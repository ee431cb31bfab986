// SPDX-License-Identifier: MIT
#include "templates/describe.hpp"

namespace wavejit::templates {

void describe(Argument& a, DataType type, std::int64_t rows, std::int64_t columns, std::int64_t stride,
              std::uint32_t alignment) {
  const std::int64_t size = bytes(type);
  a.dtype = type;
  a.shape = {rows, columns};
  a.strides = {stride * size, size};
  a.bytes = rows == 0 ? 0 : ((rows - 1) * stride + columns) * size;
  a.alignment = alignment;
}

void describe(Argument& a, DataType type, std::int64_t count, std::uint32_t alignment) {
  a.dtype = type;
  a.shape = {count};
  a.strides = {bytes(type)};
  a.bytes = count * bytes(type);
  a.alignment = alignment;
}

}  // namespace wavejit::templates
