// SPDX-License-Identifier: MIT
// What a checkpoint's configuration says of its quantisation, layer by layer. It is found as
// quantization_config or compression_config in config.json, at the top or in a nested configuration
// (text_config, thinker_config.text_config, ...), else as a file of its own: quantize_config.json (GPTQ),
// quantization_config.json (AutoRound), quant_config.json (AWQ), hf_quant_config.json (ModelOpt).
//
// Read by quant_method, lower case, '_' and '-' being one:
//   gptq                bits, group_size, sym, desc_act, checkpoint_format | format; dynamic (the first
//   pattern
//                       that matches counts, "-:" leaves a layer out), lm_head, modules_in_block_to_quantize
//   awq                 bits | w_bit, group_size | q_group_size, zero_point, version; modules_to_not_convert
//   auto-round          bits, group_size, sym, data_type, packing_format | backend; extra_config by name or
//                       pattern
//   compressed-tensors  config_groups: the group whose targets have the layer's name, else a pattern of it,
//   else
//                       its class; weights.{num_bits, type, group_size, symmetric, strategy, actorder},
//                       format; ignore
// Every other method is one that nothing here reads, and its layers are refused by its name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "generator/support/error.hpp"

namespace wavejit::checkpoint {

/// How tensors are named and laid out; a configuration may leave it open.
enum class Family : std::uint8_t { open, awq, gptq, compressed_tensors, row_major, mslk };

/// What is said of one layer. Unset = not said.
struct Said {
  Family family = Family::open;
  std::string where;  ///< file and place, for errors
  std::optional<bool> gptq_v2;
  std::optional<std::int64_t> bits, group;  ///< group -1 = all of K
  std::optional<bool> symmetric, act_order;
  /// Why the layer is not served, if so.
  std::optional<Error> refusal;
  /// The refusal falls where a caller names the format: the configuration's own is not known here, or says
  /// that the layer was left as it was.
  bool format_may_be_named = false;
};

class Patterns;

struct QuantConfig {
  std::string file;    ///< that says it; empty = there is no configuration
  std::string method;  ///< as written
  std::shared_ptr<const nlohmann::ordered_json> json;
  std::shared_ptr<Patterns> patterns;

  /// Errors: io for fields of other types than these, unsupported for a pattern that cannot be read.
  [[nodiscard]] Result<Said> of(std::string_view layer) const;
};

/// Errors: io for a file that is no JSON object, or larger than 16 MiB, or nested deeper than JSON may be.
Result<QuantConfig> read_config(const std::filesystem::path& folder);

/// What config.json, or a nested language configuration, says of how many of the weights a token reads.
/// Fields: num_experts | num_local_experts | n_routed_experts, num_experts_per_tok, tie_word_embeddings.
struct ModelConfig {
  std::optional<std::int64_t> experts, experts_used;
  std::optional<bool> tied;  ///< the embedding is the output matrix, too
};

/// Nothing is set where there is no config.json. Errors: as read_config().
Result<ModelConfig> read_model_config(const std::filesystem::path& folder);

}  // namespace wavejit::checkpoint
