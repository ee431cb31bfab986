// SPDX-License-Identifier: MIT
#include "runtime/checkpoint/config.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "runtime/checkpoint/fields.hpp"
#include "runtime/checkpoint/patterns.hpp"
#include "runtime/checkpoint/read_json.hpp"
#include "runtime/checkpoint/safetensors.hpp"

namespace wavejit::checkpoint {
namespace {

constexpr std::uintmax_t max_bytes = 16U << 20;

struct Nested {
  std::string path;  ///< "text_config", "thinker_config.text_config"; empty = the whole
  const Json* json = nullptr;
};

/// Configurations inside `json`, those of language first.
std::vector<Nested> nested_configs(const Json& json, const std::string& path = {}, int depth = 0) {
  constexpr int deepest = 4;
  constexpr std::array<std::string_view, 5> language{"text_config", "llm_config", "language_config",
                                                     "language_model_config", "thinker_config"};
  std::vector<Nested> found;
  if (depth == deepest) return found;
  const auto add = [&](const std::string& key, const Json& value) {
    const std::string at = path.empty() ? key : path + "." + key;
    found.push_back({at, &value});
    for (Nested& n : nested_configs(value, at, depth + 1)) found.push_back(std::move(n));
  };
  const auto is_language = [&](std::string_view key) {
    return std::ranges::find(language, key) != language.end();
  };
  for (const std::string_view key : language)
    if (const auto it = json.find(key); it != json.end() && it->is_object()) add(std::string(key), *it);
  for (const auto& [key, value] : json.items())
    if (value.is_object() && !is_language(key) && key.ends_with("_config") &&
        !key.starts_with("quantization") && !key.starts_with("compression"))
      add(key, value);
  return found;
}

/// Null where it says nothing.
const Json* quantisation_of(const Json& json) {
  for (const char* name : {"quantization_config", "compression_config"}) {
    const auto it = json.find(name);
    if (it == json.end() || it->is_null()) continue;
    // compression_config may hold the quantisation beside a sparsity.
    if (it->is_object())
      if (const auto inner = it->find("quantization_config"); inner != it->end() && inner->is_object())
        return &*inner;
    return &*it;
  }
  return nullptr;
}

Result<QuantConfig> made(std::string file, const Json& json) {
  QuantConfig c;
  c.file = std::move(file);
  if (!json.is_object())
    return fail_field(ErrorCode::io, fmt::format("{}: quantization_config", c.file), shown(json),
                      "an object");
  Fields f(json, c.file);
  c.method = f.text("quant_method");
  if (f.error) return std::unexpected(*f.error);
  c.json = std::make_shared<const Json>(json);
  c.patterns = std::make_shared<Patterns>();
  return c;
}

template <class T>
std::optional<T> either(std::optional<T> a, std::optional<T> b) {
  return a ? a : b;
}

}  // namespace

Result<std::string> read_text(const std::filesystem::path& path, std::uintmax_t max_bytes) {
  std::error_code reason;
  const auto size = std::filesystem::file_size(path, reason);
  if (reason)
    return fail(ErrorCode::io, fmt::format("{} cannot be read: {}", path.string(), reason.message()));
  const std::string file = path.filename().string();
  if (size > max_bytes)
    return fail_field(ErrorCode::io, file, fmt::format("{} bytes", size),
                      fmt::format("at most {}", max_bytes));
  std::ifstream stream(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (is_lfs_pointer(text)) return fail_field(ErrorCode::io, file, lfs_pointer, lfs_advice);
  return text;
}

Result<QuantConfig> read_config(const std::filesystem::path& folder) {
  for (const char* file : {"config.json", "quantize_config.json", "quantization_config.json",
                           "quant_config.json", "hf_quant_config.json"}) {
    std::error_code ignored;
    if (!std::filesystem::exists(folder / file, ignored)) continue;
    const auto json = read_json<Json>(folder / file, max_bytes);
    if (!json) return std::unexpected(json.error());
    if (std::string_view(file) != "config.json") return made(file, *json);
    if (const Json* q = quantisation_of(*json)) return made(file, *q);
    for (const Nested& nested : nested_configs(*json))
      if (const Json* q = quantisation_of(*nested.json))
        return made(fmt::format("{}: {}", file, nested.path), *q);
  }
  return QuantConfig{};
}

Result<ModelConfig> read_model_config(const std::filesystem::path& folder) {
  constexpr const char* file = "config.json";
  std::error_code ignored;
  if (!std::filesystem::exists(folder / file, ignored)) return ModelConfig{};
  const auto whole = read_json<Json>(folder / file, max_bytes);
  if (!whole) return std::unexpected(whole.error());
  ModelConfig c;
  std::vector<Nested> configs = nested_configs(*whole);
  std::erase_if(configs, [](const Nested& n) {  // towers have experts of their own
    return n.path.find("vision") != std::string::npos || n.path.find("audio") != std::string::npos ||
           n.path.find("talker") != std::string::npos;
  });
  configs.push_back({"", &*whole});
  for (const Nested& nested : configs) {
    Fields f(*nested.json, nested.path.empty() ? file : fmt::format("{}: {}", file, nested.path));
    for (const char* name : {"num_experts", "num_local_experts", "n_routed_experts"})
      c.experts = either(c.experts, f.integer(name));
    c.experts_used = either(c.experts_used, f.integer("num_experts_per_tok"));
    c.tied = either(c.tied, f.boolean("tie_word_embeddings"));
    if (f.error) return std::unexpected(*f.error);
  }
  return c;
}

}  // namespace wavejit::checkpoint
