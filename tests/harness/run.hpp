// SPDX-License-Identifier: MIT
// Runs a kernel on the simulator with every check on and compares its output with the oracle. For
// tests of kernel families, for tools, and for people who embed wavejit and edit its kernels.
//
//   CHECK(harness::passes({.problem = {.n = 96, .k = 256, .group = 32}, .m = 17}));   (catch.hpp)
//
// All stages of a Config run, one after another on one memory (tensors.hpp).
// A run is right when the simulator found no fault in any stage, every element of the chosen tiles was
// stored, no other byte of the output was, and the output passes the oracle's bars.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/device/sim/simulator.hpp"
#include "templates/kernel.hpp"
#include "tests/harness/card.hpp"
#include "tests/harness/tensors.hpp"
#include "tests/harness/tiles.hpp"
#include "tests/oracle/compare.hpp"
#include "tests/oracle/problem.hpp"

namespace wavejit::harness {

/// Another description of the same product for the oracle: say, a checkpoint's own tensors where the kernel
/// reads repacked ones. Zero points are always asked for.
struct Reference {
  oracle::Values values;
  std::int64_t group = 0;  ///< of values.scales and values.zero_points
};

struct Request {
  templates::Problem problem;
  std::optional<templates::Config> config;  ///< unset = templates::select_config
  std::int64_t m = 1;
  std::vector<std::int64_t> group_rows;  ///< int4_grouped: rows of each group, m in all at most
  std::string target = "gfx1151";
  std::uint64_t seed = 1;
  std::optional<oracle::Values> values;            ///< unset = oracle::random_values(seed)
  std::size_t sample = 0;                          ///< workgroups to run; 0 = all
  std::vector<TileIndex> tiles;                    ///< these workgroups instead, when not empty
  bool compare = true;                             ///< false = run and check stores, ask the oracle nothing
  std::map<std::string, std::uint32_t> alignment;  ///< of an argument's address, by name
  std::map<std::string, PackedRows> packed;        ///< tensors that somebody else packed, by name
  std::optional<Reference> reference;              ///< unset = the oracle sees `values`
  sim::Options sim;
};

struct StageReport {
  std::string kernel;
  templates::Launch launch;
  Card card;
  sim::RunReport run;
};

/// What it inherits is of stage 0, and for Configs of one stage all there is.
struct Report : StageReport {
  std::vector<StageReport> later;  ///< stages 1, 2, …
  templates::Problem problem;      ///< normalised
  templates::Config config;        ///< normalised
  std::int64_t m = 0;
  std::vector<Tile> tiles;  ///< that ran
  std::int64_t tiles_in_all = 0;
  std::uint64_t unwritten_bytes = 0;                ///< of the tiles' elements, never stored
  std::uint64_t stray_bytes = 0;                    ///< of the output, stored outside the tiles
  std::optional<oracle::Verdict> verdict;           ///< all tiles merged
  std::vector<std::vector<std::uint16_t>> outputs;  ///< per tile, row-major

  [[nodiscard]] bool ok() const;
  /// Why not ok: the first faults, the stores, the bars; empty when ok.
  [[nodiscard]] std::string reason() const;
  /// Output bits of (row, column); the tile that holds it must have run.
  [[nodiscard]] std::uint16_t at(std::int64_t row, std::int64_t column) const;
};

/// Generates the kernels and runs them. Errors: whatever generate, launch and the simulator refuse, and a
/// choice of tiles for a Config of several stages.
Result<Report> run(const Request& request);

/// Runs this code object in the place of one generated kernel, that of `stage`. Before anything runs its
/// metadata must say the same arguments, kernarg size and workgroup size as the problem's launch:
/// invalid_code_object names what differs.
/// A code object that was assembled from `text` (of a file of that name) has its lines in fault reports.
struct SourceText {
  std::string_view text;
  std::string file;
};
Result<Report> run_object(std::span<const std::uint8_t> code_object, const Request& request,
                          const std::optional<SourceText>& source = {}, unsigned stage = 0);

/// Matrix instructions that one wave needs for one K step of a Config.
unsigned matrix_per_iteration(const templates::Config& config, const target::Target& target);

}  // namespace wavejit::harness
