// SPDX-License-Identifier: MIT
// Layers of public models. Expected shapes are those of the tensors in the models' safetensors files, as
// their repositories list them (weights are [N, K]), and by hand where a layer is cut.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <set>
#include <string_view>

#include "tests/harness/models.hpp"

namespace wavejit::harness {
namespace {

std::vector<Layer> layers_of(std::string_view name, std::int64_t ways = 1) {
  const auto model = std::ranges::find(public_models(), name, &PublicModel::name);
  REQUIRE(model != public_models().end());
  return layers(*model, ways);
}

}  // namespace

TEST_CASE("layers of models are those of their files", "[harness][models]") {
  // q 3584, k and v 512 each; gate and up 18944; a head of 152064 rows.
  CHECK(layers_of("Qwen/Qwen2.5-7B") == std::vector<Layer>{{"qkv", 4608, 3584, 0},
                                                           {"q", 3584, 3584, 0},
                                                           {"kv", 512, 3584, 0},
                                                           {"o", 3584, 3584, 0},
                                                           {"gate_up", 37888, 3584, 0},
                                                           {"gate", 18944, 3584, 0},
                                                           {"down", 3584, 18944, 0},
                                                           {"head", 152064, 3584, 0}});
  // query_key_value [4672, 4544], dense_h_to_4h [18176, 4544]; no gate.
  CHECK(layers_of("tiiuae/falcon-7b") == std::vector<Layer>{{"qkv", 4672, 4544, 0},
                                                            {"q", 4544, 4544, 0},
                                                            {"kv", 64, 4544, 0},
                                                            {"o", 4544, 4544, 0},
                                                            {"up", 18176, 4544, 0},
                                                            {"down", 4544, 18176, 0},
                                                            {"head", 65024, 4544, 0}});
  // q_proj [3072, 2048], kv_a_proj_with_mqa [576, 2048], kv_b_proj [4096, 512], o_proj [2048, 2048]; a first
  // layer of 10944, 64 experts of 1408, two shared ones as one of 2816.
  const auto latent = layers_of("deepseek-ai/DeepSeek-V2-Lite");
  for (const Layer& l :
       {Layer{"q", 3072, 2048, 0}, Layer{"kv_latent", 576, 2048, 0}, Layer{"kv", 4096, 512, 0},
        Layer{"o", 2048, 2048, 0}, Layer{"down", 2048, 10944, 0}, Layer{"down", 2048, 2816, 0},
        Layer{"expert_gate_up", 2816, 2048, 64}, Layer{"expert_down", 2048, 1408, 64}})
    CHECK(std::ranges::find(latent, l) != latent.end());
}

TEST_CASE("N of the first layers and K of the second are cut among GPUs", "[harness][models]") {
  // 28 heads among 4: 7 of q and one each of k and v, of 128.
  CHECK(layers_of("Qwen/Qwen2.5-7B", 4) == std::vector<Layer>{{"qkv", 1152, 3584, 0},
                                                              {"q", 896, 3584, 0},
                                                              {"kv", 128, 3584, 0},
                                                              {"o", 3584, 896, 0},
                                                              {"gate_up", 9472, 3584, 0},
                                                              {"gate", 4736, 3584, 0},
                                                              {"down", 3584, 4736, 0},
                                                              {"head", 38016, 3584, 0}});
  // Two heads of keys for four GPUs: each has one of them.
  const auto copied = layers_of("Qwen/Qwen2.5-3B", 4);
  CHECK(std::ranges::find(copied, Layer{"qkv", 4 * 128 + 2 * 128, 2048, 0}) != copied.end());
  // 71 heads cannot be shared; the MLP can. 49155 rows of a head do not halve.
  const auto odd = layers_of("tiiuae/falcon-7b", 2);
  CHECK(odd.front() == Layer{"up", 9088, 4544, 0});
  const auto granite = layers_of("ibm-granite/granite-3.1-2b-instruct", 2);
  CHECK(std::ranges::find(granite, "head", &Layer::role) == granite.end());
}

TEST_CASE("distinct layers are all layers once", "[harness][models]") {
  constexpr std::array<std::int64_t, 3> ways{1, 2, 4};
  const auto distinct = distinct_layers(ways);
  std::set<std::array<std::int64_t, 3>> expected, given;
  for (const PublicModel& m : public_models())
    for (const std::int64_t w : ways)
      for (const Layer& l : layers(m, w)) expected.insert({l.n, l.k, l.experts});
  for (const Layer& l : distinct) CHECK(given.insert({l.n, l.k, l.experts}).second);
  CHECK(given == expected);
  std::set<std::string_view> names;
  for (const PublicModel& m : public_models()) names.insert(m.name);
  CHECK(names.size() == public_models().size());
  CHECK(names.size() >= 40);
}

}  // namespace wavejit::harness
