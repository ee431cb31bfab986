// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>

#include "templates/cdna/decode/decode.hpp"
#include "templates/cdna/decode/geometry.hpp"
#include "templates/cdna/limits.hpp"

namespace wavejit::templates::cdna::decode {
namespace {

std::unexpected<Error> bad(std::string field, std::string given, std::string allowed) {
  return fail_field(ErrorCode::invalid_config, std::move(field), std::move(given), std::move(allowed));
}
std::unexpected<Error> bad(std::string field, std::int64_t given, std::string allowed) {
  return bad(std::move(field), std::to_string(given), std::move(allowed));
}

constexpr unsigned most_waves = 16;

Result<void> check_ranges(const Config& c, const target::Target& target) {
  if (c.waves < 1 || c.waves > most_waves)
    return bad("waves", c.waves, fmt::format("between 1 and {}", most_waves));
  if (c.pipeline_depth > 2) return bad("pipeline_depth", c.pipeline_depth, "0, 1 or 2");
  if (c.unroll < 1 || c.unroll > 8) return bad("unroll", c.unroll, "between 1 and 8");
  if (c.split_k != 1) return bad("split_k", c.split_k, "1: the waves of a workgroup split K");
  if (c.waves_per_simd > target.max_waves_per_simd)
    return bad("waves_per_simd", c.waves_per_simd, fmt::format("at most {}", target.max_waves_per_simd));
  if (!c.techniques.exact_descriptors || !c.techniques.magic_dequant)
    return bad("techniques", "without descriptors or dequant",
               "with both: a decode kernel has no other way of doing them");
  return {};
}

Result<void> check_tile(const Config& c, const Problem& p) {
  if (std::ranges::find(heights, c.bm) == heights.end()) return bad("bm", c.bm, "4, 8, 16 or 32");
  if (p.k == 0) return bad("path", "decode", "mfma: K is 0, there is nothing to split");
  if (p.group % 64 != 0)
    return bad("path", "decode", fmt::format("mfma: the group ({}) is no multiple of 64", p.group));
  const unsigned side = side_of(c.bm, p.group), span = 32 * 64 / side;
  if (c.bm < (side == 16 ? 4U : 8U))
    return bad("bm", c.bm, fmt::format("8 or more: the group ({}) is no multiple of 128", p.group));
  if (c.bn == 0 || c.bn % side != 0 || c.bn > 128 || !std::has_single_bit(c.bn))
    return bad("bn", c.bn, fmt::format("{}64 or 128", side == 16 ? "16, 32, " : "32, "));
  if (c.bk == 0 || c.bk % (span * c.waves) != 0 || c.bk > 16384)
    return bad("bk", c.bk,
               fmt::format("a multiple of {} ({} for each wave) up to 16384", span * c.waves, span));
  const unsigned rows_per_wave = side == 16 ? 4 : 8, blocks = c.bk / (span * c.waves);
  if (c.bm * blocks % rows_per_wave != 0)
    return bad("bk", c.bk, fmt::format("a multiple of {}", span * c.waves * rows_per_wave / c.bm));
  return {};
}

/// Dense products are numbered by grid axes y (columns) and z (launch.cpp).
Result<void> check_grid(const Config& c, const Problem& p) {
  constexpr std::int64_t most = 65535;
  if (p.op == Operation::int4_grouped) return {};
  if ((p.n + c.bn - 1) / c.bn > most)
    return bad("bn", c.bn, fmt::format("more: a launch has at most {} tiles of columns", most));
  if (p.batch > most)
    return bad("path", "decode",
               fmt::format("mfma: a launch of decode kernels has at most {} products", most));
  return {};
}

Result<void> check_room(const Config& c, const Problem& p, const target::Target& target) {
  const Geometry t(c, p, target);
  constexpr unsigned most_accumulators = 128;
  if (t.registers > most_accumulators)
    return bad("bn", c.bn,
               fmt::format("less: {} accumulators per lane, {} at most", t.registers, most_accumulators));
  if (auto ok = check_lds(t.lds_bytes, target); !ok) return ok;
  if ((t.passes - 1) * c.waves * 1024 >= lds_window)
    return bad("bk", c.bk, fmt::format("less: a step's activations are reached {} bytes far", lds_window));
  return check_reach(
      p, {.rows = t.side, .columns = c.bn, .output_rows = t.side, .output_bytes = p.output_stride * 2});
}

/// The fields that follow from others.
void settle(Config& c) {
  c.waves_m = 1;
  c.waves_n = c.waves;
  c.lds_buffers = 2;
  c.wgp_mode = true;  // a compute unit is all there is
}

}  // namespace

Result<Config> normalise(const Config& config, const Problem& problem, const target::Target& target) {
  Config c = config;
  if (!c.techniques.pipelined_loads) c.pipeline_depth = 0;
  settle(c);
  if (auto ok = check_ranges(c, target); !ok) return std::unexpected(ok.error());
  if (auto ok = check_tile(c, problem); !ok) return std::unexpected(ok.error());
  if (auto ok = check_grid(c, problem); !ok) return std::unexpected(ok.error());
  if (auto ok = check_room(c, problem, target); !ok) return std::unexpected(ok.error());
  return c;
}

std::string canonical(const Config& c) {
  const Techniques& t = c.techniques;
  return fmt::format(
      "decode {}x{}x{} waves {} depth {} unroll {} occupancy {} techniques {:d}{:d}{:d}{:d}{:d}", c.bm, c.bn,
      c.bk, c.waves, c.pipeline_depth, c.unroll, c.waves_per_simd, t.magic_dequant, t.pipelined_loads,
      t.exact_descriptors, t.bank_assignment, t.scalar_offsets);
}

Result<Config> parse(std::string_view canonical_text) {
  const std::string text(canonical_text);
  Config c;
  c.path = Path::decode;
  std::array<unsigned, 5> on{};
  // What was read says whether all of it was: the text is made again below.
  // NOLINTNEXTLINE(bugprone-unchecked-string-to-number-conversion)
  const int fields = std::sscanf(
      text.c_str(),
      "decode %3ux%3ux%5u waves %2u depth %1u unroll %1u occupancy %2u techniques %1u%1u%1u%1u%1u", &c.bm,
      &c.bn, &c.bk, &c.waves, &c.pipeline_depth, &c.unroll, &c.waves_per_simd, on.data(), &on[1], &on[2],
      &on[3], &on[4]);
  c.techniques = {on[0] != 0, on[1] != 0, on[2] != 0, on[3] != 0, on[4] != 0};
  settle(c);
  if (fields != 12 || decode::canonical(c) != text) {
    Config example;
    example.path = Path::decode;
    return bad("config", text, "the canonical text of a Config: " + decode::canonical(example));
  }
  return c;
}

}  // namespace wavejit::templates::cdna::decode
