// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "templates/cdna/decode/decode.hpp"
#include "templates/cdna/family.hpp"
#include "templates/family.hpp"
#include "templates/skinny/skinny.hpp"

namespace wavejit::templates {
namespace {

constexpr std::array<std::string_view, 5> names{"dequant", "pipeline", "descriptors", "banks",
                                                "scalar-offsets"};

std::unexpected<Error> bad(std::string field, std::string given, std::string allowed) {
  return fail_field(ErrorCode::invalid_config, std::move(field), std::move(given), std::move(allowed));
}

}  // namespace

std::string_view name(Path path) {
  switch (path) {
    case Path::tile:
      return "tile";
    case Path::gemv:
      return "gemv";
    case Path::skinny:
      return "skinny";
    case Path::mfma:
      return "mfma";
    case Path::decode:
      return "decode";
  }
  return "";
}

std::span<const std::string_view> technique_names() { return names; }

bool* technique(Techniques& t, std::string_view name) {
  const std::array<bool*, 5> flags{&t.magic_dequant, &t.pipelined_loads, &t.exact_descriptors,
                                   &t.bank_assignment, &t.scalar_offsets};
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return flags[i];
  return nullptr;
}

Result<Config> normalise(const Config& config, const Problem& problem, const target::Target& target) {
  return family(problem.op).normalise_config(config, problem, target);
}

namespace {

std::string canonical_tile(const Config& c) {
  const Techniques& t = c.techniques;
  return fmt::format(
      "tile {}x{}x{} waves {}x{} depth {} unroll {} lds {} occupancy {} {} techniques {:d}{:d}{:d}{:d}{:d}",
      c.bm, c.bn, c.bk, c.waves_m, c.waves_n, c.pipeline_depth, c.unroll, c.lds_buffers, c.waves_per_simd,
      c.wgp_mode ? "wgp" : "cu", t.magic_dequant, t.pipelined_loads, t.exact_descriptors, t.bank_assignment,
      t.scalar_offsets);
}

std::string canonical_gemv(const Config& c) {
  return fmt::format("gemv tokens {} rows {} depth {} occupancy {}", c.tokens, c.rows, c.pipeline_depth,
                     c.waves_per_simd);
}

bool parse_tile(const std::string& text, Config& c) {
  std::array<unsigned, 5> on{};
  std::array<char, 4> mode{};
  const int fields =
      std::sscanf(text.c_str(),
                  "tile %4ux%4ux%4u waves %4ux%4u depth %4u unroll %4u lds %4u occupancy %4u %3[a-z] "
                  "techniques %1u%1u%1u%1u%1u",
                  &c.bm, &c.bn, &c.bk, &c.waves_m, &c.waves_n, &c.pipeline_depth, &c.unroll, &c.lds_buffers,
                  &c.waves_per_simd, mode.data(), on.data(), &on[1], &on[2], &on[3], &on[4]);
  c.waves = c.waves_m * c.waves_n;
  c.wgp_mode = mode[0] == 'w';
  Techniques& t = c.techniques;
  t = {on[0] != 0, on[1] != 0, on[2] != 0, on[3] != 0, on[4] != 0};
  return fields == 15;
}

bool parse_gemv(const std::string& text, Config& c) {
  c.path = Path::gemv;
  c.wgp_mode = false;
  return std::sscanf(text.c_str(), "gemv tokens %4u rows %4u depth %4u occupancy %4u", &c.tokens, &c.rows,
                     &c.pipeline_depth, &c.waves_per_simd) == 4;
}

}  // namespace

std::string canonical(const Config& c) {
  switch (c.path) {
    case Path::skinny:
      return skinny::canonical(c);
    case Path::gemv:
      return canonical_gemv(c);
    case Path::mfma:
      return cdna::config_text(c);
    case Path::decode:
      return cdna::decode::canonical(c);
    case Path::tile:
      break;
  }
  return canonical_tile(c);
}

Result<Config> parse_config(std::string_view canonical_text) {
  if (canonical_text.starts_with("skinny ")) return skinny::parse(canonical_text);
  if (canonical_text.starts_with("decode ")) return cdna::decode::parse(canonical_text);
  const std::string text(canonical_text);
  if (text.starts_with("mfma ")) return cdna::parse_config(text);
  Config c;
  const bool parsed = text.starts_with("gemv ") ? parse_gemv(text, c) : parse_tile(text, c);
  // What was read says whether all of it was: spelling, order and end in one comparison.
  if (!parsed || canonical(c) != text)
    return bad("config", text, "the canonical text of a Config: " + canonical(Config{}));
  return c;
}

}  // namespace wavejit::templates
