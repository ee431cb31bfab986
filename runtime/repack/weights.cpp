// SPDX-License-Identifier: MIT
#include "runtime/repack/weights.hpp"

#include <simde/x86/sse2.h>

#include <algorithm>

#include "runtime/repack/bits.hpp"
#include "runtime/repack/layout.hpp"

namespace wavejit::repack {
namespace {

/// Formats that run along N are turned through tiles: reads are runs of a row of the source, writes are whole
/// cache lines of a row of the output. A tile is 16 KiB, so it stays in the first-level cache.
constexpr std::int64_t tile_words = 16;
constexpr std::int64_t tile_columns = 256;
constexpr std::int64_t blocks_per_tile = tile_columns / 8;
/// Formats that already run along K go by rows, in units of about this many words.
constexpr std::int64_t words_per_unit = 1 << 16;

struct alignas(64) Tile {
  std::uint32_t words[tile_words][tile_columns];  // not initialised: only what was filled is read
};

/// Where a tile lies: `words` words along K from `word`, `columns` output rows from `column`.
struct Place {
  std::int64_t word = 0, words = 0, column = 0, columns = 0;
};

std::int64_t rows_per_unit(const Plan& plan) {
  return std::max<std::int64_t>(1, words_per_unit / ceil_div(plan.destination.k, 8));
}

Place tile_place(const Plan& plan, std::int64_t unit) {
  const std::int64_t words = ceil_div(plan.destination.k, 8);
  const std::int64_t along = ceil_div(words, tile_words);
  Place p{.word = unit % along * tile_words, .words = 0, .column = unit / along * tile_columns, .columns = 0};
  p.words = std::min(tile_words, words - p.word);
  p.columns = std::min(tile_columns, plan.destination.n - p.column);
  return p;
}

void fill_gptq(const Plan& plan, const Place& place, Tile& tile) {
  const std::int64_t stride = row_stride(plan.source.weights);
  const std::byte* base = plan.source.weights.data.data() + place.word * stride + place.column * 4;
  for (std::int64_t w = 0; w < place.words; ++w)
    for (std::int64_t c = 0; c < place.columns; ++c)
      tile.words[w][c] = shuffle(load<std::uint32_t>(base + w * stride + c * 4));
}

/// A word gathers the nibbles of eight rows of K, wherever g_idx put them.
void fill_gptq_permuted(const Plan& plan, const Place& place, Tile& tile) {
  const std::int64_t stride = row_stride(plan.source.weights);
  const std::byte* base = plan.source.weights.data.data() + place.column * 4;
  for (std::int64_t w = 0; w < place.words; ++w) {
    std::uint32_t* to = tile.words[w];
    std::fill_n(to, place.columns, 0U);
    for (unsigned i = 0; i < 8; ++i) {
      const std::int64_t k =
          plan.permutation[static_cast<std::size_t>((place.word + w) * 8 + shuffled_order[i])];
      const std::byte* from = base + k / 8 * stride;
      const unsigned take = 4 * static_cast<unsigned>(k % 8), put = 4 * i;
      for (std::int64_t c = 0; c < place.columns; ++c)
        to[c] |= (load<std::uint32_t>(from + c * 4) >> take & 15U) << put;
    }
  }
}

/// Eight rows of K taken in shuffled order and transposed give shuffled words. Word i of them is the column
/// that nibble i of an AWQ word holds, and goes to plane i of the tile: tile column i * blocks + j.
void fill_awq(const Plan& plan, const Place& place, Tile& tile) {
  static constexpr std::array<std::byte, blocks_per_tile * 4> beyond_k{};
  const std::int64_t stride = row_stride(plan.source.weights), blocks = place.columns / 8;
  const std::byte* base = plan.source.weights.data.data() + place.column / 8 * 4;
  for (std::int64_t w = 0; w < place.words; ++w) {
    std::array<const std::byte*, 8> rows;
    for (unsigned i = 0; i < 8; ++i) {
      const std::int64_t k = (place.word + w) * 8 + shuffled_order[i];
      rows[i] = k < plan.destination.k ? base + k * stride : beyond_k.data();
    }
    std::uint32_t* to = tile.words[w];
    for (std::int64_t j = 0; j < blocks; ++j) {
      std::array<std::uint32_t, 8> words;
      for (unsigned i = 0; i < 8; ++i) words[i] = load<std::uint32_t>(rows[i] + j * 4);
      transpose(words);
      for (unsigned i = 0; i < 8; ++i) to[i * blocks_per_tile + j] = words[i];
    }
  }
}

/// Four tile columns -> four output rows.
void write_four(const Tile& tile, std::int64_t column, std::int64_t words,
                const std::array<std::byte*, 4>& rows) {
  std::int64_t w = 0;
  for (; w + 4 <= words; w += 4) {
    const auto take = [&](std::int64_t i) {
      return simde_mm_loadu_si128(reinterpret_cast<const simde__m128i*>(&tile.words[w + i][column]));
    };
    const auto put = [&](std::size_t i, simde__m128i value) {
      simde_mm_storeu_si128(reinterpret_cast<simde__m128i*>(rows[i] + w * 4), value);
    };
    const simde__m128i a = take(0), b = take(1), c = take(2), d = take(3);
    const simde__m128i ab_low = simde_mm_unpacklo_epi32(a, b), ab_high = simde_mm_unpackhi_epi32(a, b);
    const simde__m128i cd_low = simde_mm_unpacklo_epi32(c, d), cd_high = simde_mm_unpackhi_epi32(c, d);
    put(0, simde_mm_unpacklo_epi64(ab_low, cd_low));
    put(1, simde_mm_unpackhi_epi64(ab_low, cd_low));
    put(2, simde_mm_unpacklo_epi64(ab_high, cd_high));
    put(3, simde_mm_unpackhi_epi64(ab_high, cd_high));
  }
  for (; w < words; ++w)
    for (std::int64_t i = 0; i < 4; ++i)
      store(rows[static_cast<std::size_t>(i)] + w * 4, tile.words[w][column + i]);
}

/// Tile columns first .. first + count - 1 -> output rows row, row + step, ...
void write_columns(const Plan& plan, const Tile& tile, const Place& place, std::byte* out, std::int64_t first,
                   std::int64_t count, std::int64_t row, std::int64_t step) {
  const std::int64_t stride = plan.weights.stride_bytes;
  const auto row_at = [&](std::int64_t c) { return out + (row + c * step) * stride + place.word * 4; };
  std::int64_t c = 0;
  for (; c + 4 <= count; c += 4)
    write_four(tile, first + c, place.words, {row_at(c), row_at(c + 1), row_at(c + 2), row_at(c + 3)});
  for (; c < count; ++c)
    for (std::int64_t w = 0; w < place.words; ++w) store(row_at(c) + w * 4, tile.words[w][first + c]);
}

void write_tile(const Plan& plan, std::byte* out, std::int64_t unit) {
  const Place place = tile_place(plan, unit);
  Tile tile;
  if (plan.source.format == Format::awq) {
    fill_awq(plan, place, tile);
    for (unsigned i = 0; i < 8; ++i)
      write_columns(plan, tile, place, out, i * blocks_per_tile, place.columns / 8,
                    place.column + shuffled_order[i], 8);
    return;
  }
  plan.permutation.empty() ? fill_gptq(plan, place, tile) : fill_gptq_permuted(plan, place, tile);
  write_columns(plan, tile, place, out, 0, place.columns, place.column, 1);
}

/// Rows whose nibbles run along K already. `flip` turns two's complement into offset 8.
void write_rows(const Plan& plan, std::byte* out, std::int64_t unit) {
  const Tensor& source = plan.source.weights;
  const std::int64_t k = plan.destination.k, from_stride = row_stride(source), rows = rows_per_unit(plan);
  const std::uint32_t flip = plan.source.format == Format::mslk ? 0x88888888U : 0U;
  const std::int64_t end = std::min(plan.destination.n, (unit + 1) * rows);
  for (std::int64_t n = unit * rows; n < end; ++n) {
    const std::byte* from = source.data.data() + n * from_stride;
    std::byte* to = out + n * plan.weights.stride_bytes;
    for (std::int64_t w = 0; w < k / 8; ++w)
      store(to + w * 4, shuffle(load<std::uint32_t>(from + w * 4) ^ flip));
    if (k % 8 == 0) continue;
    std::uint32_t tail = 0;  // byte rows may end inside the word
    std::memcpy(&tail, from + k / 8 * 4, static_cast<std::size_t>(ceil_div(k % 8, 2)));
    store(to + k / 8 * 4, shuffle((tail ^ flip) & low_nibbles(k % 8)));
  }
}

}  // namespace

std::int64_t weight_units(const Plan& plan) {
  const Destination& d = plan.destination;
  if (runs_along_k(plan.source.format)) return ceil_div(d.n, rows_per_unit(plan));
  return ceil_div(d.n, tile_columns) * ceil_div(ceil_div(d.k, 8), tile_words);
}

void write_weights(const Plan& plan, std::byte* out, std::int64_t unit) {
  runs_along_k(plan.source.format) ? write_rows(plan, out, unit) : write_tile(plan, out, unit);
}

}  // namespace wavejit::repack
