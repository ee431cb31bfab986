// SPDX-License-Identifier: MIT
// What decoding one token reads of a model's weights: each tensor's bytes, and the product of one row of
// activations that reads them, if it is one. Budgets come from headers alone (budget_gguf,
// budget_checkpoint), budget_price says which kernel serves a product and what it costs, budget_report shows
// it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "runtime/gguf/file.hpp"
#include "templates/kquant/kquant.hpp"
#include "templates/problem.hpp"

namespace wavejit::tools {

/// Why no kernel of ours reads a tensor: a clause.
struct NoKernel {
  std::string because;
};
using Served = std::variant<NoKernel, templates::kquant::Problem, templates::Problem>;

struct WeightRow {
  std::string name;                 ///< of the tensor; of a checkpoint's quantised layer, the layer
  std::string type;                 ///< "q4_k", "BF16", "awq g128"
  std::vector<std::int64_t> shape;  ///< as the file has it; empty where no layer could be read
  std::uint64_t stored_bytes = 0;
  double bytes = 0;     ///< read per token: of experts, those that are used, on average
  double launches = 1;  ///< of the kernel per token
  Served served;
};

struct Budget {
  std::string source, format, architecture;
  std::vector<WeightRow> rows;
  std::vector<std::string> notes;  ///< whole sentences: what the header left open
};

/// One row of token_embd is read, all of it where there is no output.weight; of *_exps tensors
/// expert_used_count; nothing of the layers that predict further tokens (nextn_predict_layers).
Budget budget_of(const gguf::File& file);

/// The same of a folder of safetensors with W4A16 layers; experts and tied embeddings by config.json. A layer
/// that checkpoint::read_layer refuses has its message for a reason. Errors: those of
/// checkpoint::read_inventory.
Result<Budget> budget_of(const std::filesystem::path& folder);

}  // namespace wavejit::tools
