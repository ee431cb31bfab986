// SPDX-License-Identifier: MIT
// Technique 3: exact buffer descriptors. The base moves to the tile's first row by 64-bit scalar
// arithmetic and num_records is what is left of the tensor from there, so rows past the end read as
// zero (stores are dropped) with no guard in the loop, and tensors may exceed 4 GiB. The row part of
// an address is always in the VGPR offset, so the verdict is the same whether or not hardware counts
// soffset in the bounds check (hardware.md §6).
#pragma once

#include "generator/ir/builder.hpp"

namespace wavejit::templates {

struct RowTensor {
  std::string name;
  isa::Operand base;           ///< SGPR pair: address of row 0
  isa::Operand rows;           ///< SGPR or constant: number of rows
  std::int64_t stride = 0;     ///< bytes between rows
  std::int64_t row_bytes = 0;  ///< bytes of a row that belong to the tensor
  std::int64_t count =
      0;  ///< rows from `row` on where that is a constant and `rows` is none; else 0 or not read
};

/// A descriptor of rows [row, rows): base = tensor.base + row * stride + column_bytes,
/// num_records = (rows - row - 1) * stride + row_bytes - column_bytes, at most 0x7FFFFFFC
/// (callers keep a tile's own bytes below that, and 0x80000000 stays out of bounds).
/// Precondition at run time: row < rows, column_bytes < row_bytes.
isa::Operand exact_descriptor(ir::Builder& b, const RowTensor& tensor, const isa::Operand& row,
                              const isa::Operand& column_bytes);

/// The same for a tile of no more than `most` rows, which together stay below 2 GiB: rows [row, min(row +
/// most, rows)). Most of the arithmetic is then 32 bits wide.
isa::Operand tile_descriptor(ir::Builder& b, const RowTensor& tensor, const isa::Operand& row,
                             const isa::Operand& column_bytes, std::int64_t most);

/// The switched-off form: the whole tensor from row 0, at most 0x7FFFFFFC bytes.
isa::Operand whole_descriptor(ir::Builder& b, const RowTensor& tensor);

}  // namespace wavejit::templates
