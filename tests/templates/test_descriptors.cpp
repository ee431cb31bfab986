// SPDX-License-Identifier: MIT
// Exact descriptors, run as scalar code. Expected values are 64-bit arithmetic of the definition:
// base + row * stride + column, and the bytes from there to the tensor's last byte, at most
// 0x7FFFFFFC. Rows 37 and 38 of the public failing cases (tensors above 2 and 4 GiB) are among them.
#include <catch2/catch.hpp>

#include "generator/ir/builder.hpp"
#include "templates/descriptors.hpp"
#include "tests/generator/passes/scalar_interpreter.hpp"

using namespace wavejit;
using isa::imm;

namespace {

struct Words {
  std::uint32_t w[4];
  [[nodiscard]] std::uint64_t base() const { return std::uint64_t{w[1]} << 32 | w[0]; }
};

Words run(std::uint64_t base, std::uint32_t rows, std::int64_t stride, std::int64_t row_bytes,
          std::uint32_t row, std::uint32_t column_bytes, bool exact, bool known_rows = false,
          std::int64_t most = 0) {
  ir::Kernel k;
  k.target = target::find("gfx1151");
  ir::Builder b(k);
  b.block("code");
  const auto pointer = b.sgpr("pointer", 2), row_count = b.sgpr("rows"), first = b.sgpr("row"),
             col = b.sgpr("col");
  b.emit(isa::Opcode::s_mov_b32, {pointer.slice(0)}, {imm(static_cast<std::uint32_t>(base))});
  b.emit(isa::Opcode::s_mov_b32, {pointer.slice(1)}, {imm(static_cast<std::uint32_t>(base >> 32))});
  b.emit(isa::Opcode::s_mov_b32, {row_count}, {imm(rows)});
  b.emit(isa::Opcode::s_mov_b32, {first}, {imm(row)});
  b.emit(isa::Opcode::s_mov_b32, {col}, {imm(column_bytes)});
  const templates::RowTensor tensor{"t", pointer, known_rows ? imm(rows) : row_count, stride, row_bytes};
  const isa::Operand row_operand = known_rows && row == 0 ? imm(0) : first;
  const isa::Operand column = column_bytes == 0 ? isa::Operand{} : col;
  const auto d = most > 0 ? templates::tile_descriptor(b, tensor, first, column, most)
                 : exact  ? templates::exact_descriptor(b, tensor, row_operand, column)
                          : templates::whole_descriptor(b, tensor);
  test::ScalarInterpreter interpreter(k);
  interpreter.run();
  Words words{};
  for (unsigned i = 0; i < 4; ++i) words.w[i] = interpreter.get(d.slice(i));
  return words;
}

}  // namespace

TEST_CASE("exact descriptors cover what is left of the tensor from the tile's first row",
          "[templates][descriptors]") {
  struct Case {
    std::uint64_t base;
    std::uint32_t rows;
    std::int64_t stride, row_bytes;
    std::uint32_t row, column;
  };
  const Case cases[] = {
      {0x7F0000001000, 1322, 5120, 5120, 1280, 0},  // tail tile of the flagship activations
      {0x7F0000001000, 1322, 5120, 5120, 0, 0},
      {0x7F00FFFFF000, 17, 12576, 256, 16, 0},            // padded rows, base that carries into word 1
      {0x7F0000000000, 131073, 16384, 16384, 131072, 0},  // row 37: last row starts at 2^31
      {0x7F0000000000, 262145, 16384, 16384, 0, 0},       // row 38: 4 GiB + 16 KiB left, must clamp
      {0x7F0000000000, 262145, 16384, 16384, 262144, 0},
      {0x7F0000000000, 32769, 131072, 131072, 32768, 64},  // row 36: output above 2^32 bytes
      {0x100000000, 524289, 8192, 8192, 524160, 0},        // row 35
      {0x200000000, 96, 192, 192, 64, 128},
  };
  for (const Case& c : cases) {
    INFO("rows " << c.rows << " stride " << c.stride << " row " << c.row << " column " << c.column);
    // The number of rows in an SGPR, and as a constant of the code, where much is computed beforehand.
    const bool known = GENERATE(false, true);
    const Words d = run(c.base, c.rows, c.stride, c.row_bytes, c.row, c.column, true, known);
    const std::uint64_t base =
        c.base + std::uint64_t{c.row} * static_cast<std::uint64_t>(c.stride) + c.column;
    const std::int64_t left =
        static_cast<std::int64_t>(c.rows - c.row - 1) * c.stride + c.row_bytes - c.column;
    CHECK(d.base() == base);
    CHECK(d.w[2] == static_cast<std::uint32_t>(std::min<std::int64_t>(left, 0x7FFFFFFC)));
    // Raw buffer of gfx11 with OOB_SELECT 3 (row 40 of the failing cases names this word).
    CHECK(d.w[3] == 0x31027000);
  }
}

TEST_CASE("whole descriptors start at row 0 and never exceed the guard value", "[templates][descriptors]") {
  const Words small = run(0x7F0000001000, 1322, 5120, 5120, 0, 0, false);
  CHECK(small.base() == 0x7F0000001000);
  CHECK(small.w[2] == 1322U * 5120U);
  const Words large = run(0x7F0000001000, 1U << 20, 5120, 5120, 0, 0, false);
  CHECK(large.w[2] == 0x7FFFFFFC);
}

TEST_CASE("tile descriptors end with the tile or with the tensor", "[templates][descriptors]") {
  struct Case {
    std::uint32_t rows;
    std::int64_t stride, row_bytes;
    std::uint32_t row, column, most, last;  ///< last: the row whose end is the descriptor's
  };
  const Case c =
      GENERATE(Case{1322, 5120, 5120, 1280, 0, 64, 1321}, Case{1322, 5120, 5120, 16, 0, 16, 31},
               Case{17, 12576, 256, 16, 0, 16, 16}, Case{524289, 8192, 8192, 524160, 64, 4, 524163},
               Case{96, 192, 192, 64, 128, 1, 64});
  const std::uint64_t base = 0x7F0000001000;
  const Words d = run(base, c.rows, c.stride, c.row_bytes, c.row, c.column, true, false, c.most);
  CHECK(d.base() == base + std::uint64_t{c.row} * static_cast<std::uint64_t>(c.stride) + c.column);
  CHECK(d.w[2] == (c.last - c.row) * c.stride + c.row_bytes - c.column);
  CHECK(d.w[3] == 0x31027000);
}
