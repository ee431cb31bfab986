// SPDX-License-Identifier: MIT
#include "runtime/checkpoint/config.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

namespace wavejit::checkpoint {
namespace {

using Json = nlohmann::json;

constexpr std::uintmax_t max_bytes = 16U << 20;

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() > 60 ? text.substr(0, 60) + "..." : text;
}

Result<Json> read_json(const std::filesystem::path& path) {
  std::error_code reason;
  const auto size = std::filesystem::file_size(path, reason);
  if (reason)
    return fail(ErrorCode::io, fmt::format("{} cannot be read: {}", path.string(), reason.message()));
  const std::string file = path.filename().string();
  if (size > max_bytes)
    return fail_field(ErrorCode::io, file, fmt::format("{} bytes", size),
                      fmt::format("at most {}", max_bytes));
  std::ifstream stream(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  // Parsing keeps a stack of its own, so depth costs memory in proportion to the text only.
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return fail_field(ErrorCode::io, file, "no JSON object", "a JSON object");
  return json;
}

/// Reads typed fields; the first of another type is the error.
class Fields {
 public:
  Fields(const Json& json, std::string file) : json_(json), file_(std::move(file)) {}

  std::optional<std::int64_t> integer(const char* name) {
    const Json* v = find(name);
    if (v == nullptr) return {};
    const bool fits =
        v->is_number_integer() && (!v->is_number_unsigned() || v->get<std::uint64_t>() >> 62 == 0);
    if (fits) return v->get<std::int64_t>();
    refuse(name, *v, "an integer");
    return {};
  }
  std::optional<bool> boolean(const char* name) {
    const Json* v = find(name);
    if (v == nullptr) return {};
    if (v->is_boolean()) return v->get<bool>();
    refuse(name, *v, "true or false");
    return {};
  }
  std::string text(const char* name) {
    const Json* v = find(name);
    if (v == nullptr) return {};
    if (v->is_string()) return v->get<std::string>();
    refuse(name, *v, "a string");
    return {};
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  [[nodiscard]] const Json* find(const char* name) const {
    const auto it = json_.find(name);
    return it == json_.end() || it->is_null() ? nullptr : &*it;
  }
  void refuse(const char* name, const Json& given, const char* allowed) {
    if (!error_)
      error_ = fail_field(ErrorCode::io, fmt::format("{}: {}", file_, name), shown(given), allowed).error();
  }

  const Json& json_;
  std::string file_;
  std::optional<Error> error_;
};

/// The groups of a compressed-tensors configuration; all must say the same of their weights, since which
/// layer belongs to which is told by patterns over module classes, which a folder of tensors does not name.
Result<void> read_groups(const Json& config, QuantConfig& c) {
  const auto groups = config.find("config_groups");
  if (groups == config.end() || !groups->is_object()) return {};
  const Json* first = nullptr;
  for (const Json& group : *groups) {
    const auto weights = group.is_object() ? group.find("weights") : group.end();
    if (!group.is_object() || weights == group.end() || !weights->is_object()) continue;
    if (first == nullptr) {
      first = &*weights;
    } else if (*first != *weights) {
      return fail_field(ErrorCode::unsupported, c.file + ": config_groups", "of different weights",
                        "of one kind of weights");
    }
  }
  if (first == nullptr) return {};
  Fields f(*first, c.file);
  c.bits = f.integer("num_bits");
  c.group = f.integer("group_size");
  c.symmetric = f.boolean("symmetric");
  if (!c.group && f.text("strategy") == "channel") c.group = -1;
  const auto order = first->find("actorder");
  // "weight" reorders nothing at run time; "group" (or true) does.
  if (order != first->end() && !order->is_null()) c.act_order = *order == true || *order == "group";
  if (f.error()) return std::unexpected(*f.error());
  return {};
}

template <class T>
std::optional<T> either(std::optional<T> a, std::optional<T> b) {
  return a ? a : b;
}

}  // namespace

Result<QuantConfig> read_config(const std::filesystem::path& folder) {
  QuantConfig c;
  Json config;
  for (const char* file : {"config.json", "quantize_config.json", "quant_config.json"}) {
    std::error_code ignored;
    if (!std::filesystem::exists(folder / file, ignored)) continue;
    auto json = read_json(folder / file);
    if (!json) return std::unexpected(json.error());
    const bool whole = std::string_view(file) == "config.json";
    const auto it = whole ? json->find("quantization_config") : json->end();
    if (whole && it == json->end()) continue;
    config = whole ? *it : *json;
    if (!config.is_object())
      return fail_field(ErrorCode::io, fmt::format("{}: quantization_config", file), shown(config),
                        "an object");
    c.file = file;
    break;
  }
  if (c.file.empty()) return c;
  Fields f(config, c.file);
  c.method = f.text("quant_method");
  c.checkpoint_format = f.text("checkpoint_format");
  c.bits = either(f.integer("bits"), f.integer("w_bit"));
  c.group = either(f.integer("group_size"), f.integer("q_group_size"));
  c.symmetric = f.boolean("sym");
  c.act_order = f.boolean("desc_act");
  if (const auto zero_point = f.boolean("zero_point"); zero_point && !c.symmetric) c.symmetric = !*zero_point;
  if (f.error()) return std::unexpected(*f.error());
  if (auto ok = read_groups(config, c); !ok) return std::unexpected(ok.error());
  return c;
}

Result<ModelConfig> read_model_config(const std::filesystem::path& folder) {
  constexpr const char* file = "config.json";
  std::error_code ignored;
  if (!std::filesystem::exists(folder / file, ignored)) return ModelConfig{};
  const auto whole = read_json(folder / file);
  if (!whole) return std::unexpected(whole.error());
  ModelConfig c;
  const auto nested = whole->find("text_config");
  const bool has_nested = nested != whole->end() && nested->is_object();
  for (const Json* json : {has_nested ? &*nested : nullptr, &*whole}) {
    if (json == nullptr) continue;
    Fields f(*json, file);
    for (const char* name : {"num_experts", "num_local_experts", "n_routed_experts"})
      c.experts = either(c.experts, f.integer(name));
    c.experts_used = either(c.experts_used, f.integer("num_experts_per_tok"));
    c.tied = either(c.tied, f.boolean("tie_word_embeddings"));
    if (f.error()) return std::unexpected(*f.error());
  }
  return c;
}

}  // namespace wavejit::checkpoint
