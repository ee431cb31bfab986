// SPDX-License-Identifier: MIT
// QuantConfig::of(): one function per method, each from a layer's name to what is said of it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "runtime/checkpoint/config.hpp"
#include "runtime/checkpoint/fields.hpp"
#include "runtime/checkpoint/patterns.hpp"

namespace wavejit::checkpoint {
namespace {

template <class T>
void take(std::optional<T>& into, std::optional<T> value) {
  if (value) into = value;
}

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    if (c == '_') c = '-';
  }
  return text;
}

/// Whether `key` is a run of whole components of the dotted name: "mlp.gate" of "a.mlp.gate", not of
/// "a.mlp.gate_proj".
bool has_components(std::string_view name, std::string_view key) {
  if (key.empty()) return false;
  for (std::size_t at = 0; (at = name.find(key, at)) != std::string_view::npos; ++at) {
    const std::size_t end = at + key.size();
    const bool begins = at == 0 || name[at - 1] == '.' || key.front() == '.';
    if (begins && (end == name.size() || name[end] == '.' || key.back() == '.')) return true;
  }
  return false;
}

bool ends_with_module(std::string_view name, std::string_view module) {
  return name == module || (name.ends_with(module) && name[name.size() - module.size() - 1] == '.');
}

std::vector<std::string> strings_of(const Json* value) {
  std::vector<std::string> all;
  if (value == nullptr) return all;
  if (value->is_string()) all.push_back(value->get<std::string>());
  if (value->is_array())
    for (const Json& item : *value)
      for (std::string& s : strings_of(&item)) all.push_back(std::move(s));
  return all;
}

class Reader {
 public:
  Reader(const QuantConfig& config, std::string_view layer)
      : config_(config), json_(*config.json), f_(*config.json, config.file), layer_(layer) {
    said_.where = config.file;
  }

  Result<Said> read() {
    const std::string method = lower(config_.method);
    using Read = Result<void> (Reader::*)();
    constexpr std::array<std::pair<std::string_view, Read>, 10> methods{
        {{"gptq", &Reader::gptq},
         {"awq", &Reader::awq},
         {"compressed-tensors", &Reader::compressed_tensors},
         {"sparseml", &Reader::compressed_tensors},
         {"auto-round", &Reader::auto_round},
         {"intel/auto-round", &Reader::auto_round},
         {"inc", &Reader::auto_round},
         {"plain", &Reader::row_major},
         {"mslk", &Reader::mslk},
         {"", &Reader::unnamed}}};
    const auto* found = std::ranges::find(methods, method, &std::pair<std::string_view, Read>::first);
    const Result<void> ok = found != methods.end() ? (this->*found->second)() : unknown_method();
    if (!ok) return std::unexpected(ok.error());
    if (f_.error) return std::unexpected(*f_.error);
    if (!said_.refusal && said_.bits && *said_.bits != 4)
      refuse(bits_field_, std::to_string(*said_.bits), "4", false);
    return std::move(said_);
  }

 private:
  void refuse(const std::string& field, std::string given, std::string allowed, bool format_may_be_named) {
    if (said_.refusal) return;
    said_.refusal = fail_field(ErrorCode::unsupported, fmt::format("{}: {}", config_.file, field),
                               std::move(given), std::move(allowed))
                        .error();
    said_.format_may_be_named = format_may_be_named;
  }
  void left_out(const std::string& by, const std::string& entry) {
    refuse(by, fmt::format("{}, which leaves {} as it was", entry, layer_),
           "without that for a layer with quantised tensors", true);
  }

  Result<void> unknown_method() {
    const Json* modelopt = f_.find("quantization");  // hf_quant_config.json
    const Json* algorithm = modelopt != nullptr && modelopt->is_object() && modelopt->contains("quant_algo")
                                ? &modelopt->at("quant_algo")
                                : f_.find("quant_algo");
    const std::string method = config_.method.empty() ? "modelopt" : config_.method;
    refuse("quant_method", algorithm == nullptr ? method : fmt::format("{} ({})", method, shown(*algorithm)),
           "awq, gptq, auto-round or compressed-tensors (or name the format, such as plain, where it is one "
           "that "
           "is served)",
           true);
    return {};
  }

  /// Older files of GPTQ and AWQ writers name no method.
  Result<void> unnamed() {
    const auto has = [&](const char* name) { return f_.find(name) != nullptr; };
    if (has("config_groups")) return compressed_tensors();
    if (has("quantization") || has("quant_algo")) return unknown_method();
    if (has("w_bit") || has("q_group_size") || has("version") || has("zero_point")) return awq();
    if (config_.file == "quantize_config.json" || f_.text("checkpoint_format").starts_with("gptq"))
      return gptq();
    if (has("packing_format") || has("autoround_version")) return auto_round();
    base(json_, config_.file);
    return {};
  }
  Result<void> row_major() {
    said_.family = Family::row_major;
    base(json_, config_.file);
    return {};
  }
  Result<void> mslk() {
    said_.family = Family::mslk;
    base(json_, config_.file);
    return {};
  }

  /// Fields that GPTQ, AWQ and AutoRound share; later calls overrule.
  void base(const Json& json, const std::string& where) {
    Fields f(json, where);
    for (const char* name : {"w_bit", "bits"}) {
      const auto bits = f.integer(name);
      if (bits && where != config_.file) bits_field_ = where.substr(config_.file.size() + 2) + ".bits";
      take(said_.bits, bits);
    }
    for (const char* name : {"q_group_size", "group_size"}) take(said_.group, f.integer(name));
    if (const auto zero_point = f.boolean("zero_point")) said_.symmetric = !*zero_point;
    take(said_.symmetric, f.boolean("sym"));
    take(said_.act_order, f.boolean("desc_act"));
    if (f.error && !f_.error) f_.error = f.error;
  }

  // ---- GPTQ ----

  Result<void> gptq() {
    said_.family = Family::gptq;
    base(json_, config_.file);
    std::string format = lower(f_.text("checkpoint_format"));
    if (format.empty()) format = lower(f_.text("format"));
    // Writers before the field existed wrote v1.
    said_.gptq_v2 = format == "gptq-v2";
    if (!format.empty() && format != "gptq" && format != "gptq-v2")
      refuse("checkpoint_format", format, "gptq or gptq_v2", false);
    if (f_.find("lm_head") != nullptr && f_.boolean("lm_head") == false &&
        ends_with_module(layer_, "lm_head"))
      left_out("lm_head", "false");
    modules_in_block();
    return dynamic();
  }

  /// Modules of a block that were quantised, all others not; what is in no block is not spoken of.
  void modules_in_block() {
    const auto modules = strings_of(f_.find("modules_in_block_to_quantize"));
    const bool in_block = std::ranges::any_of(std::string_view("0123456789"), [&](char digit) {
      return layer_.find(std::string{'.', digit}) != std::string::npos;
    });
    if (modules.empty() || !in_block) return;
    const auto named = [&](const std::string& module) { return ends_with_module(layer_, module); };
    if (!std::ranges::any_of(modules, named)) left_out("modules_in_block_to_quantize", "without it");
  }

  Result<void> dynamic() {
    const Json* rules = f_.find("dynamic");
    if (rules == nullptr || (rules->is_boolean() && !rules->get<bool>())) return {};
    if (!rules->is_object()) {
      f_.refuse("dynamic", *rules, "an object of patterns");
      return {};
    }
    for (const auto& [rule, overrides] : rules->items()) {
      const bool negative = rule.starts_with("-:");
      const std::string pattern = negative || rule.starts_with("+:") ? rule.substr(2) : rule;
      const auto matches = config_.patterns->match(pattern, layer_, Where::at_beginning,
                                                   fmt::format("{}: dynamic", config_.file));
      if (!matches) return std::unexpected(matches.error());
      if (!*matches) continue;
      if (negative) {
        left_out("dynamic", fmt::format("\"{}\"", rule));
      } else if (overrides.is_object()) {
        base(overrides, fmt::format("{}: dynamic \"{}\"", config_.file, rule));
      }
      return {};
    }
    return {};
  }

  // ---- AWQ ----

  Result<void> awq() {
    said_.family = Family::awq;
    base(json_, config_.file);
    for (const char* name : {"version", "checkpoint_format", "format"}) {
      const std::string version = lower(f_.text(name));
      if (version.empty()) continue;
      if (version != "gemm" && version != "awq") refuse(name, version, "gemm", false);
      break;
    }
    for (const std::string& module : strings_of(f_.find("modules_to_not_convert")))
      if (has_components(layer_, module)) left_out("modules_to_not_convert", fmt::format("\"{}\"", module));
    return {};
  }

  // ---- AutoRound ----

  Result<void> auto_round() {
    base(json_, config_.file);
    std::string packing = f_.text("packing_format");
    if (packing.empty()) packing = f_.text("backend");
    if (packing == "auto") packing.clear();
    std::string kind = lower(packing);
    if (kind.starts_with("auto-round:")) kind = kind.substr(11);
    // Zero points minus one in what follows AutoGPTQ, which is also what an absent field means; as they are
    // in AutoRound's own packing.
    const bool v1 = kind.empty() || kind == "auto-gptq" || kind == "gptq" || kind.starts_with("gptq:");
    const bool v2 = kind == "auto-round" || kind.starts_with("gptqmodel") || kind.starts_with("exllamav2") ||
                    kind.starts_with("triton");
    const bool is_awq = kind == "auto-awq" || kind == "awq" || kind.starts_with("awq:");
    if (v1 || v2) {
      said_.family = Family::gptq;
      said_.gptq_v2 = v2;
    } else if (is_awq) {
      said_.family = Family::awq;
    } else {
      refuse("packing_format", packing, "auto_round:auto_gptq, auto_round:auto_awq or auto_round:gptqmodel",
             true);
    }
    data_type(json_, "data_type");
    for (const std::string& module : strings_of(f_.find("modules_to_not_convert")))
      if (has_components(layer_, module)) left_out("modules_to_not_convert", fmt::format("\"{}\"", module));
    return extra_config();
  }

  void data_type(const Json& json, const std::string& field) {
    Fields f(json, config_.file);
    const std::string type = lower(f.text("data_type"));
    if (f.error && !f_.error) f_.error = f.error;
    if (!type.empty() && !type.starts_with("int")) refuse(field, type, "int", false);
  }

  Result<void> extra_config() {
    const Json* extra = f_.find("extra_config");
    if (extra == nullptr || !extra->is_object()) return {};
    const Json* own = nullptr;
    std::string key;
    if (const auto it = extra->find(layer_); it != extra->end()) {
      own = &*it;
      key = layer_;
    } else {
      for (const auto& [name, value] : extra->items()) {
        if (name.find_first_of("*+?[]()^$|\\") == std::string::npos) continue;
        const auto matches = config_.patterns->match(name, layer_, Where::anywhere,
                                                     fmt::format("{}: extra_config", config_.file));
        if (!matches) return std::unexpected(matches.error());
        if (!*matches) continue;
        own = &value;
        key = name;
        break;
      }
    }
    if (own == nullptr || !own->is_object()) return {};
    const std::string field = fmt::format("extra_config \"{}\"", key);
    base(*own, fmt::format("{}: {}", config_.file, field));
    if (said_.bits && *said_.bits >= 16) {
      left_out(field, fmt::format("of {} bits", *said_.bits));
      return {};
    }
    data_type(*own, field + ".data_type");
    return {};
  }

  // ---- compressed-tensors ----

  Result<bool> matches(const std::string& target, const std::string& field) {
    if (!target.starts_with("re:")) return target == layer_;
    return config_.patterns->match(target.substr(3), layer_, Where::at_beginning,
                                   fmt::format("{}: {}", config_.file, field));
  }

  /// How a target means the layer: 0 = by its name, 1 = by a pattern, 2 = by its class; nothing = not. Of
  /// classes only linear layers, and of experts only modules named so, are known from names.
  Result<std::optional<int>> rank(const std::string& target, const std::string& field) {
    const auto by_name = matches(target, field);
    if (!by_name) return std::unexpected(by_name.error());
    if (*by_name) return target.starts_with("re:") ? 1 : 0;
    if (target.starts_with("re:") || target.find('.') != std::string::npos) return std::nullopt;
    const std::string name = lower(target);
    const bool of_class =
        name.find("linear") != std::string::npos ||
        ((name.find("expert") != std::string::npos || name.find("moe") != std::string::npos) &&
         has_components(layer_, "experts"));
    return of_class ? std::optional(2) : std::nullopt;
  }

  Result<void> compressed_tensors() {
    said_.family = Family::compressed_tensors;
    for (const std::string& entry : strings_of(f_.find("ignore"))) {
      const auto found = matches(entry, "ignore");
      if (!found) return std::unexpected(found.error());
      if (*found) left_out("ignore", fmt::format("\"{}\"", entry));
    }
    const Json* groups = f_.find("config_groups");
    if (groups == nullptr) return {};
    if (!groups->is_object()) {
      f_.refuse("config_groups", *groups, "an object of groups");
      return {};
    }
    const Json* best = nullptr;
    std::string best_name;
    int best_rank = 3;
    for (const auto& [name, group] : groups->items()) {
      if (!group.is_object()) continue;
      for (const std::string& target : strings_of(group.contains("targets") ? &group["targets"] : nullptr)) {
        const auto r = rank(target, fmt::format("config_groups.{}.targets", name));
        if (!r) return std::unexpected(r.error());
        if (!*r || **r >= best_rank) continue;
        best_rank = **r;
        best = &group;
        best_name = name;
      }
    }
    if (best == nullptr)
      refuse("config_groups", fmt::format("without a target for {}", layer_),
             "with one (or name the format, compressed-tensors)", true);
    else
      take_group(*best, "config_groups." + best_name);
    return {};
  }

  void take_group(const Json& group, const std::string& place) {
    said_.where = fmt::format("{}: {}", config_.file, place);
    const auto weights = group.find("weights");
    if (weights == group.end() || !weights->is_object())
      return refuse(place + ".weights", "absent", "an object for quantised weights", true);
    Fields f(*weights, fmt::format("{}: {}.weights", config_.file, place));
    Fields own(group, said_.where);
    said_.bits = f.integer("num_bits");
    bits_field_ = place + ".weights.num_bits";
    said_.group = f.integer("group_size");
    said_.symmetric = f.boolean("symmetric").value_or(true);
    const std::string type = lower(f.text("type")), strategy = lower(f.text("strategy"));
    std::string format = own.text("format"), format_field = place + ".format";
    if (format.empty()) {
      format = f_.text("format");
      format_field = "format";
      if (format == "mixed-precision") format.clear();
    }
    if (strategy == "channel") said_.group = -1;
    // "weight" and "static" reorder nothing at run time; "group" (or true) does.
    if (const Json* order = f.find("actorder")) said_.act_order = *order == true || *order == "group";
    for (const Fields* fields : {&f, &own})
      if (fields->error && !f_.error) f_.error = fields->error;
    if (said_.bits && *said_.bits != 4)
      refuse(bits_field_, fmt::format("{}{}", *said_.bits, format.empty() ? "" : " (" + format + ")"), "4",
             false);
    if (!format.empty() && format != "pack-quantized") refuse(format_field, format, "pack-quantized", false);
    if (!type.empty() && type != "int") refuse(place + ".weights.type", type, "int", false);
    if (!strategy.empty() && strategy != "group" && strategy != "channel")
      refuse(place + ".weights.strategy", strategy, "group or channel", false);
  }

  const QuantConfig& config_;
  const Json& json_;
  Fields f_;
  std::string layer_, bits_field_ = "bits";
  Said said_;
};

}  // namespace

Result<Said> QuantConfig::of(std::string_view layer) const {
  if (!json) return Said{};
  return Reader(*this, layer).read();
}

}  // namespace wavejit::checkpoint
