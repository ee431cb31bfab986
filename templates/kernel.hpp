// SPDX-License-Identifier: MIT
// generate(): Problem + Config -> kernel IR -> passes -> `.s` -> code object. The one door through
// which tools, runtime and tests get kernels.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "generator/ir/kernel.hpp"
#include "generator/passes/passes.hpp"
#include "templates/problem.hpp"

namespace wavejit::templates {

/// One kernel argument as a caller must fill it, in kernarg order.
struct Argument {
  std::string name;  ///< activations, weights, scales, zero_points, bias, output, workspace, m
  ir::ArgKind kind = ir::ArgKind::buffer;
  std::uint32_t offset = 0, size = 8;  ///< in the kernarg segment, bytes
  ir::Access access = ir::Access::read;
  // Buffers, for the M asked about:
  DataType dtype = DataType::bf16;
  std::vector<std::int64_t> shape;    ///< elements
  std::vector<std::int64_t> strides;  ///< bytes, one per dimension
  std::int64_t bytes = 0;             ///< first to last byte that belongs to the tensor
  std::uint32_t alignment = 1;        ///< that the base address must have, bytes
  // Scalars:
  std::int64_t value = 0;
};

/// Kernels that one launch of a Config runs, one after another on one stream: stages 0, 1, … The workspace
/// (a buffer argument of that name, its size the largest that any stage states) carries what passes between
/// them.
unsigned stages(const Problem& problem, const Config& config);
/// The one of them that multiplies.
unsigned product_stage(const Problem& problem, const Config& config);

/// How a grid follows M: workgroups along `axis` = ceil(M / rows) * factor + more, at most M * per_row.
struct RowGrid {
  unsigned axis = 0;
  std::int64_t rows = 0;  ///< 0: the grid is the same for every M
  std::int64_t factor = 1;
  std::int64_t more = 0;
  std::int64_t per_row = 0;  ///< 0: no such bound

  [[nodiscard]] std::int64_t workgroups(std::int64_t m) const {
    const std::int64_t all = (m + rows - 1) / rows * factor + more;
    return per_row == 0 || all < m * per_row ? all : m * per_row;
  }
};

/// How to launch one stage for one M.
struct Launch {
  std::array<std::uint32_t, 3> grid{1, 1, 1};   ///< workgroups; one is 0: nothing to launch
  RowGrid row_grid;                             ///< what another M would change of `grid`
  std::array<std::uint32_t, 3> block{1, 1, 1};  ///< work-items
  std::uint32_t dynamic_lds_bytes = 0;
  std::vector<Argument> arguments;
  std::uint32_t kernarg_size = 0;
};

struct Times {
  double generate_ms = 0, assemble_ms = 0, link_ms = 0;
};

struct GeneratedKernel {
  std::string name;
  const target::Target* target = nullptr;
  Problem problem;  ///< normalised
  Config config;    ///< normalised
  unsigned stage = 0;
  ir::Kernel ir;                          ///< after the last pass
  std::string assembly;                   ///< the `.s`
  std::vector<std::uint8_t> code_object;  ///< the `.hsaco`; empty when only text was asked for
  Times times;
};

struct GenerateOptions {
  bool assemble = true;         ///< also make the code object
  unsigned stage = 0;           ///< of stages(problem, config)
  passes::Observer observer{};  ///< called after each pass
  bool verify = true;           ///< verify the IR after each pass; an observer does so anyway
};

Result<GeneratedKernel> generate(const Problem& problem, const Config& config, const target::Target& target,
                                 const GenerateOptions& options = {});

/// Grid, block and arguments for `m` rows. Errors: m < 1, or a grid that hardware cannot launch
/// (grid * block must stay below 2^32 in x, grid y and z at most 65535).
Result<Launch> launch(const Problem& problem, const Config& config, const target::Target& target,
                      std::int64_t m, unsigned stage = 0);

/// Checks device addresses (one per buffer argument, in order) against `launch`: null, alignment.
Result<void> check_addresses(const Launch& launch, std::span<const std::uint64_t> addresses);

}  // namespace wavejit::templates
