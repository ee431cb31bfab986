// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <bit>
#include <cstdio>

#include "templates/cdna/decode/decode.hpp"
#include "templates/cdna/family.hpp"
#include "templates/cdna/limits.hpp"
#include "templates/cdna/tile.hpp"

namespace wavejit::templates::cdna {
namespace {

constexpr std::string_view dma_suffix = " lds-dma";

std::unexpected<Error> bad(std::string field, std::string given, std::string allowed) {
  return fail_field(ErrorCode::invalid_config, std::move(field), std::move(given), std::move(allowed));
}
std::unexpected<Error> bad(std::string field, std::int64_t given, std::string allowed) {
  return bad(std::move(field), std::to_string(given), std::move(allowed));
}

Result<void> check_ranges(const Config& c, const target::Target& target) {
  if (c.path != Path::mfma) return bad("path", "tile", "mfma or decode: the target has no WMMA");
  if (c.bm == 0 || c.bm % 16 != 0 || c.bm > 512) return bad("bm", c.bm, "a multiple of 16 up to 512");
  if (c.bn == 0 || c.bn % 32 != 0 || c.bn > 1024) return bad("bn", c.bn, "a multiple of 32 up to 1024");
  if (c.pipeline_depth > 2) return bad("pipeline_depth", c.pipeline_depth, "0, 1 or 2");
  if (c.unroll < 1 || c.unroll > 8) return bad("unroll", c.unroll, "between 1 and 8");
  if (c.lds_buffers < 1 || c.lds_buffers > 2) return bad("lds_buffers", c.lds_buffers, "1 or 2");
  constexpr unsigned four_dwords = 1U << 3;
  if (c.lds_dma && (target.lds_dma_dwords & four_dwords) == 0)
    return bad("lds_dma", "on", fmt::format("off: {} has no 16-byte loads to LDS", target.name));
  if (c.lds_dma && c.lds_buffers != 2)
    return bad("lds_buffers", c.lds_buffers, "2 with lds_dma: one is filled while the other is read");
  if (c.lds_dma && c.pipeline_depth > 1)
    return bad("pipeline_depth", c.pipeline_depth,
               "0 or 1 with lds_dma: two LDS buffers hold one step ahead");
  if (c.split_k < 1 || c.split_k > 16) return bad("split_k", c.split_k, "between 1 and 16");
  if (c.waves < 1 || c.waves * target.wave_size > target.max_workgroup_size)
    return bad("waves", c.waves,
               fmt::format("between 1 and {}", target.max_workgroup_size / target.wave_size));
  if (c.waves_per_simd > target.max_waves_per_simd)
    return bad("waves_per_simd", c.waves_per_simd, fmt::format("at most {}", target.max_waves_per_simd));
  if (!c.techniques.exact_descriptors || !c.techniques.magic_dequant)
    return bad("techniques", "without descriptors or dequant",
               "with both: this family has no other way of doing them");
  return {};
}

/// Along K: blocks of 64 (32x32 instructions) or 128 (16x16), steps inside a group, slices of whole steps
/// and groups.
Result<void> check_k(const Config& c, const Problem& p) {
  const unsigned span = 32 * 64 / matrix_side(c.bm);
  if (c.bk == 0 || c.bk % span != 0 || c.bk > 256 || !std::has_single_bit(c.bk))
    return bad("bk", c.bk,
               fmt::format("{}: whole blocks of {} along K with bm = {}",
                           span == 64 ? "64, 128 or 256" : "128 or 256", span, c.bm));
  const bool lanes_differ = c.bk == span && p.group < span && span % p.group == 0;
  if (p.group % c.bk != 0 && !lanes_differ)
    return bad("bk", c.bk, fmt::format("a divisor of the group ({}): one scale serves one step", p.group));
  if (p.k % c.bk != 0) return bad("bk", c.bk, fmt::format("a divisor of k ({})", p.k));
  if (p.k == 0 && c.split_k != 1) return bad("split_k", c.split_k, "1: there is no K to split");
  if (p.op == Operation::int4_grouped && c.split_k != 1)
    return bad("split_k", c.split_k, "1: grouped products are not split along K");
  const Slices s = slices(c, p);
  if (s.filled * s.length != p.k)
    return bad("split_k", c.split_k,
               fmt::format("such that slices of whole groups ({}) and steps ({}) cut k = {} evenly", p.group,
                           c.bk, p.k));
  return {};
}

/// One row of waves by default: then every weight is turned into a matrix operand once.
Result<void> choose_waves(Config& c) {
  const unsigned side = matrix_side(c.bm);
  const auto fits = [&](unsigned m, unsigned n) {
    return m != 0 && n != 0 && m * n == c.waves && std::has_single_bit(m) && c.bm % (side * m) == 0 &&
           c.bn % (32 * n) == 0;
  };
  if (c.waves_m != 0 && c.waves_n == 0) c.waves_n = c.waves / c.waves_m;
  if (c.waves_n != 0 && c.waves_m == 0) c.waves_m = c.waves / c.waves_n;
  if (c.waves_m == 0)
    for (unsigned m = 1; m <= c.waves && c.waves_m == 0; m *= 2)
      if (fits(m, c.waves / m)) {
        c.waves_m = m;
        c.waves_n = c.waves / m;
      }
  if (!fits(c.waves_m, c.waves_n))
    return bad("waves", fmt::format("{} ({} x {})", c.waves, c.waves_m, c.waves_n),
               fmt::format("a split of bm / {} ({}) by a power of two and of bn / 32 ({})", side, c.bm / side,
                           c.bn / 32));
  return {};
}

Result<void> check_tile(const Config& c, const Problem& p, const target::Target& target) {
  const Tile t(c, p, target);
  if (t.passes > 1 && t.rows_per_pass % (t.slots * t.rows_per_bank_sweep) != 0)
    return bad("waves", c.waves, "more: one load of all work-items must cover a multiple of 16 rows");
  constexpr unsigned most_accumulators = 192;
  if (t.tiles_m * t.tiles_n * t.accumulators > most_accumulators)
    return bad("waves", c.waves,
               fmt::format("more: {} accumulators per lane, {} at most",
                           t.tiles_m * t.tiles_n * t.accumulators, most_accumulators));
  if (auto ok = check_lds(t.lds_bytes, target); !ok) return ok;
  return check_reach(p, {.rows = t.rows,
                         .columns = c.bn,
                         .output_rows = c.bm,
                         .output_bytes = std::max(p.output_stride * 2, p.n * (c.split_k > 1 ? 4 : 2))});
}

}  // namespace

Result<Config> normalise(const Config& config, const Problem& problem, const target::Target& target) {
  if (config.path == Path::decode) return decode::normalise(config, problem, target);
  Config c = config;
  if (!c.techniques.pipelined_loads) c.pipeline_depth = 0;
  c.wgp_mode = true;  // a compute unit is all there is
  if (auto ok = check_ranges(c, target); !ok) return std::unexpected(ok.error());
  if (auto ok = check_k(c, problem); !ok) return std::unexpected(ok.error());
  if (auto ok = choose_waves(c); !ok) return std::unexpected(ok.error());
  if (auto ok = check_tile(c, problem, target); !ok) return std::unexpected(ok.error());
  return c;
}

std::string config_text(const Config& c) {
  const Techniques& t = c.techniques;
  return fmt::format(
      "mfma {}x{}x{} waves {}x{} depth {} unroll {} lds {} occupancy {} split {} techniques "
      "{:d}{:d}{:d}{:d}{:d}{}",
      c.bm, c.bn, c.bk, c.waves_m, c.waves_n, c.pipeline_depth, c.unroll, c.lds_buffers, c.waves_per_simd,
      c.split_k, t.magic_dequant, t.pipelined_loads, t.exact_descriptors, t.bank_assignment, t.scalar_offsets,
      c.lds_dma ? dma_suffix : "");
}

Result<Config> parse_config(const std::string& text) {
  Config c;
  c.path = Path::mfma;
  std::array<unsigned, 5> on{};
  // What was read says whether all of it was: the text is made again below.
  // NOLINTBEGIN(bugprone-unchecked-string-to-number-conversion)
  const int fields =
      std::sscanf(text.c_str(),
                  "mfma %4ux%4ux%4u waves %4ux%4u depth %4u unroll %4u lds %4u occupancy %4u split %4u "
                  "techniques %1u%1u%1u%1u%1u",
                  &c.bm, &c.bn, &c.bk, &c.waves_m, &c.waves_n, &c.pipeline_depth, &c.unroll, &c.lds_buffers,
                  &c.waves_per_simd, &c.split_k, on.data(), &on[1], &on[2], &on[3], &on[4]);
  // NOLINTEND(bugprone-unchecked-string-to-number-conversion)
  c.waves = c.waves_m * c.waves_n;
  c.lds_dma = text.ends_with(dma_suffix);
  c.techniques = {on[0] != 0, on[1] != 0, on[2] != 0, on[3] != 0, on[4] != 0};
  if (fields != 15 || config_text(c) != text) {
    Config example;
    example.path = Path::mfma;
    return bad("config", text, "the canonical text of a Config: " + config_text(example));
  }
  return c;
}

}  // namespace wavejit::templates::cdna
