// SPDX-License-Identifier: MIT
// Public language models by their published dimensions, and the linear layers that follow from them. What
// sweeps, choices and tests ask about real shapes comes from here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace wavejit::harness {

/// The fields of a model's published configuration (config.json) that make its linear layers. 0 = has none.
struct PublicModel {
  std::string_view name;  ///< of the repository on Hugging Face
  std::int64_t hidden = 0, intermediate = 0;
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t vocabulary = 0;
  bool gated = true;                                    ///< the MLP has a gate beside `up`
  std::int64_t experts = 0, expert_intermediate = 0;    ///< of one routed expert
  std::int64_t shared_intermediate = 0;                 ///< of all shared experts together
  std::int64_t latent = 0, latent_rope = 0, v_dim = 0;  ///< latent attention: kv_lora_rank, rope and v
};

/// 0.3 to 235 B parameters; models.cpp says where the numbers are from.
std::span<const PublicModel> public_models();

/// One linear layer: output[M, n] = input[M, k] x weights[n, k]^T.
struct Layer {
  std::string_view role;  ///< qkv, q, kv, o, gate_up, gate, down, head, expert_gate_up, …
  std::int64_t n = 0, k = 0;
  std::int64_t experts = 0;  ///< that one launch computes; 0: not an expert
  friend auto operator<=>(const Layer&, const Layer&) = default;
};

/// The layers as one of `ways` GPUs holds them. N of qkv, gate_up and head is cut, and K of o and down; heads
/// of keys that are fewer than GPUs are copied. What does not divide is not cut, and absent.
std::vector<Layer> layers(const PublicModel& model, std::int64_t ways = 1);

/// The different (n, k, experts) of all models and ways, in order, each with the role that met it first.
std::vector<Layer> distinct_layers(std::span<const std::int64_t> ways);

}  // namespace wavejit::harness
