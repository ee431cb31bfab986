// SPDX-License-Identifier: MIT
// The flags that say how a problem is computed: single switches that change what selection chooses, or a
// whole Config as text. Nothing here knows what a path has: its canonical text says it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/wavejit/options.hpp"

namespace wavejit::tools {
namespace {

using templates::Config;

std::unexpected<Error> bad(std::string field, std::string given, std::string allowed) {
  return fail_field(ErrorCode::invalid_config, std::move(field), std::move(given), std::move(allowed));
}

/// One switch: how it is typed, and a change of what it sets.
struct Switch {
  std::string flag, field;
  bool given = false;
  void (*change)(Config& config) = nullptr;
};

std::vector<Switch> switches(const ProblemOptions& o) {
  return {
      {"--tile", "tile", !o.tile.empty(), [](Config& c) { c.bm += 16; }},
      {"--wave-rows", "rows", o.rows.has_value(), [](Config& c) { c.rows += 1; }},
      {"--waves", "waves", o.waves.has_value(),
       [](Config& c) {
         c.waves += 1;
         c.waves_m += 1;
       }},
      {"--waves-m", "waves_m", o.waves_m.has_value(), [](Config& c) { c.waves_m += 1; }},
      {"--waves-n", "waves_n", o.waves_n.has_value(), [](Config& c) { c.waves_n += 1; }},
      {"--depth", "pipeline_depth", o.depth.has_value(), [](Config& c) { c.pipeline_depth += 1; }},
      {"--unroll", "unroll", o.unroll.has_value(), [](Config& c) { c.unroll += 1; }},
      {"--lds-buffers", "lds_buffers", o.lds_buffers.has_value(), [](Config& c) { c.lds_buffers += 1; }},
      {"--waves-per-simd", "waves_per_simd", o.waves_per_simd.has_value(),
       [](Config& c) { c.waves_per_simd += 1; }},
      {"--split-k", "split_k", o.split_k.has_value(), [](Config& c) { c.split_k += 1; }},
      {"--cu-mode", "cu_mode", o.cu_mode, [](Config& c) { c.wgp_mode = !c.wgp_mode; }},
      // Families say which techniques theirs are.
      {"--without", "without", !o.without.empty(), nullptr},
  };
}

/// A switch that the text of a Config does not show would be silently of no effect.
Result<void> check_effect(const ProblemOptions& o, const Config& config) {
  const std::string text = templates::canonical(config);
  for (const Switch& s : switches(o)) {
    if (!s.given || s.change == nullptr) continue;
    Config other = config;
    s.change(other);
    if (templates::canonical(other) == text)
      return bad(s.field, "given by " + s.flag,
                 fmt::format("left out: it says nothing of a Config of path {}, such as {}",
                             templates::name(config.path), text));
  }
  return {};
}

/// The path of Configs that --tile describes.
templates::Path path_of_tiles(const templates::Problem& problem, const target::Target& target) {
  Config c;
  c.path = templates::Path::mfma;
  const auto fits = templates::normalise(c, problem, target);
  // What else is wrong with this one is not the question.
  return !fits && fits.error().field == "path" ? templates::Path::tile : templates::Path::mfma;
}

/// With a tile given, the rest starts from a Config's own defaults: what selection would choose
/// beside another tile need not suit this one.
Result<Config> start(const ProblemOptions& o, const templates::Problem& problem, const target::Target& target,
                     std::int64_t m) {
  if (o.tile.empty()) return templates::select_config(problem, target, m);
  if (problem.op == templates::Operation::kquant)
    return bad("config", "with --tile",
               "described by --wave-rows, --depth and --waves-per-simd: kquant computes no tiles");
  Config c;
  c.path = path_of_tiles(problem, target);
  c.bm = o.tile[0];
  c.bn = o.tile[1];
  c.bk = o.tile[2];
  return c;
}

Result<void> apply(const ProblemOptions& o, Config& c) {
  if (o.waves) {
    c.waves = *o.waves;
    c.waves_m = c.waves_n = 0;
  }
  if (o.waves_m || o.waves_n) {
    c.waves_m = o.waves_m.value_or(0);
    c.waves_n = o.waves_n.value_or(0);
  }
  c.rows = o.rows.value_or(c.rows);
  c.pipeline_depth = o.depth.value_or(c.pipeline_depth);
  c.unroll = o.unroll.value_or(c.unroll);
  c.lds_buffers = o.lds_buffers.value_or(c.lds_buffers);
  c.waves_per_simd = o.waves_per_simd.value_or(c.waves_per_simd);
  c.split_k = o.split_k.value_or(c.split_k);
  if (o.cu_mode) c.wgp_mode = false;
  for (const std::string& name : o.without) {
    bool* technique = templates::technique(c.techniques, name);
    if (technique == nullptr)
      return bad("without", name, fmt::format("one of {}", fmt::join(templates::technique_names(), ", ")));
    *technique = false;
  }
  return {};
}

/// A whole Config as text. The error says which text, of what problem, and what does not fit.
Result<Config> from_text(const ProblemOptions& o, const templates::Problem& problem,
                         const target::Target& target) {
  for (const Switch& s : switches(o))
    if (s.given)
      return bad("config", "given with " + s.flag, "given alone: its text says all that switches say");
  const auto parsed = templates::parse_config(*o.config);
  if (!parsed) return parsed;
  const auto unfit = [&](ErrorCode code, const std::string& why) {
    return fail_field(code, "config", *o.config,
                      fmt::format("one for {} on {}: {}", templates::canonical(problem), target.name, why));
  };
  auto normal = templates::normalise(*parsed, problem, target);
  if (!normal) {
    const Error& e = normal.error();
    if (e.field != "path") return unfit(e.code, e.message);
    return unfit(e.code,
                 fmt::format("its path is {}, but must be {}", templates::name(parsed->path), e.allowed));
  }
  if (normal->path != parsed->path)
    return unfit(ErrorCode::invalid_config,
                 fmt::format("its path is {}, but must be {}", templates::name(parsed->path),
                             templates::name(normal->path)));
  return normal;
}

}  // namespace

void add_config_options(CLI::App& app, ProblemOptions& o) {
  const std::string group = config_group;
  app.add_option("--config", o.config,
                 "The whole Config as a kernel's header, --json and --explain-choice print it, of any path; "
                 "in place of the switches below")
      ->group(group);
  app.add_option("--tile", o.tile, "Workgroup tile BM,BN,BK")->delimiter(',')->expected(3)->group(group);
  app.add_option("--wave-rows", o.rows, "Of kquant: rows of weights per wave, 1, 2 or 4")->group(group);
  app.add_option("--waves", o.waves, "Waves per workgroup")->group(group);
  app.add_option("--waves-m", o.waves_m, "Waves along M")->group(group);
  app.add_option("--waves-n", o.waves_n, "Waves along N")->group(group);
  app.add_option("--depth", o.depth, "Iterations that global loads run ahead: 0, 1, 2")->group(group);
  app.add_option("--unroll", o.unroll, "Steps of BK per loop body")->group(group);
  app.add_option("--lds-buffers", o.lds_buffers, "LDS copies of the tile: 1, 2")->group(group);
  app.add_option("--waves-per-simd", o.waves_per_simd, "Occupancy that the register budget must allow")
      ->group(group);
  app.add_option("--split-k", o.split_k,
                 "Of int4_gemm: slices of K, 1 to 16, whose sums a second kernel adds")
      ->group(group);
  app.add_flag("--cu-mode", o.cu_mode, "On RDNA: keep a workgroup on one CU instead of a WGP")->group(group);
  app.add_option("--without", o.without,
                 fmt::format("Switch a technique off (repeatable): {}",
                             fmt::join(templates::technique_names(), ", ")))
      ->allow_extra_args(false)
      ->group(group);
}

Result<Config> resolve_config(const ProblemOptions& o, const templates::Problem& problem,
                              const target::Target& target, std::int64_t m) {
  if (o.config) return from_text(o, problem, target);
  auto config = start(o, problem, target, m);
  if (!config) return config;
  if (auto ok = check_effect(o, *config); !ok) return std::unexpected(ok.error());
  if (auto ok = apply(o, *config); !ok) return std::unexpected(ok.error());
  return templates::normalise(*config, problem, target);
}

std::string brief(const templates::Config& config) {
  std::string text = templates::canonical(config) + " ";
  for (const std::string_view part : {" unroll 1 ", " occupancy 0 ", " techniques 11111 "})
    if (const auto at = text.find(part); at != std::string::npos) text.replace(at, part.size(), " ");
  text.pop_back();
  return text;
}

}  // namespace wavejit::tools
