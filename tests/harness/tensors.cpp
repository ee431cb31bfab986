// SPDX-License-Identifier: MIT
#include "tests/harness/tensors.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <functional>
#include <set>
#include <span>

#include "tests/oracle/pack.hpp"

namespace wavejit::harness {
namespace {

/// Numbers that the tiles cover, each once: `range` gives a tile's first and one past its last.
template <class Range>
std::set<std::int64_t> covered(const std::vector<Tile>& tiles, const Range& range) {
  std::set<std::int64_t> all;
  std::set<std::int64_t> begun;  // tiles share their ranges: look at each once
  for (const Tile& tile : tiles) {
    const auto [begin, end] = range(tile.block);
    if (!begun.insert(begin).second) continue;
    for (std::int64_t i = begin; i < end; ++i) all.insert(all.end(), i);
  }
  return all;
}

std::set<std::int64_t> output_rows(const std::vector<Tile>& tiles) {
  return covered(tiles, [](const oracle::Block& b) { return std::pair(b.row_begin, b.row_end); });
}

/// Rows of the weights: a set's columns behind those of the sets before it.
std::set<std::int64_t> weight_rows(const std::vector<Tile>& tiles, std::int64_t n) {
  return covered(tiles, [n](const oracle::Block& b) {
    return std::pair(b.set * n + b.column_begin, b.set * n + b.column_end);
  });
}

/// Writes f(row) at row * stride for every row.
template <class Row>
Result<void> write_rows(sim::Memory& memory, std::uint64_t address, std::int64_t stride,
                        const std::set<std::int64_t>& rows, const Row& f) {
  for (const std::int64_t row : rows) {
    const auto values = f(row);
    const auto at = address + static_cast<std::uint64_t>(row) * static_cast<std::uint64_t>(stride);
    if (auto ok = memory.write(at, std::as_bytes(std::span(values))); !ok) return ok;
  }
  return {};
}

Result<void> write_packed(sim::Memory& memory, std::uint64_t address, const templates::Argument& argument,
                          const PackedRows& packed) {
  const std::int64_t stride = argument.strides.front();
  for (std::int64_t row = 0; row < packed.rows; ++row) {
    const auto at = static_cast<std::size_t>(row * stride);
    const auto bytes = std::span(packed.bytes).subspan(at, static_cast<std::size_t>(packed.row_bytes));
    if (auto ok = memory.write(address + at, bytes); !ok) return ok;
  }
  return {};
}

void put(std::vector<std::byte>& kernarg, const templates::Argument& argument, std::uint64_t value) {
  assert(argument.size <= sizeof value && argument.offset + argument.size <= kernarg.size());
  std::memcpy(kernarg.data() + argument.offset, &value, argument.size);  // little-endian host, as the device
}

/// Bytes that nobody defined and that read as NaN in any format.
Result<void> spoil(sim::Memory& memory, std::uint64_t address, std::uint64_t bytes) {
  if (auto ok = memory.fill(address, bytes, std::byte{0xFF}); !ok) return ok;
  return memory.poison(address, bytes);
}

/// The buffers of all stages, each name once: read-only if every stage only reads, aligned for all.
Result<std::vector<templates::Argument>> merge_buffers(std::span<const templates::Launch> launches) {
  std::vector<templates::Argument> all;
  for (const templates::Launch& launch : launches)
    for (const templates::Argument& a : launch.arguments) {
      if (a.kind == ir::ArgKind::scalar) continue;
      const auto known = std::ranges::find(all, a.name, &templates::Argument::name);
      if (known == all.end()) {
        all.push_back(a);
        continue;
      }
      if (a.name != "workspace" && a.bytes != known->bytes)
        return fail_field(ErrorCode::invalid_argument, a.name,
                          std::to_string(a.bytes) + " bytes in one stage",
                          std::to_string(known->bytes) + ", as in the stage before");
      known->bytes = std::max(known->bytes, a.bytes);
      known->alignment = std::max(known->alignment, a.alignment);
      if (a.access != known->access) known->access = ir::Access::read_write;
    }
  return all;
}

oracle::ScaleFormat scale_format(const templates::Problem& problem) {
  if (problem.layout != templates::WeightLayout::row_major_signed) return oracle::ScaleFormat::of_activations;
  if (problem.scale_type == templates::DataType::f32) return oracle::ScaleFormat::f32;
  return problem.scale_type == templates::DataType::f16 ? oracle::ScaleFormat::f16
                                                        : oracle::ScaleFormat::bf16;
}

}  // namespace

oracle::Shape oracle_shape(const templates::Problem& problem) {
  const bool signed_weights = problem.layout == templates::WeightLayout::row_major_signed;
  return {
      .format = problem.activation == templates::DataType::f16 ? oracle::Format::f16 : oracle::Format::bf16,
      .n = problem.n,
      .k = problem.k,
      .group = problem.group,
      .has_zero_points = problem.zero_points != templates::ZeroPoints::symmetric,
      .has_bias = problem.bias,
      .signed_weights = signed_weights,
      .scale_format = scale_format(problem)};
}

Result<void> Tensors::fill(const templates::Argument& argument, std::uint64_t address,
                           const oracle::Shape& shape, const std::vector<Tile>& tiles,
                           const oracle::Values& values, std::span<const std::int64_t> group_rows) {
  const std::int64_t stride = argument.strides.empty() ? 0 : argument.strides.front();
  if (argument.name == "activations")
    return write_rows(memory_, address, stride, output_rows(tiles),
                      [&](std::int64_t m) { return oracle::activation_row(shape, values, m); });
  if (argument.name == "group_rows") return memory_.write(address, std::as_bytes(group_rows));
  if (shape.signed_weights && argument.name == "weights")
    return write_rows(memory_, address, stride, weight_rows(tiles, shape.n),
                      [&](std::int64_t n) { return oracle::weight_row_pairs(shape, values, n); });
  if (shape.signed_weights && argument.name == "scales")
    return fill_group_major(argument, address, shape, tiles, values.scales);
  if (shape.signed_weights && argument.name == "zero_points")
    return fill_group_major(argument, address, shape, tiles, values.zeros);
  if (argument.name == "weights")
    return write_rows(memory_, address, stride, weight_rows(tiles, shape.n),
                      [&](std::int64_t n) { return oracle::weight_row_exllama(shape, values, n); });
  if (argument.name == "scales")
    return write_rows(memory_, address, stride, weight_rows(tiles, shape.n),
                      [&](std::int64_t n) { return oracle::scale_row(shape, values, n); });
  if (argument.name == "zero_points") {
    std::set<std::int64_t> blocks;
    for (const std::int64_t n : weight_rows(tiles, shape.n)) blocks.insert(n / 8);
    return write_rows(memory_, address, stride, blocks,
                      [&](std::int64_t b) { return oracle::zero_point_row(shape, values, b); });
  }
  if (argument.name == "bias")
    return write_rows(memory_, address, stride, weight_rows(tiles, shape.n),
                      [&](std::int64_t n) { return std::array{oracle::bias_element(shape, values, n)}; });
  if (argument.name == "output") {
    output_address_ = address;
    output_bytes_ = static_cast<std::uint64_t>(argument.bytes);
    output_row_stride_ = static_cast<std::uint64_t>(stride);
    // Only rows that somebody will read: the rest of a tensor of many GiB is never touched.
    const auto row_bytes = static_cast<std::uint64_t>(shape.n) * 2;
    for (const std::int64_t m : output_rows(tiles)) {
      const std::uint64_t at = address + static_cast<std::uint64_t>(m) * output_row_stride_;
      if (auto ok = spoil(memory_, at, row_bytes); !ok) return ok;
    }
    return {};
  }
  if (argument.name == "workspace")
    return spoil(memory_, address, static_cast<std::uint64_t>(argument.bytes));
  return fail(ErrorCode::unsupported, "the harness does not know how to fill argument " + argument.name);
}

/// One row per set and group, the tiles' columns of it.
Result<void> Tensors::fill_group_major(const templates::Argument& argument, std::uint64_t address,
                                       const oracle::Shape& shape, const std::vector<Tile>& tiles,
                                       const oracle::FloatRow& source) {
  std::set<std::pair<std::int64_t, std::int64_t>> begun;
  for (const Tile& tile : tiles) {
    const oracle::Block& b = tile.block;
    if (!begun.emplace(b.set, b.column_begin).second) continue;
    const std::int64_t first = b.set * shape.n;
    const auto rows = oracle::group_major(shape, source, first + b.column_begin, first + b.column_end);
    for (std::size_t g = 0; g < rows.size(); ++g) {
      const std::int64_t row = b.set * shape.groups() + static_cast<std::int64_t>(g);
      const std::int64_t at = row * argument.strides[0] + b.column_begin * argument.strides[1];
      if (auto ok = memory_.write(address + static_cast<std::uint64_t>(at), rows[g]); !ok) return ok;
    }
  }
  return {};
}

Result<Tensors> Tensors::create(const templates::Problem& problem,
                                std::span<const templates::Launch> launches, const std::vector<Tile>& tiles,
                                const oracle::Values& values,
                                const std::map<std::string, std::uint32_t>& alignment,
                                const std::map<std::string, PackedRows>& packed,
                                std::span<const std::int64_t> group_rows) {
  Tensors tensors;
  const oracle::Shape shape = oracle_shape(problem);
  const auto merged = merge_buffers(launches);
  if (!merged) return std::unexpected(merged.error());
  std::map<std::string, std::uint64_t> addresses;
  for (const templates::Argument& argument : *merged) {
    const auto override = alignment.find(argument.name);
    const std::uint32_t align = override == alignment.end() ? argument.alignment : override->second;
    const auto address =
        tensors.memory_.allocate(static_cast<std::uint64_t>(argument.bytes), align, argument.name);
    if (!address) return std::unexpected(address.error());
    const auto given = packed.find(argument.name);
    const auto filled = given == packed.end()
                            ? tensors.fill(argument, *address, shape, tiles, values, group_rows)
                            : write_packed(tensors.memory_, *address, argument, given->second);
    if (!filled) return std::unexpected(filled.error());
    if (argument.access == ir::Access::read)
      if (auto ok = tensors.memory_.set_read_only(*address, true); !ok) return std::unexpected(ok.error());
    addresses[argument.name] = *address;
  }
  for (const templates::Launch& launch : launches) {
    Stage stage;
    stage.kernarg.assign(launch.kernarg_size, std::byte{0xA5});
    for (const templates::Argument& argument : launch.arguments) {
      const bool scalar = argument.kind == ir::ArgKind::scalar;
      if (!scalar) stage.addresses.push_back(addresses[argument.name]);
      put(stage.kernarg, argument,
          scalar ? static_cast<std::uint64_t>(argument.value) : stage.addresses.back());
    }
    tensors.stages_.push_back(std::move(stage));
  }
  return tensors;
}

Result<Tensors::Output> Tensors::read_output(const oracle::Block& block) const {
  Output output;
  output.bits.resize(static_cast<std::size_t>(block.rows() * block.columns()));
  const auto width = static_cast<std::size_t>(block.columns());
  for (std::int64_t r = 0; r < block.rows(); ++r) {
    const std::uint64_t at = output_address_ +
                             static_cast<std::uint64_t>(block.row_begin + r) * output_row_stride_ +
                             static_cast<std::uint64_t>(block.column_begin) * 2;
    const auto row = std::span(output.bits).subspan(static_cast<std::size_t>(r) * width, width);
    if (auto ok = memory_.read(at, std::as_writable_bytes(row)); !ok) return std::unexpected(ok.error());
    const auto undefined = memory_.undefined_bytes(at, width * 2);
    if (!undefined) return std::unexpected(undefined.error());
    output.unwritten_bytes += *undefined;
  }
  return output;
}

Result<std::uint64_t> Tensors::written_output_bytes() const {
  const auto undefined = memory_.undefined_bytes(output_address_, output_bytes_);
  if (!undefined) return std::unexpected(undefined.error());
  return output_bytes_ - *undefined;
}

}  // namespace wavejit::harness
