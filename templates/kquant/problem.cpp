// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <array>

#include "templates/kquant/kquant.hpp"

namespace wavejit::templates::kquant {
namespace {

/// Offsets within a row are 32 bits and stay clear of the sign.
constexpr std::int64_t max_row_bytes = 1LL << 30;

std::unexpected<Error> bad(std::string field, std::int64_t given, std::string allowed) {
  return fail_field(ErrorCode::invalid_problem, std::move(field), std::to_string(given), std::move(allowed));
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Two rows a wave read the activations once for both, and have twice the bytes in flight; but only where
/// there are rows enough to fill the machine with waves all the same.
unsigned choose_rows(const Problem& p, const target::Target& target) {
  const bool wgp = target.generation != target::Generation::gfx9;  // of two compute units
  const std::int64_t simds = std::int64_t{target.compute_units} * target.simds_per_wgp / (wgp ? 2 : 1);
  return p.m <= 2 && p.n >= 2 * simds * target.max_waves_per_simd ? 2 : 1;
}

}  // namespace

std::int64_t block_bytes(Type type) {
  constexpr std::array<std::int64_t, 5> bytes{144, 176, 210, 272, 144};
  return bytes[static_cast<std::size_t>(type)];
}

std::int64_t block_elements(Type type) { return type == Type::q8_0 || type == Type::q4_0 ? 32 : superblock; }

std::int64_t row_bytes(const Problem& p) {
  return p.k / block_elements(p.type) * block_bytes(p.type) / (superblock / block_elements(p.type));
}

std::int64_t activation_row_bytes(const Problem& p) { return superblocks(p.k) * activation_block_bytes; }

Result<Problem> normalise(const Problem& p, const target::Target& /*target*/) {
  if (p.type > Type::q4_0)
    return bad("weight_type", static_cast<std::int64_t>(p.type), "q4_k, q5_k, q6_k, q8_0 or q4_0");
  if (p.n < 1 || p.n > 0x7FFFFFFF) return bad("n", p.n, "between 1 and 2^31 - 1");
  const std::int64_t block = block_elements(p.type);
  if (p.k < block || p.k % block != 0)
    return bad("k", p.k,
               fmt::format("a multiple of {0}, the block of {1}, at least {0}", block, name(p.type)));
  if (p.k > max_row_bytes / activation_block_bytes * superblock)
    return bad("k", p.k, "such that a row of activations, 320 bytes for 256 elements, is at most 2^30 bytes");
  if (p.m < 1 || p.m > max_m) return bad("m", p.m, "between 1 and 8");
  return p;
}

Result<Config> normalise(const Config& config, const Problem& p, const target::Target& target) {
  Config c = config;
  const auto refuse = [](std::string field, unsigned given, std::string allowed) {
    return fail_field(ErrorCode::invalid_config, std::move(field), std::to_string(given), std::move(allowed));
  };
  if (c.rows == 0) c.rows = choose_rows(p, target);
  if (c.rows != 1 && c.rows != 2 && c.rows != 4) return refuse("rows", c.rows, "1, 2, 4, or 0 to choose");
  if (c.pipeline_depth > 2) return refuse("pipeline_depth", c.pipeline_depth, "0, 1 or 2");
  if (c.waves_per_simd > target.max_waves_per_simd)
    return refuse("waves_per_simd", c.waves_per_simd, fmt::format("at most {}", target.max_waves_per_simd));
  if (ceil_div(p.n, c.rows) * target.wave_size >= (1LL << 32))
    return refuse("rows", c.rows, "such that the grid's work-items stay below 2^32: more rows per wave");
  return c;
}

Launch launch(const Problem& p, const Config& c, const target::Target& target) {
  Launch l;
  l.grid[0] = static_cast<std::uint32_t>(ceil_div(p.n, c.rows));
  l.block[0] = target.wave_size;
  l.kernarg_size = 24;
  const std::int64_t activation_bytes = activation_row_bytes(p), weight_bytes = row_bytes(p);
  // Q4_K and Q5_K are read 16 aligned bytes at a time, the others in aligned dwords.
  const std::uint32_t aligned = p.type == Type::q4_k || p.type == Type::q5_k ? 16 : 4;
  l.arguments = {{.name = "workspace",
                  .dtype = DataType::u8,
                  .shape = {p.m, activation_bytes},
                  .strides = {activation_bytes, 1},
                  .bytes = p.m * activation_bytes,
                  .alignment = 16},
                 {.name = "weights",
                  .offset = 8,
                  .dtype = DataType::u8,
                  .shape = {p.n, weight_bytes},
                  .strides = {weight_bytes, 1},
                  .bytes = p.n * weight_bytes,
                  .alignment = aligned},
                 {.name = "output",
                  .offset = 16,
                  .access = ir::Access::write,
                  .dtype = DataType::f32,
                  .shape = {p.m, p.n},
                  .strides = {4 * p.n, 4},
                  .bytes = std::int64_t{4} * p.m * p.n,
                  .alignment = 4}};
  return l;
}

}  // namespace wavejit::templates::kquant
