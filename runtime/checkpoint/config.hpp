// SPDX-License-Identifier: MIT
// What a checkpoint's configuration says of its quantisation: config.json's quantization_config, else
// quantize_config.json (older GPTQ and AWQ writers), else nothing. Fields: GPTQ bits, group_size, sym,
// desc_act, checkpoint_format; AWQ bits | w_bit, group_size | q_group_size, zero_point; compressed-tensors
// config_groups.*.weights.{num_bits, group_size, symmetric, strategy, actorder}.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "generator/support/error.hpp"

namespace wavejit::checkpoint {

/// Unset = not said.
struct QuantConfig {
  std::string file;    ///< that says it; empty = there is no configuration
  std::string method;  ///< "awq", "gptq", "compressed-tensors"
  std::string checkpoint_format;
  std::optional<std::int64_t> bits, group;  ///< group -1 = all of K
  std::optional<bool> symmetric, act_order;
};

/// Errors: io for a file that is no JSON, larger than 16 MiB or whose fields have other types than these;
/// unsupported for several config_groups that disagree.
Result<QuantConfig> read_config(const std::filesystem::path& folder);

/// What config.json, or its text_config, says of how many of the weights a token reads. Fields:
/// num_experts | num_local_experts | n_routed_experts, num_experts_per_tok, tie_word_embeddings.
struct ModelConfig {
  std::optional<std::int64_t> experts, experts_used;
  std::optional<bool> tied;  ///< the embedding is the output matrix, too
};

/// Nothing is set where there is no config.json. Errors: as read_config().
Result<ModelConfig> read_model_config(const std::filesystem::path& folder);

}  // namespace wavejit::checkpoint
