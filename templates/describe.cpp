// SPDX-License-Identifier: MIT
#include "templates/describe.hpp"

#include <fmt/format.h>

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

Argument argument_of(const ir::KernelArg& arg) {
  Argument a;
  a.name = arg.name;
  a.kind = arg.kind;
  a.offset = arg.offset;
  a.size = arg.size;
  a.access = arg.access;
  if (a.kind == ir::ArgKind::scalar) a.dtype = a.size == 8 ? DataType::i64 : DataType::i32;
  return a;
}

Result<std::int64_t> checked_stride(const char* field, std::int64_t given, std::int64_t dense,
                                    std::int64_t multiple) {
  const std::int64_t value = given == 0 ? dense : given;
  if (value >= dense && value % multiple == 0 && value < (1LL << 31)) return value;
  std::string allowed = fmt::format("0 (dense) or at least {}", dense);
  if (multiple != 1) allowed += fmt::format(" and a multiple of {}", multiple);
  return fail_field(ErrorCode::invalid_problem, field, std::to_string(given), std::move(allowed));
}

void describe(Argument& a, DataType type, std::int64_t count, std::uint32_t alignment) {
  a.dtype = type;
  a.shape = {count};
  a.strides = {bytes(type)};
  a.bytes = count * bytes(type);
  a.alignment = alignment;
}

}  // namespace wavejit::templates
