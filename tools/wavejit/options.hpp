// SPDX-License-Identifier: MIT
// The command-line flags that describe a problem and how to compute it; the same for every command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "templates/problem.hpp"

namespace CLI {
class App;
}

namespace wavejit::tools {

/// What was typed; `resolve` fills in the rest.
struct ProblemOptions {
  std::string shape;
  std::string op = "w4a16", target = "gfx1151";
  // What was not typed is empty: what was is refused where it means nothing, its default, too.
  std::optional<std::string> activation, rounding, weight_type, scale_type;
  std::optional<bool> zero_points, zeros, bias;
  std::optional<std::int64_t> n, k, group, m, batch, groups;
  std::optional<std::int64_t> activation_stride, weight_stride, scale_stride, zero_point_stride,
      output_stride;
  std::optional<std::string> config;  ///< a Config's canonical text, in place of all that follow
  std::vector<unsigned> tile;         ///< BM, BN, BK
  std::optional<unsigned> waves, waves_m, waves_n, depth, unroll, lds_buffers, waves_per_simd, rows, split_k;
  bool cu_mode = false;
  std::vector<std::string> without;
  bool explain_choice = false;  ///< of emit and run
};

/// The groups of flags in the help text.
inline constexpr const char* problem_group = "Problem";
inline constexpr const char* config_group = "Config (what is not given is chosen)";

void add_problem_options(CLI::App& app, ProblemOptions& options);
/// The half of them that describes the Config (config_options.cpp).
void add_config_options(CLI::App& app, ProblemOptions& options);

/// The Config that the flags ask for, normalised: --config's text, or what selection chooses for `m` rows
/// with the single switches changed. Errors: invalid_config for a text that is none or does not fit, and for
/// a switch that the chosen path does not have; those of selection and normalise().
Result<templates::Config> resolve_config(const ProblemOptions& options, const templates::Problem& problem,
                                         const target::Target& target, std::int64_t m);

/// `--shard I/N`: number I of N shares, from 1 on, that together are the whole of `most` things.
struct Shard {
  std::size_t index = 1, count = 1;
};
void add_shard_option(CLI::App& app, std::string& text);
Result<Shard> parse_shard(const std::string& text, std::size_t most);

/// A Config's canonical text without what most have in common: "skinny 1x2 waves 1 depth 1".
std::string brief(const templates::Config& config);

/// A problem, a Config and a number of rows that have been checked against each other.
struct Job {
  const target::Target* target = nullptr;
  templates::Problem problem;  ///< normalised
  templates::Config config;    ///< normalised
  std::int64_t m = 0;
};

/// Refuses a job of another operation. Errors: unsupported.
Result<void> require(const Job& job, templates::Operation op);

/// Errors name the flag's field, what was given and what is allowed.
Result<Job> resolve(const ProblemOptions& options);

/// "gfx1100, gfx1151".
std::string target_names();

}  // namespace wavejit::tools
