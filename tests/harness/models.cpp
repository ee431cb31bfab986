// SPDX-License-Identifier: MIT
// The numbers are those of each model's config.json on Hugging Face. Those of Qwen, Llama, Mixtral, Mistral
// 7B, Gemma, Phi, Falcon 7B and 40B, SmolLM2, TinyLlama, OLMo 2, Open Llama and Salamandra were compared with
// the table of Lightning-AI/litgpt (litgpt/config.py at 26857050); the others were written down from what is
// published and could not be compared offline. Rows of the head are those of the tensor: padded where the
// model's is.
#include "tests/harness/models.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace wavejit::harness {
namespace {

PublicModel dense(std::string_view name, std::int64_t hidden, std::int64_t intermediate, std::int64_t heads,
                  std::int64_t kv_heads, std::int64_t head_dim, std::int64_t vocabulary) {
  return {.name = name,
          .hidden = hidden,
          .intermediate = intermediate,
          .heads = heads,
          .kv_heads = kv_heads,
          .head_dim = head_dim,
          .vocabulary = vocabulary};
}

/// An MLP of `up` and `down` alone.
PublicModel ungated(PublicModel m) {
  m.gated = false;
  return m;
}

PublicModel with_experts(PublicModel m, std::int64_t experts, std::int64_t intermediate,
                         std::int64_t shared = 0) {
  m.experts = experts;
  m.expert_intermediate = intermediate;
  m.shared_intermediate = shared;
  return m;
}

/// Keys and values from one vector of `latent` numbers, with `rope` more that carry the position.
PublicModel with_latent(PublicModel m, std::int64_t latent, std::int64_t rope, std::int64_t v_dim) {
  m.latent = latent;
  m.latent_rope = rope;
  m.v_dim = v_dim;
  return m;
}

const auto models = std::to_array<PublicModel>({
    //    name                              hidden  inner  heads kv  dim  vocabulary
    dense("Qwen/Qwen2.5-0.5B", 896, 4864, 14, 2, 64, 151936),
    dense("Qwen/Qwen2.5-1.5B", 1536, 8960, 12, 2, 128, 151936),
    dense("Qwen/Qwen2.5-3B", 2048, 11008, 16, 2, 128, 151936),
    dense("Qwen/Qwen2.5-7B", 3584, 18944, 28, 4, 128, 152064),
    dense("Qwen/Qwen2.5-14B", 5120, 13824, 40, 8, 128, 152064),
    dense("Qwen/Qwen2.5-32B", 5120, 27648, 40, 8, 128, 152064),
    dense("Qwen/Qwen2.5-72B", 8192, 29568, 64, 8, 128, 152064),
    dense("Qwen/Qwen3-0.6B", 1024, 3072, 16, 8, 128, 151936),
    dense("Qwen/Qwen3-1.7B", 2048, 6144, 16, 8, 128, 151936),
    dense("Qwen/Qwen3-4B", 2560, 9728, 32, 8, 128, 151936),
    dense("Qwen/Qwen3-8B", 4096, 12288, 32, 8, 128, 151936),
    dense("Qwen/Qwen3-14B", 5120, 17408, 40, 8, 128, 151936),
    dense("Qwen/Qwen3-32B", 5120, 25600, 64, 8, 128, 151936),
    with_experts(dense("Qwen/Qwen3-30B-A3B", 2048, 0, 32, 4, 128, 151936), 128, 768),
    with_experts(dense("Qwen/Qwen3-235B-A22B", 4096, 0, 64, 4, 128, 151936), 128, 1536),
    dense("meta-llama/Llama-3.2-1B", 2048, 8192, 32, 8, 64, 128256),
    dense("meta-llama/Llama-3.2-3B", 3072, 8192, 24, 8, 128, 128256),
    dense("meta-llama/Llama-3.1-8B", 4096, 14336, 32, 8, 128, 128256),
    dense("meta-llama/Llama-3.1-70B", 8192, 28672, 64, 8, 128, 128256),
    dense("meta-llama/Llama-2-7b-hf", 4096, 11008, 32, 32, 128, 32000),
    dense("meta-llama/Llama-2-13b-hf", 5120, 13824, 40, 40, 128, 32000),
    dense("mistralai/Mistral-7B-v0.3", 4096, 14336, 32, 8, 128, 32768),
    dense("mistralai/Mistral-Nemo-Base-2407", 5120, 14336, 32, 8, 128, 131072),
    dense("mistralai/Mistral-Small-24B-Base-2501", 5120, 32768, 32, 8, 128, 131072),
    with_experts(dense("mistralai/Mixtral-8x7B-v0.1", 4096, 0, 32, 8, 128, 32000), 8, 14336),
    dense("google/gemma-2-2b", 2304, 9216, 8, 4, 256, 256000),
    dense("google/gemma-2-9b", 3584, 14336, 16, 8, 256, 256000),
    dense("google/gemma-2-27b", 4608, 36864, 32, 16, 128, 256000),
    dense("google/gemma-3-1b-it", 1152, 6912, 4, 1, 256, 262144),
    dense("google/gemma-3-4b-it", 2560, 10240, 8, 4, 256, 262208),
    dense("google/gemma-3-12b-it", 3840, 15360, 16, 8, 256, 262208),
    dense("google/gemma-3-27b-it", 5376, 21504, 32, 16, 128, 262208),
    dense("microsoft/Phi-3-mini-4k-instruct", 3072, 8192, 32, 32, 96, 32064),
    dense("microsoft/phi-4", 5120, 17920, 40, 10, 128, 100352),
    dense("microsoft/Phi-4-mini-instruct", 3072, 8192, 24, 8, 128, 200064),
    ungated(dense("tiiuae/falcon-7b", 4544, 18176, 71, 1, 64, 65024)),
    ungated(dense("tiiuae/falcon-40b", 8192, 32768, 128, 8, 64, 65024)),
    with_experts(dense("openai/gpt-oss-20b", 2880, 0, 64, 8, 64, 201088), 32, 2880),
    with_experts(dense("openai/gpt-oss-120b", 2880, 0, 64, 8, 64, 201088), 128, 2880),
    with_latent(
        with_experts(dense("deepseek-ai/DeepSeek-V2-Lite", 2048, 10944, 16, 16, 128, 102400), 64, 1408, 2816),
        512, 64, 128),
    dense("HuggingFaceTB/SmolLM2-360M", 960, 2560, 15, 5, 64, 49152),
    dense("HuggingFaceTB/SmolLM2-1.7B", 2048, 8192, 32, 32, 64, 49152),
    dense("TinyLlama/TinyLlama-1.1B-Chat-v1.0", 2048, 5632, 32, 4, 64, 32000),
    dense("allenai/OLMo-2-1124-7B", 4096, 11008, 32, 32, 128, 100352),
    with_experts(dense("allenai/OLMoE-1B-7B-0924", 2048, 0, 16, 16, 128, 50304), 64, 1024),
    dense("openlm-research/open_llama_3b", 3200, 8640, 32, 32, 100, 32000),
    dense("BSC-LT/salamandra-2b", 2048, 5440, 16, 16, 128, 256000),
    dense("ibm-granite/granite-3.1-2b-instruct", 2048, 8192, 32, 8, 64, 49155),
    dense("ibm-granite/granite-3.1-8b-instruct", 4096, 12800, 32, 8, 128, 49155),
    dense("internlm/internlm2_5-7b", 4096, 14336, 32, 8, 128, 92544),
    dense("internlm/internlm2_5-20b", 6144, 16384, 48, 8, 128, 92544),
    dense("01-ai/Yi-1.5-34B", 7168, 20480, 56, 8, 128, 64000),
    dense("stabilityai/stablelm-2-1_6b", 2048, 5632, 32, 32, 64, 100352),
    dense("stabilityai/stablelm-2-12b", 5120, 13824, 32, 8, 160, 100352),
    dense("THUDM/glm-4-9b", 4096, 13696, 32, 2, 128, 151552),
    dense("CohereForAI/c4ai-command-r-v01", 8192, 22528, 64, 64, 128, 256000),
});

/// Appends a layer unless it is empty or does not divide among the GPUs.
class Layers {
 public:
  explicit Layers(std::int64_t ways) : ways_(ways) {}
  void cut_n(std::string_view role, std::int64_t n, std::int64_t k, std::int64_t experts = 0) {
    if (n > 0 && n % ways_ == 0) all_.push_back({role, n / ways_, k, experts});
  }
  void cut_k(std::string_view role, std::int64_t n, std::int64_t k, std::int64_t experts = 0) {
    if (k > 0 && k % ways_ == 0) all_.push_back({role, n, k / ways_, experts});
  }
  void whole(std::string_view role, std::int64_t n, std::int64_t k) { all_.push_back({role, n, k, 0}); }
  [[nodiscard]] std::vector<Layer> take() { return std::move(all_); }

 private:
  std::int64_t ways_;
  std::vector<Layer> all_;
};

void add_attention(Layers& to, const PublicModel& m, std::int64_t ways) {
  if (m.heads % ways != 0) return;
  if (m.latent != 0) {
    to.cut_n("q", m.heads * (m.head_dim + m.latent_rope), m.hidden);
    to.whole("kv_latent", m.latent + m.latent_rope, m.hidden);
    to.cut_n("kv", m.heads * (m.head_dim + m.v_dim), m.latent);
    to.cut_k("o", m.hidden, m.heads * m.v_dim);
    return;
  }
  const std::int64_t q = m.heads / ways * m.head_dim;
  const std::int64_t kv = std::max<std::int64_t>(m.kv_heads / ways, 1) * m.head_dim;
  to.whole("qkv", q + 2 * kv, m.hidden);
  to.whole("q", q, m.hidden);
  to.whole("kv", kv, m.hidden);
  to.cut_k("o", m.hidden, m.heads * m.head_dim);
}

void add_mlp(Layers& to, const PublicModel& m, std::int64_t intermediate) {
  if (m.gated) to.cut_n("gate_up", 2 * intermediate, m.hidden);
  to.cut_n(m.gated ? "gate" : "up", intermediate, m.hidden);
  to.cut_k("down", m.hidden, intermediate);
}

}  // namespace

std::span<const PublicModel> public_models() { return models; }

std::vector<Layer> layers(const PublicModel& m, std::int64_t ways) {
  Layers all(ways);
  add_attention(all, m, ways);
  for (const std::int64_t width : {m.intermediate, m.shared_intermediate})
    if (width != 0) add_mlp(all, m, width);
  if (m.experts != 0) {
    all.cut_n("expert_gate_up", 2 * m.expert_intermediate, m.hidden, m.experts);
    all.cut_n("expert_gate", m.expert_intermediate, m.hidden, m.experts);
    all.cut_k("expert_down", m.hidden, m.expert_intermediate, m.experts);
  }
  all.cut_n("head", m.vocabulary, m.hidden);
  return all.take();
}

std::vector<Layer> distinct_layers(std::span<const std::int64_t> ways) {
  std::vector<Layer> all;
  for (const PublicModel& m : models)
    for (const std::int64_t w : ways) {
      const std::vector<Layer> more = layers(m, w);
      all.insert(all.end(), more.begin(), more.end());
    }
  const auto size = [](const Layer& l) { return std::tuple(l.n, l.k, l.experts); };
  std::ranges::stable_sort(all, {}, size);
  const auto repeated = std::ranges::unique(all, {}, size);
  all.erase(repeated.begin(), repeated.end());
  return all;
}

}  // namespace wavejit::harness
