// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "templates/kernel.hpp"
#include "templates/w4a16/build.hpp"

namespace wavejit::templates {
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

/// `count` elements in a row.
void describe(Argument& a, DataType type, std::int64_t count, std::uint32_t alignment) {
  a.dtype = type;
  a.shape = {count};
  a.strides = {bytes(type)};
  a.bytes = count * bytes(type);
  a.alignment = alignment;
}

/// What one lane loads of the bias at a time: 16 bytes, which need 4-byte alignment, or single elements.
std::uint32_t bias_alignment(const Problem& p) { return p.n % 8 == 0 ? 4 : 2; }

std::uint32_t output_alignment(const Problem& p) { return p.n % 8 == 0 && p.output_stride % 8 == 0 ? 16 : 2; }

}  // namespace

Result<Launch> launch(const Problem& problem, const Config& config, const target::Target& target,
                      std::int64_t m) {
  auto p = normalise(problem, target);
  if (!p) return std::unexpected(p.error());
  auto c = normalise(config, *p, target);
  if (!c) return std::unexpected(c.error());
  if (m < 1 || m > 0x7FFFFFFF)
    return fail_field(ErrorCode::invalid_argument, "m", std::to_string(m), "between 1 and 2^31 - 1");

  Launch l;
  const std::int64_t threads = static_cast<std::int64_t>(c->waves) * target.wave_size;
  const std::int64_t tiles_m = ceil_div(m, c->bm), tiles_n = ceil_div(p->n, c->bn);
  if (tiles_m * threads >= (1LL << 32))
    return fail_field(ErrorCode::invalid_argument, "grid.x * block.x",
                      fmt::format("{} * {}", tiles_m, threads),
                      "below 2^32; a larger bm or fewer rows per launch would do");
  if (tiles_n > 65535)
    return fail_field(ErrorCode::invalid_argument, "grid.y", std::to_string(tiles_n),
                      "at most 65535; a larger bn would do");
  l.grid = {static_cast<std::uint32_t>(tiles_m), static_cast<std::uint32_t>(tiles_n), 1};
  l.block = {static_cast<std::uint32_t>(threads), 1, 1};
  const std::vector<ir::KernelArg> arguments = w4a16::arguments(*p);
  l.kernarg_size = w4a16::kernarg_size(arguments);
  for (const ir::KernelArg& arg : arguments) {
    Argument a;
    a.name = arg.name;
    a.kind = arg.kind;
    a.offset = arg.offset;
    a.size = arg.size;
    a.access = arg.access;
    if (a.name == "activations") describe(a, p->activation, m, p->k, p->activation_stride, 16);
    if (a.name == "weights") describe(a, DataType::i32, p->n, p->k / 8, p->weight_stride, 4);
    if (a.name == "scales") describe(a, p->activation, p->n, p->k / p->group, p->scale_stride, 2);
    if (a.name == "zero_points")
      describe(a, DataType::i32, zero_point_rows(*p), p->k / p->group, p->zero_point_stride, 4);
    if (a.name == "bias") describe(a, p->activation, p->n, bias_alignment(*p));
    if (a.name == "output") describe(a, p->activation, m, p->n, p->output_stride, output_alignment(*p));
    if (a.name == "m") a.value = m;
    l.arguments.push_back(std::move(a));
  }
  return l;
}

Result<void> check_addresses(const Launch& launch, std::span<const std::uint64_t> addresses) {
  std::size_t next = 0;
  for (const Argument& a : launch.arguments) {
    if (a.kind != ir::ArgKind::buffer) continue;
    if (next >= addresses.size())
      return fail_field(ErrorCode::invalid_argument, "addresses", std::to_string(addresses.size()),
                        "one per buffer argument; " + a.name + " has none");
    const std::uint64_t address = addresses[next++];
    if (address == 0)
      return fail_field(ErrorCode::invalid_argument, a.name, "a null address", "a device address");
    if (address % a.alignment != 0)
      return fail_field(ErrorCode::invalid_argument, a.name, fmt::format("at address {:#x}", address),
                        fmt::format("aligned to {} bytes", a.alignment));
  }
  return {};
}

}  // namespace wavejit::templates
