// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "templates/cdna/emitter.hpp"
#include "templates/cdna/family.hpp"

namespace wavejit::templates::cdna {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// `rows` x `columns` elements, rows `stride` elements apart.
void describe(Argument& a, DataType type, std::int64_t rows, std::int64_t columns, std::int64_t stride,
              std::uint32_t alignment) {
  const std::int64_t size = bytes(type);
  a.dtype = type;
  a.shape = {rows, columns};
  a.strides = {stride * size, size};
  a.bytes = ((rows - 1) * stride + columns) * size;
  a.alignment = alignment;
}

}  // namespace

unsigned stages(const Problem&, const Config& config) { return config.split_k > 1 ? 2 : 1; }

Result<Launch> launch(const Problem& p, const Config& c, unsigned /*stage*/, const target::Target& target,
                      std::int64_t m) {
  Launch l;
  const std::int64_t threads = static_cast<std::int64_t>(c.waves) * target.wave_size;
  const std::int64_t tiles_m = ceil_div(m, c.bm), tiles_n = ceil_div(p.n, c.bn);
  l.grid = {static_cast<std::uint32_t>(tiles_m), static_cast<std::uint32_t>(tiles_n), c.split_k};
  l.block = {static_cast<std::uint32_t>(threads), 1, 1};
  for (const ir::KernelArg& arg : arguments(p, c)) {
    Argument a;
    a.name = arg.name;
    a.kind = arg.kind;
    a.offset = arg.offset;
    a.size = arg.size;
    a.access = arg.access;
    const std::int64_t products = p.batch;
    if (a.name == "activations") describe(a, p.activation, products * m, p.k, p.activation_stride, 16);
    if (a.name == "weights") describe(a, DataType::i32, products * p.n, p.k / 8, p.weight_stride, 16);
    if (a.name == "scales" || a.name == "zero_points")
      describe(a, p.scale_type, products * p.k / p.group, p.n, p.scale_stride, bytes(p.scale_type));
    if (a.name == "output")
      describe(a, p.activation, products * m, p.n, p.output_stride,
               p.n % 8 == 0 && p.output_stride % 8 == 0 ? 16 : 2);
    if (a.name == "workspace") describe(a, DataType::f32, products * c.split_k * m, p.n, p.n, 16);
    if (a.name == "m") a.value = m;
    l.kernarg_size = std::max(l.kernarg_size, (arg.offset + arg.size + 7) / 8 * 8);
    l.arguments.push_back(std::move(a));
  }
  return l;
}

}  // namespace wavejit::templates::cdna
