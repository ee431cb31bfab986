// SPDX-License-Identifier: MIT
// Checkpoints in memory, and what a weight of each format is worth, element by element: written from
// shared/domain.md §1.1 to §1.5 and §1.9 and sharing no code with runtime/repack beyond its API types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "runtime/repack/repack.hpp"

namespace wavejit::repack::test {

/// A matrix (or, with one row, a vector) of elements with random bytes between its rows.
class Matrix {
 public:
  Matrix() = default;
  Matrix(Dtype type, std::int64_t rows, std::int64_t columns, std::int64_t gap_bytes = 0);

  /// Raw little-endian bits.
  std::uint64_t get(std::int64_t row, std::int64_t column) const;
  void set(std::int64_t row, std::int64_t column, std::uint64_t bits);
  void fill(std::uint64_t bits);
  void randomise(std::mt19937& random);

  double number(std::int64_t row, std::int64_t column) const;  ///< f16, bf16, f32
  void set_number(std::int64_t row, std::int64_t column, double value);

  Tensor tensor() const;         ///< two dimensions
  Tensor vector_tensor() const;  ///< of the only row: one dimension
  std::span<std::byte> memory();

  Dtype type = Dtype::i32;
  std::int64_t rows = 0, columns = 0, stride = 0;

 private:
  std::size_t offset(std::int64_t row, std::int64_t column) const;
  std::vector<std::uint64_t> storage_;  // aligned for every dtype
  std::size_t size_ = 0;
};

struct Checkpoint {
  Format format = Format::awq;
  std::int64_t n = 0, k = 0, group = 0;
  ZeroPoints declared = ZeroPoints::symmetric;
  Matrix weights, scales;
  std::optional<Matrix> zero_points, g_idx, weight_shape;

  std::int64_t groups() const { return k / group; }
  Source source() const;

  // What the format says, from its stored words.
  unsigned nibble(std::int64_t n_, std::int64_t k_) const;   ///< 0 .. 15, for MSLK q + 8
  double zero_point(std::int64_t n_, std::int64_t g) const;  ///< in units of the scale; 8 without a tensor
  double scale(std::int64_t n_, std::int64_t g) const;
  std::int64_t group_of(std::int64_t k_) const;  ///< g_idx, or k / G
  double weight(std::int64_t n_, std::int64_t k_) const;
};

struct Options {
  bool zero_points = false;  ///< and declared asymmetric
  Dtype weight_type = Dtype::i32;
  Dtype scale_type = Dtype::f16;
  Dtype zero_point_type = Dtype::i32;
  std::int64_t gap_bytes = 0;  ///< between rows of weights, scales and zero points
};

/// Random words everywhere that the format allows, scales that are exact in bf16 and f16. `group` divides
/// `k`.
Checkpoint random_checkpoint(Format format, std::int64_t n, std::int64_t k, std::int64_t group,
                             const Options& options, unsigned seed);

/// Zero weights, scales 1, no zero points: for tests that set single elements.
Checkpoint blank_checkpoint(Format format, std::int64_t n, std::int64_t k, std::int64_t group,
                            const Options& options = {});

/// Output memory full of canaries, and what a kernel reads from it.
class Repacked {
 public:
  explicit Repacked(const Plan& plan);

  Outputs outputs();
  unsigned nibble(std::int64_t n, std::int64_t k) const;
  std::uint32_t word(std::int64_t n, std::int64_t word) const;
  unsigned zero_point(std::int64_t n, std::int64_t g) const;  ///< 8 without a tensor
  std::uint32_t zero_point_word(std::int64_t block, std::int64_t g) const;
  std::uint16_t scale_bits(std::int64_t n, std::int64_t g) const;
  double scale(std::int64_t n, std::int64_t g) const;
  double weight(std::int64_t n, std::int64_t k) const;
  /// Bytes that belong to no row are as they were.
  bool gaps_intact() const;
  bool untouched() const;  ///< all bytes are
  bool operator==(const Repacked& other) const {
    return weights_ == other.weights_ && scales_ == other.scales_ && zero_points_ == other.zero_points_;
  }

 private:
  Plan plan_;
  std::vector<std::byte> weights_, scales_, zero_points_;
};

/// plan() and run() into fresh memory; throws on an error, which fails the test with its message.
Repacked repacked(const Source& source, const Destination& destination, unsigned threads = 1);

/// Dense, of the checkpoint's sizes; asymmetric when the checkpoint is declared so.
Destination destination_of(const Checkpoint& checkpoint, Dtype scales = Dtype::bf16);

}  // namespace wavejit::repack::test
