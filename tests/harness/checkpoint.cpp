// SPDX-License-Identifier: MIT
#include "tests/harness/checkpoint.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "tests/oracle/format.hpp"

namespace wavejit::repack::test {
namespace {

std::int64_t size_of(Dtype type) {
  switch (type) {
    case Dtype::u8:
    case Dtype::i8:
      return 1;
    case Dtype::f16:
    case Dtype::bf16:
      return 2;
    case Dtype::i64:
      return 8;
    default:
      return 4;
  }
}

/// domain.md §1.1: the shift that reads column c of an AWQ word.
constexpr std::array<unsigned, 8> awq_shift{0, 16, 4, 20, 8, 24, 12, 28};
/// domain.md §1.4: the shift of K offset j in a word of the kernels. The same numbers, from another place.
constexpr std::array<unsigned, 8> kernel_shift{0, 16, 4, 20, 8, 24, 12, 28};

unsigned nibble_at(std::uint64_t word, std::int64_t shift) {
  return static_cast<unsigned>(word >> shift & 15);
}

double float_value(std::uint64_t bits, Dtype type) {
  if (type == Dtype::f32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return oracle::decode(static_cast<std::uint16_t>(bits),
                        type == Dtype::f16 ? oracle::Format::f16 : oracle::Format::bf16);
}

bool by_group(Format format) { return format != Format::compressed_tensors && format != Format::row_major; }

}  // namespace

Matrix::Matrix(Dtype type_, std::int64_t rows_, std::int64_t columns_, std::int64_t gap_bytes)
    : type(type_), rows(rows_), columns(columns_), stride(columns_ * size_of(type_) + gap_bytes) {
  size_ = static_cast<std::size_t>((rows - 1) * stride + columns * size_of(type));
  storage_.assign(size_ / 8 + 1, 0);
}

std::size_t Matrix::offset(std::int64_t row, std::int64_t column) const {
  return static_cast<std::size_t>(row * stride + column * size_of(type));
}

std::uint64_t Matrix::get(std::int64_t row, std::int64_t column) const {
  std::uint64_t bits = 0;
  std::memcpy(&bits, reinterpret_cast<const std::byte*>(storage_.data()) + offset(row, column),
              static_cast<std::size_t>(size_of(type)));
  return bits;
}

void Matrix::set(std::int64_t row, std::int64_t column, std::uint64_t bits) {
  std::memcpy(reinterpret_cast<std::byte*>(storage_.data()) + offset(row, column), &bits,
              static_cast<std::size_t>(size_of(type)));
}

void Matrix::fill(std::uint64_t bits) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) set(r, c, bits);
}

void Matrix::randomise(std::mt19937& random) {
  for (std::uint64_t& word : storage_) word = std::uint64_t{random()} << 32 | random();
}

double Matrix::number(std::int64_t row, std::int64_t column) const {
  return float_value(get(row, column), type);
}

void Matrix::set_number(std::int64_t row, std::int64_t column, double value) {
  if (type == Dtype::f32)
    set(row, column, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  else
    set(row, column, oracle::encode(value, type == Dtype::f16 ? oracle::Format::f16 : oracle::Format::bf16));
}

Tensor Matrix::tensor() const {
  return {std::as_bytes(std::span(storage_)).first(size_), type, {rows, columns}, {stride, size_of(type)}};
}

Tensor Matrix::vector_tensor() const {
  return {std::as_bytes(std::span(storage_)).first(size_), type, {columns}, {}};
}

std::span<std::byte> Matrix::memory() { return std::as_writable_bytes(std::span(storage_)).first(size_); }

Source Checkpoint::source() const {
  Source s;
  s.format = format;
  s.zero_points_declared = declared;
  s.weights = weights.tensor();
  s.scales = scales.tensor();
  if (zero_points) s.zero_points = zero_points->tensor();
  if (g_idx) s.g_idx = g_idx->vector_tensor();
  if (weight_shape) s.weight_shape = weight_shape->vector_tensor();
  return s;
}

unsigned Checkpoint::nibble(std::int64_t n_, std::int64_t k_) const {
  switch (format) {
    case Format::awq:
      return nibble_at(weights.get(k_, n_ / 8), awq_shift[static_cast<std::size_t>(n_ % 8)]);
    case Format::gptq_v1:
    case Format::gptq_v2:
      return nibble_at(weights.get(k_ / 8, n_), 4 * (k_ % 8));
    case Format::mslk: {
      const unsigned bits = nibble_at(weights.get(n_, k_ / 2), 4 * (k_ % 2));
      const int q = bits >= 8 ? static_cast<int>(bits) - 16 : static_cast<int>(bits);
      return static_cast<unsigned>(q + 8);
    }
    default:
      if (weights.type == Dtype::i32) return nibble_at(weights.get(n_, k_ / 8), 4 * (k_ % 8));
      return nibble_at(weights.get(n_, k_ / 2), 4 * (k_ % 2));
  }
}

double Checkpoint::zero_point(std::int64_t n_, std::int64_t g) const {
  if (!zero_points || declared == ZeroPoints::symmetric) return 8;
  switch (format) {
    case Format::awq:
      return nibble_at(zero_points->get(g, n_ / 8), awq_shift[static_cast<std::size_t>(n_ % 8)]);
    case Format::gptq_v1:
      return nibble_at(zero_points->get(g, n_ / 8), 4 * (n_ % 8)) + 1;
    case Format::gptq_v2:
      return nibble_at(zero_points->get(g, n_ / 8), 4 * (n_ % 8));
    case Format::mslk:
      return 8 - zero_points->number(g, n_) / scale(n_, g);
    default:
      if (zero_points->type == Dtype::u8) return static_cast<double>(zero_points->get(n_, g));
      return nibble_at(zero_points->get(n_ / 8, g), 4 * (n_ % 8));
  }
}

double Checkpoint::scale(std::int64_t n_, std::int64_t g) const {
  return by_group(format) ? scales.number(g, n_) : scales.number(n_, g);
}

std::int64_t Checkpoint::group_of(std::int64_t k_) const {
  return g_idx ? static_cast<std::int64_t>(g_idx->get(0, k_)) : k_ / group;
}

double Checkpoint::weight(std::int64_t n_, std::int64_t k_) const {
  const std::int64_t g = group_of(k_);
  if (format == Format::mslk && zero_points && declared == ZeroPoints::asymmetric)
    return (nibble(n_, k_) - 8.0) * scale(n_, g) + zero_points->number(g, n_);
  return (nibble(n_, k_) - zero_point(n_, g)) * scale(n_, g);
}

Checkpoint blank_checkpoint(Format format, std::int64_t n, std::int64_t k, std::int64_t group,
                            const Options& options) {
  Checkpoint c;
  c.format = format;
  c.n = n;
  c.k = k;
  c.group = group;
  const std::int64_t groups = k / group, gap = options.gap_bytes;
  const bool words = options.weight_type == Dtype::i32;
  if (format == Format::awq)
    c.weights = Matrix(Dtype::i32, k, n / 8, gap);
  else if (format == Format::gptq_v1 || format == Format::gptq_v2)
    c.weights = Matrix(Dtype::i32, k / 8, n, gap);
  else if (format == Format::mslk)
    c.weights = Matrix(words ? Dtype::i8 : options.weight_type, n, k / 2, gap);
  else
    c.weights = Matrix(options.weight_type, n, words ? (k + 7) / 8 : (k + 1) / 2, gap);
  c.scales = by_group(format) ? Matrix(options.scale_type, groups, n, gap)
                              : Matrix(options.scale_type, n, groups, gap);
  for (std::int64_t r = 0; r < c.scales.rows; ++r)
    for (std::int64_t i = 0; i < c.scales.columns; ++i) c.scales.set_number(r, i, 1.0);
  if (!options.zero_points) return c;
  c.declared = ZeroPoints::asymmetric;
  if (format == Format::mslk)
    c.zero_points = Matrix(Dtype::f32, groups, n, gap);
  else if (by_group(format))
    c.zero_points = Matrix(Dtype::i32, groups, n / 8, gap);
  else if (options.zero_point_type == Dtype::u8)
    c.zero_points = Matrix(Dtype::u8, n, groups, gap);
  else
    c.zero_points = Matrix(Dtype::i32, (n + 7) / 8, groups, gap);
  return c;
}

Checkpoint random_checkpoint(Format format, std::int64_t n, std::int64_t k, std::int64_t group,
                             const Options& options, unsigned seed) {
  std::mt19937 random(seed);
  Checkpoint c = blank_checkpoint(format, n, k, group, options);
  c.weights.randomise(random);
  c.scales.randomise(random);
  for (std::int64_t r = 0; r < c.scales.rows; ++r)
    for (std::int64_t i = 0; i < c.scales.columns; ++i)
      c.scales.set_number(r, i, std::ldexp(128 + random() % 128, -12 - static_cast<int>(random() % 4)));
  if (!c.zero_points) return c;
  Matrix& z = *c.zero_points;
  z.randomise(random);
  for (std::int64_t r = 0; r < z.rows; ++r)
    for (std::int64_t i = 0; i < z.columns; ++i) {
      if (format == Format::mslk) {
        const double multiple = static_cast<double>(random() % 16) - 7;
        z.set_number(r, i, multiple * c.scales.number(r, i));
      } else if (format == Format::gptq_v1) {
        std::uint64_t word = 0;
        for (unsigned b = 0; b < 8; ++b) word |= std::uint64_t{random() % 15} << (4 * b);
        z.set(r, i, word);
      } else if (z.type == Dtype::u8) {
        z.set(r, i, random() % 16);
      }
    }
  return c;
}

// ---- the other side ----

namespace {

constexpr std::byte canary{0xA5};
constexpr std::size_t behind = 64;  // bytes after the last that the plan asks for

template <class T>
T read(const std::vector<std::byte>& memory, std::int64_t offset) {
  T value;
  std::memcpy(&value, memory.data() + offset, sizeof value);
  return value;
}

std::vector<std::byte> canaries(const Output& output) {
  if (output.bytes == 0) return {};
  return std::vector<std::byte>(static_cast<std::size_t>(output.bytes) + behind, canary);
}

bool intact(const std::vector<std::byte>& memory, const Output& output) {
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i) / output.stride_bytes;
    const bool inside =
        row < output.rows && static_cast<std::int64_t>(i) % output.stride_bytes < output.row_bytes;
    if (!inside && memory[i] != canary) return false;
  }
  return true;
}

}  // namespace

Repacked::Repacked(const Plan& plan)
    : plan_(plan),
      weights_(canaries(plan.weights)),
      scales_(canaries(plan.scales)),
      zero_points_(canaries(plan.zero_points)) {}

Outputs Repacked::outputs() { return {weights_, scales_, zero_points_}; }

std::uint32_t Repacked::word(std::int64_t n, std::int64_t word) const {
  return read<std::uint32_t>(weights_, (n * plan_.destination.weight_stride + word) * 4);
}

unsigned Repacked::nibble(std::int64_t n, std::int64_t k) const {
  return nibble_at(word(n, k / 8), kernel_shift[static_cast<std::size_t>(k % 8)]);
}

std::uint32_t Repacked::zero_point_word(std::int64_t block, std::int64_t g) const {
  return read<std::uint32_t>(zero_points_, (block * plan_.destination.zero_point_stride + g) * 4);
}

unsigned Repacked::zero_point(std::int64_t n, std::int64_t g) const {
  return zero_points_.empty() ? 8 : nibble_at(zero_point_word(n / 8, g), 4 * (n % 8));
}

std::uint16_t Repacked::scale_bits(std::int64_t n, std::int64_t g) const {
  return read<std::uint16_t>(scales_, (n * plan_.destination.scale_stride + g) * 2);
}

double Repacked::scale(std::int64_t n, std::int64_t g) const {
  return float_value(scale_bits(n, g), plan_.destination.scales);
}

double Repacked::weight(std::int64_t n, std::int64_t k) const {
  const std::int64_t g = k / plan_.destination.group;
  return (static_cast<double>(nibble(n, k)) - zero_point(n, g)) * scale(n, g);
}

bool Repacked::gaps_intact() const {
  return intact(weights_, plan_.weights) && intact(scales_, plan_.scales) &&
         intact(zero_points_, plan_.zero_points);
}

bool Repacked::untouched() const {
  for (const auto* memory : {&weights_, &scales_, &zero_points_})
    for (const std::byte b : *memory)
      if (b != canary) return false;
  return true;
}

Repacked repacked(const Source& source, const Destination& destination, unsigned threads) {
  const auto p = plan(source, destination);
  if (!p) throw std::runtime_error(p.error().message);
  Repacked result(*p);
  if (const auto ok = run(*p, result.outputs(), threads); !ok) throw std::runtime_error(ok.error().message);
  return result;
}

Destination destination_of(const Checkpoint& c, Dtype scales) {
  Destination d;
  d.n = c.n;
  d.k = c.k;
  d.group = c.group;
  d.scales = scales;
  d.zero_points = c.declared;
  return d;
}

}  // namespace wavejit::repack::test
