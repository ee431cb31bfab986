// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdio>

#include "templates/skinny/skinny.hpp"

namespace wavejit::templates::skinny {
namespace {

constexpr unsigned widest_stretch = 1024;  ///< elements along K of one wave's full pass

std::unexpected<Error> bad(std::string field, std::string given, std::string allowed) {
  return fail_field(ErrorCode::invalid_config, std::move(field), std::move(given), std::move(allowed));
}
std::unexpected<Error> bad(std::string field, unsigned given, std::string allowed) {
  return bad(std::move(field), std::to_string(given), std::move(allowed));
}

/// A workgroup's own bytes of each tensor: offsets are 32 bits, and 0x80000000 is outside of everything.
Result<void> check_extents(const Config& c, const Problem& p) {
  constexpr std::int64_t limit = 0x7FFFFFF0;
  const auto check = [](const char* field, std::int64_t stride, std::int64_t bytes) -> Result<void> {
    if (bytes <= limit) return {};
    return bad(field, std::to_string(stride), "such that a workgroup's rows stay under 2 GiB");
  };
  if (auto ok = check("activation_stride", p.activation_stride, c.bm * p.activation_stride * 2); !ok)
    return ok;
  if (auto ok = check("weight_stride", p.weight_stride, c.bn * p.weight_stride * 4); !ok) return ok;
  if (auto ok = check("scale_stride", p.scale_stride, c.bn * p.scale_stride * 2); !ok) return ok;
  if (auto ok = check("zero_point_stride", p.zero_point_stride, p.zero_point_stride * 4); !ok) return ok;
  return check("output_stride", p.output_stride, c.bm * p.output_stride * 2);
}

}  // namespace

Result<Config> normalise(const Config& config, const Problem& problem, const target::Target& target) {
  Config c = config;
  if (target.wave_size != 32 || !target.has_v_dot2_f32_bf16)
    return fail_field(ErrorCode::unsupported, "target", std::string(target.name),
                      "one with waves of 32 lanes and v_dot2_f32_bf16, gfx11 or gfx12");
  if (c.bm < 1 || c.bm > max_m) return bad("bm", c.bm, fmt::format("between 1 and {}", max_m));
  if (c.bn < 1 || c.bn > 8 || !std::has_single_bit(c.bn)) return bad("bn", c.bn, "1, 2, 4 or 8");
  if (c.waves < 1 || c.waves > 32 || !std::has_single_bit(c.waves))
    return bad("waves", c.waves, "1, 2, 4, 8, 16 or 32");
  if (c.waves * target.wave_size > target.max_workgroup_size)
    return bad("waves", c.waves, fmt::format("at most {}", target.max_workgroup_size / target.wave_size));
  if (!c.techniques.pipelined_loads) c.pipeline_depth = 0;
  if (c.pipeline_depth > 2) return bad("pipeline_depth", c.pipeline_depth, "0, 1 or 2");
  if (c.unroll < 1 || c.unroll > 8) return bad("unroll", c.unroll, "between 1 and 8");
  if (c.waves_per_simd > target.max_waves_per_simd)
    return bad("waves_per_simd", c.waves_per_simd, fmt::format("at most {}", target.max_waves_per_simd));
  if (!c.techniques.magic_dequant || !c.techniques.exact_descriptors)
    return bad("techniques", c.techniques.magic_dequant ? "without descriptors" : "without dequant",
               "with both: a skinny kernel has no other way");
  c.bk = widest_stretch * c.waves;
  c.waves_m = 1;
  c.waves_n = c.waves;
  c.lds_buffers = 1;
  c.wgp_mode = false;
  if (auto ok = check_extents(c, problem); !ok) return std::unexpected(ok.error());
  return c;
}

std::string canonical(const Config& c) {
  const Techniques& t = c.techniques;
  return fmt::format("skinny {}x{} waves {} depth {} unroll {} occupancy {} techniques {:d}{:d}{:d}{:d}{:d}",
                     c.bm, c.bn, c.waves, c.pipeline_depth, c.unroll, c.waves_per_simd, t.magic_dequant,
                     t.pipelined_loads, t.exact_descriptors, t.bank_assignment, t.scalar_offsets);
}

Result<Config> parse(std::string_view canonical_text) {
  const std::string text(canonical_text);
  Config c;
  c.path = Path::skinny;
  std::array<unsigned, 5> on{};
  // What was read says whether all of it was: the text is made again below.
  // NOLINTNEXTLINE(bugprone-unchecked-string-to-number-conversion)
  const int fields = std::sscanf(
      text.c_str(), "skinny %2ux%2u waves %2u depth %1u unroll %1u occupancy %2u techniques %1u%1u%1u%1u%1u",
      &c.bm, &c.bn, &c.waves, &c.pipeline_depth, &c.unroll, &c.waves_per_simd, on.data(), &on[1], &on[2],
      &on[3], &on[4]);
  c.techniques = {on[0] != 0, on[1] != 0, on[2] != 0, on[3] != 0, on[4] != 0};
  c.bk = widest_stretch * c.waves;
  c.waves_m = 1;
  c.waves_n = c.waves;
  c.lds_buffers = 1;
  c.wgp_mode = false;
  if (fields != 11 || skinny::canonical(c) != text)
    return bad(
        "config", text,
        "the canonical text of a Config: skinny 1x2 waves 1 depth 1 unroll 1 occupancy 0 techniques 11111");
  return c;
}

}  // namespace wavejit::templates::skinny
