// SPDX-License-Identifier: MIT
// What `wavejit sweep` tries: the layers of public models, each with options such that every two values of
// two options meet, on every target that serves the operation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "generator/target/target.hpp"
#include "templates/problem.hpp"
#include "tests/harness/models.hpp"

namespace wavejit::tools {

/// One problem as it is asked for, on several targets.
struct Trial {
  templates::Problem problem;
  std::vector<const target::Target*> targets;
};

/// What one shard does as a whole: trials of one operation and layer, which have kernels in common.
struct Cell {
  std::vector<Trial> trials;
};

struct Scope {
  std::vector<templates::Operation> operations;
  std::vector<const target::Target*> targets;  ///< those that do not serve an operation are left out
  std::vector<std::int64_t> ways{1, 2, 4};     ///< GPUs that share a layer
  bool all_options = true;                     ///< false: each layer once, with a usual group
};

struct Grid {
  std::size_t layers = 0;   ///< different N and K
  std::size_t trials = 0;   ///< different problems by target
  std::size_t illegal = 0;  ///< layer, group (or type of GGUF weights) and target left out by is_legal()
  std::vector<Cell> cells;  ///< in an order that looks like chance and is always the same
};

/// Whether documented rules admit groups of `group` (-1: one of all K), or for kquant weights of
/// `problem.weight_type`. Nothing is asked of the library: what it refuses wrongly must fail the sweep.
/// W4A16: the group is a multiple of 32 that divides K (docs/kernels/w4a16.md); on CDNA it is 32 or a
/// multiple of 64, and K a multiple of 64; int4 products: a multiple of 64 (docs/kernels/cdna.md); GGUF: K is
/// a whole number of blocks, of 32 for Q8_0 and Q4_0, else of 256 (ggml's format).
bool is_legal(const templates::Problem& problem, const target::Target& target);

/// Whether the target serves the operation at all: asked of the library with a plain problem.
bool serves(const target::Target& target, templates::Operation op);

Grid make_grid(const Scope& scope);

/// Every `count`-th cell from the `index`-th on, index from 1 to count: together the shards are the grid.
std::vector<const Cell*> shard(const Grid& grid, std::size_t index, std::size_t count);

}  // namespace wavejit::tools
