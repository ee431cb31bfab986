// SPDX-License-Identifier: MIT
#include "runtime/repack/zero_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/repack/bits.hpp"
#include "runtime/repack/layout.hpp"
#include "runtime/repack/scales.hpp"

namespace wavejit::repack {
namespace {

constexpr std::uint32_t all_eight = 0x88888888U;
constexpr std::int64_t blocks_per_unit = 16;

/// One more in each nibble modulo 16, with no carry between nibbles.
constexpr std::uint32_t increment(std::uint32_t word) {
  return ((word & 0x77777777U) + 0x11111111U) ^ (word & 0x88888888U);
}

/// A nibble of the result is nonzero where that of `word` is 15.
constexpr std::uint32_t fifteens(std::uint32_t word) {
  return word & (word >> 1) & (word >> 2) & (word >> 3) & 0x11111111U;
}

/// Rows of a block, 8 but for the last, and the mask of their nibbles.
std::int64_t rows_of(const Plan& plan, std::int64_t block) {
  return std::min<std::int64_t>(8, plan.destination.n - 8 * block);
}
std::uint32_t rows_mask(const Plan& plan, std::int64_t block) { return low_nibbles(rows_of(plan, block)); }

bool in_words(const Plan& plan) { return plan.source.zero_points->dtype == Dtype::i32; }

/// int32 sources: the word of rows 8 * block ... as it is stored.
std::uint32_t stored_word(const Plan& plan, std::int64_t block, std::int64_t g) {
  const Tensor& t = *plan.source.zero_points;
  return load<std::uint32_t>(group_major(plan.source.format) ? at(t, g, block) : at(t, block, g));
}

/// Tensors of one element per zero point: u8, or MSLK's float z, for which w = q s + z = (q + 8 - (8 - z/s))
/// s. The comparison is exact: both sides have at most 28 significant bits.
std::optional<std::uint32_t> element(const Plan& plan, std::int64_t n, std::int64_t g) {
  const Tensor& t = *plan.source.zero_points;
  if (plan.source.format != Format::mslk) {
    const auto value = std::to_integer<std::uint32_t>(*at(t, n, g));
    return value <= 15 ? std::optional(value) : std::nullopt;
  }
  const double z = load_float(at(t, g, n), t.dtype);
  if (z == 0.0) return 8;
  const double s = load_float(at(plan.source.scales, g, n), plan.source.scales.dtype);
  const double multiple = std::nearbyint(z / s);
  if (!(multiple >= -7.0 && multiple <= 8.0) || multiple * s != z) return std::nullopt;
  return static_cast<std::uint32_t>(8 - static_cast<int>(multiple));
}

/// The destination's word as the source's tensor says it; padding nibbles 0.
std::uint32_t tensor_word(const Plan& plan, std::int64_t block, std::int64_t g) {
  if (!in_words(plan)) {
    std::uint32_t word = 0;
    for (std::int64_t i = 0; i < rows_of(plan, block); ++i)
      word |= element(plan, 8 * block + i, g).value_or(0) << (4 * i);
    return word;
  }
  std::uint32_t word = stored_word(plan, block, g);
  if (plan.source.format == Format::awq) word = unshuffle(word);
  if (plan.source.format == Format::gptq_v1) word = increment(word);
  return word & rows_mask(plan, block);
}

std::string place(const Plan& plan, std::int64_t n, std::int64_t g) {
  return fmt::format("zero_points[group {}, {} {}]", g, group_major(plan.source.format) ? "column" : "row",
                     n);
}

std::unexpected<Error> not_a_multiple(const Plan& plan, std::int64_t n, std::int64_t g) {
  const Tensor &z = *plan.source.zero_points, &s = plan.source.scales;
  return fail_field(ErrorCode::unsupported, place(plan, n, g),
                    fmt::format("{} with a scale of {}", load_float(at(z, g, n), z.dtype),
                                load_float(at(s, g, n), s.dtype)),
                    "exactly -7 to 8 times its scale; other weights need the bf16 x int4 kernels, which read "
                    "this layout as "
                    "it is");
}

/// Each zero point of the block must be one that a nibble can hold.
Result<void> check_range(const Plan& plan, std::int64_t block, std::int64_t g) {
  if (plan.source.format == Format::gptq_v1) {
    const std::uint32_t bad = fifteens(stored_word(plan, block, g)) & rows_mask(plan, block);
    if (bad == 0) return {};
    return fail_field(
        ErrorCode::unsupported, place(plan, 8 * block + std::countr_zero(bad) / 4, g),
        "15 as stored by GPTQ v1, which says 16 (or 0, by writers that let it wrap)",
        "at most 14, a zero point of 15: a nibble cannot hold 16; zero points that are stored as "
        "they are make it gptq_v2, which holds a 15");
  }
  if (in_words(plan)) return {};
  for (std::int64_t n = 8 * block; n < 8 * block + rows_of(plan, block); ++n) {
    if (element(plan, n, g)) continue;
    if (plan.source.format == Format::mslk) return not_a_multiple(plan, n, g);
    return fail_field(ErrorCode::invalid_argument, place(plan, n, g),
                      std::to_string(std::to_integer<unsigned>(*at(*plan.source.zero_points, n, g))),
                      "0 to 15");
  }
  return {};
}

/// Of a tensor that says something else than a symmetric source may. GPTQ writers have stored the zero points
/// of one version and declared the other; then it is the version that is wrong.
std::string advice(const Plan& plan) {
  const Format format = plan.source.format;
  if (format != Format::gptq_v1 && format != Format::gptq_v2) return "declare it asymmetric if it is not";
  const bool v1 = format == Format::gptq_v1;
  const std::string other = v1 ? "gptq_v2" : "gptq_v1";
  const std::uint32_t eights = v1 ? all_eight : 0x77777777U;  // as the other version stores them
  bool all = true;
  for (std::int64_t g = 0; all && g < plan.destination.k / plan.destination.group; ++g)
    for (std::int64_t block = 0; all && block < ceil_div(plan.destination.n, 8); ++block)
      all = ((stored_word(plan, block, g) ^ eights) & rows_mask(plan, block)) == 0;
  if (all) return "read as " + other + " they are 8 everywhere: declare that version";
  return "declare it asymmetric if it is not, and " + other + " if zero points are stored " +
         (v1 ? "as they are" : "minus one");
}

Result<void> check_symmetric(const Plan& plan, std::int64_t block, std::int64_t g) {
  const std::uint32_t word = tensor_word(plan, block, g);
  const std::uint32_t different = word ^ (all_eight & rows_mask(plan, block));
  if (different == 0) return {};
  const int lane = std::countr_zero(different) / 4;
  std::string says = "8, because the destination is symmetric";
  if (plan.source.zero_points_declared == ZeroPoints::symmetric)
    says = "8, because the source is declared symmetric (" + advice(plan) + ")";
  return fail_field(ErrorCode::invalid_argument, place(plan, 8 * block + lane, g),
                    std::to_string(word >> (4 * lane) & 15U), says);
}

}  // namespace

Result<void> check_zero_points(const Plan& plan) {
  if (!plan.source.zero_points) return {};
  const bool only_eight = plan.source.zero_points_declared == ZeroPoints::symmetric ||
                          plan.destination.zero_points == ZeroPoints::symmetric;
  const std::int64_t groups = plan.destination.k / plan.destination.group;
  const std::int64_t blocks = ceil_div(plan.destination.n, 8);
  for (std::int64_t g = 0; g < groups; ++g)
    for (std::int64_t block = 0; block < blocks; ++block) {
      if (auto ok = check_range(plan, block, g); !ok) return ok;
      if (!only_eight) continue;
      if (auto ok = check_symmetric(plan, block, g); !ok) return ok;
    }
  return {};
}

std::int64_t zero_point_units(const Plan& plan) {
  return plan.zero_points.bytes == 0 ? 0 : ceil_div(plan.zero_points.rows, blocks_per_unit);
}

void write_zero_points(const Plan& plan, std::byte* out, std::int64_t unit) {
  const bool from_tensor =
      plan.source.zero_points && plan.source.zero_points_declared == ZeroPoints::asymmetric;
  const std::int64_t groups = plan.destination.k / plan.destination.group;
  const std::int64_t first = unit * blocks_per_unit;
  const std::int64_t end = std::min(plan.zero_points.rows, first + blocks_per_unit);
  for (std::int64_t g = 0; g < groups; ++g)
    for (std::int64_t block = first; block < end; ++block)
      store(out + block * plan.zero_points.stride_bytes + g * 4,
            from_tensor ? tensor_word(plan, block, g) : all_eight & rows_mask(plan, block));
}

}  // namespace wavejit::repack
