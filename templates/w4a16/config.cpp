// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <bit>

#include "templates/cdna/family.hpp"
#include "templates/skinny/skinny.hpp"
#include "templates/w4a16/family.hpp"
#include "templates/w4a16/tile.hpp"

namespace wavejit::templates::w4a16 {
namespace {

std::unexpected<Error> bad(std::string field, std::string given, std::string allowed) {
  return fail_field(ErrorCode::invalid_config, std::move(field), std::move(given), std::move(allowed));
}
std::unexpected<Error> bad(std::string field, unsigned given, std::string allowed) {
  return bad(std::move(field), std::to_string(given), std::move(allowed));
}

Result<void> check_tile(const Config& c, const Problem& problem) {
  if (c.bm == 0 || c.bm % 16 != 0 || c.bm > 1024) return bad("bm", c.bm, "a multiple of 16 up to 1024");
  if (c.bn == 0 || c.bn % 16 != 0 || c.bn > 1024) return bad("bn", c.bn, "a multiple of 16 up to 1024");
  if (c.bk == 0 || c.bk % 16 != 0 || c.bk > 128) return bad("bk", c.bk, "a multiple of 16 up to 128");
  if (c.bk > problem.group || problem.group % c.bk != 0)
    return bad("bk", c.bk,
               fmt::format("a divisor of the group ({}): one scale serves one step", problem.group));
  if (!std::has_single_bit(c.bk)) return bad("bk", c.bk, "16, 32, 64 or 128");
  return {};
}

/// Splits the tile over the waves so that a wave's part is as square as it can be: LDS reads per
/// matrix instruction go with (tiles_m + tiles_n) / (tiles_m * tiles_n).
Result<void> choose_waves(Config& c) {
  if (!std::has_single_bit(c.waves) || c.waves > 32) return bad("waves", c.waves, "1, 2, 4, 8, 16 or 32");
  if (c.waves_m != 0 && c.waves_n == 0 && c.waves % c.waves_m == 0) c.waves_n = c.waves / c.waves_m;
  if (c.waves_n != 0 && c.waves_m == 0 && c.waves % c.waves_n == 0) c.waves_m = c.waves / c.waves_n;
  if (c.waves_m != 0 || c.waves_n != 0) {
    if (c.waves_m * c.waves_n != c.waves)
      return bad("waves_m x waves_n", fmt::format("{} x {}", c.waves_m, c.waves_n),
                 fmt::format("a split of the {} waves", c.waves));
    if (c.bm % (16 * c.waves_m) != 0)
      return bad("waves_m", c.waves_m, fmt::format("a divisor of bm / 16 ({})", c.bm / 16));
    if (c.bn % (16 * c.waves_n) != 0)
      return bad("waves_n", c.waves_n, fmt::format("a divisor of bn / 16 ({})", c.bn / 16));
    return {};
  }
  unsigned best = ~0U;
  for (unsigned m = 1; m <= c.waves; m *= 2) {
    const unsigned n = c.waves / m;
    if (c.bm % (16 * m) != 0 || c.bn % (16 * n) != 0) continue;
    const unsigned cost = c.bm / m + c.bn / n;
    if (cost < best) {
      best = cost;
      c.waves_m = m;
      c.waves_n = n;
    }
  }
  if (best == ~0U)
    return bad("waves", c.waves,
               fmt::format("such that bm / 16 ({}) and bn / 16 ({}) split over them", c.bm / 16, c.bn / 16));
  return {};
}

/// Tile bytes of each operand stay under 2 GiB: descriptors are rebased to the tile, but its own
/// offsets are 32 bits and 0x80000000 is the guard value.
Result<void> check_extents(const w4a16::Tile& tile, const Problem& p) {
  constexpr std::int64_t limit = 0x7FFFFFF0;
  if (tile.rows_a * p.activation_stride * 2 > limit)
    return bad("activation_stride", std::to_string(p.activation_stride),
               "such that a tile's rows stay under 2 GiB");
  if (tile.rows_b * p.weight_stride * 4 > limit)
    return bad("weight_stride", std::to_string(p.weight_stride), "such that a tile's rows stay under 2 GiB");
  if (tile.rows_b * p.scale_stride * 2 > limit)
    return bad("scale_stride", std::to_string(p.scale_stride), "such that a tile's rows stay under 2 GiB");
  if (tile.rows_b / 8 * p.zero_point_stride * 4 > limit)
    return bad("zero_point_stride", std::to_string(p.zero_point_stride),
               "such that a tile's rows stay under 2 GiB");
  if (tile.rows_a * p.output_stride * 2 > limit)
    return bad("output_stride", std::to_string(p.output_stride), "such that a tile's rows stay under 2 GiB");
  return {};
}

/// Without exact descriptors one descriptor covers a whole tensor of weights, scales or zero points.
Result<void> check_whole_tensors(const Problem& p) {
  constexpr std::int64_t limit = 0x7FFFFFF0;
  const auto check = [](std::string_view tensor, std::int64_t bytes) -> Result<void> {
    if (bytes <= limit) return {};
    return bad("techniques", "without descriptors",
               fmt::format("with descriptors: the {} exceed 2 GiB", tensor));
  };
  if (auto ok = check("weights", p.n * p.weight_stride * 4); !ok) return ok;
  if (auto ok = check("scales", p.n * p.scale_stride * 2); !ok) return ok;
  return check("zero points", zero_point_rows(p) * p.zero_point_stride * 4);
}

}  // namespace

Result<Config> normalise(const Config& config, const Problem& problem, const target::Target& target) {
  if (target.generation == target::Generation::gfx9) return cdna::normalise(config, problem, target);
  if (config.path == Path::mfma || config.path == Path::decode)
    return bad("path", config.path == Path::mfma ? "mfma" : "decode",
               "tile or skinny: the target has no MFMA");
  if (config.path == Path::skinny) return skinny::normalise(config, problem, target);
  if (config.path != Path::tile) return bad("path", std::string(name(config.path)), "tile or skinny");
  Config c = config;
  if (!c.techniques.pipelined_loads) c.pipeline_depth = 0;
  if (auto ok = check_tile(c, problem); !ok) return std::unexpected(ok.error());
  if (auto ok = choose_waves(c); !ok) return std::unexpected(ok.error());
  if (c.waves * target.wave_size > target.max_workgroup_size)
    return bad("waves", c.waves, fmt::format("at most {}", target.max_workgroup_size / target.wave_size));
  if (c.waves * target.wave_size < c.bk / 8)
    return bad("waves", c.waves, "enough work-items for one row of chunks");
  if (c.pipeline_depth > 2) return bad("pipeline_depth", c.pipeline_depth, "0, 1 or 2");
  if (c.unroll < 1 || c.unroll > 8) return bad("unroll", c.unroll, "between 1 and 8");
  if (c.lds_buffers < 1 || c.lds_buffers > 2) return bad("lds_buffers", c.lds_buffers, "1 or 2");
  if (c.waves_per_simd > target.max_waves_per_simd)
    return bad("waves_per_simd", c.waves_per_simd, fmt::format("at most {}", target.max_waves_per_simd));
  const w4a16::Tile tile(c, problem, target.wave_size);
  if (tile.lds_bytes > target.lds_per_workgroup)
    return fail_field(
        ErrorCode::out_of_lds, "lds", fmt::format("{} bytes", tile.lds_bytes),
        fmt::format("at most {} bytes per workgroup on {}", target.lds_per_workgroup, target.name));
  if (auto ok = check_extents(tile, problem); !ok) return std::unexpected(ok.error());
  if (!c.techniques.exact_descriptors)
    if (auto ok = check_whole_tensors(problem); !ok) return std::unexpected(ok.error());
  return c;
}

}  // namespace wavejit::templates::w4a16
