// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "runtime/checkpoint/layer.hpp"
#include "tests/harness/run_checkpoint.hpp"
#include "tools/wavejit/budget.hpp"

namespace wavejit::tools {
namespace {

namespace cp = checkpoint;

/// Of `of` experts, how many a token uses; 1 of 1 for a name without ".experts.".
class Experts {
 public:
  explicit Experts(const cp::ModelConfig& config) : config_(config) {}

  double share(const std::string& name) {
    if (name.find(".experts.") == std::string::npos) return 1;
    if (config_.experts && config_.experts_used && *config_.experts > 0)
      return std::clamp(static_cast<double>(*config_.experts_used) / static_cast<double>(*config_.experts),
                        0.0, 1.0);
    unknown = true;
    return 1;
  }

  bool unknown = false;

 private:
  const cp::ModelConfig& config_;
};

bool of_vision(std::string_view name) {
  constexpr std::array<std::string_view, 4> towers{"visual.", "model.visual.", "vision_tower.",
                                                   "model.vision_tower."};
  return std::ranges::any_of(towers, [&](std::string_view tower) { return name.starts_with(tower); });
}

templates::Problem problem_of(const cp::Layer& layer) {
  templates::Problem like;
  if (layer.source.scales.dtype == repack::Dtype::f16) like.activation = templates::DataType::f16;
  return harness::problem_of(layer, like);
}

class Reader {
 public:
  Reader(const std::filesystem::path& folder, const cp::Inventory& inventory, const cp::ModelConfig& config)
      : inventory_(inventory), config_(config), experts_(config) {
    budget_.source = folder.string();
    budget_.format = "safetensors";
    budget_.architecture = inventory.config.method;
  }

  Budget read() {
    for (const std::string& name : cp::quantised_layers(inventory_)) add_layer(name);
    for (const auto& [name, place] : inventory_.tensors)
      if (!taken_.contains(name)) add_tensor(place.entry);
    if (experts_.unknown)
      budget_.notes.emplace_back(
          "config.json does not say num_experts and num_experts_per_tok: all experts are counted.");
    for (const std::string& note : inventory_.notes) budget_.notes.push_back(note + ".");
    return std::move(budget_);
  }

 private:
  /// Served as `run` would serve it, or with the reason why not.
  void add_layer(const std::string& name) {
    const auto layer = cp::read_layer(inventory_, name);
    const cp::Stored stored = cp::stored_layer(inventory_, name);
    WeightRow row;
    row.name = name;
    row.stored_bytes = stored.bytes;
    taken_.insert(stored.tensors.begin(), stored.tensors.end());
    row.launches = experts_.share(name);
    row.bytes = row.launches * static_cast<double>(row.stored_bytes);
    if (layer) {
      row.type = fmt::format("{} g{}", repack::name(layer->source.format), layer->group);
      row.shape = {layer->n, layer->k};
      row.served = problem_of(*layer);
    } else {
      row.type = budget_.architecture.empty() ? "packed" : budget_.architecture;
      row.served = NoKernel{layer.error().message};
    }
    budget_.rows.push_back(std::move(row));
  }

  void add_tensor(const cp::TensorEntry& e) {
    WeightRow row;
    row.name = e.name;
    row.type = e.dtype;
    row.shape = e.shape;
    row.stored_bytes = e.end - e.begin;
    const auto all = static_cast<double>(row.stored_bytes);
    row.bytes = all * experts_.share(e.name);
    const bool table = e.name.ends_with("embed_tokens.weight") || e.name.ends_with("wte.weight");
    if (of_vision(e.name)) {
      row.bytes = 0;
      row.served = NoKernel{"of the vision tower, which decoding text leaves out"};
    } else if (table && e.shape.size() == 2 && e.shape[0] > 0 && !tied()) {
      row.bytes = all / static_cast<double>(e.shape[0]);
      row.served = NoKernel{"one row is looked up"};
    } else if (e.shape.size() < 2) {
      row.served = NoKernel{"a vector, no product"};
    } else {
      row.served = NoKernel{fmt::format("no kernel for weights of type {}{}", e.dtype, method_of(e))};
    }
    budget_.rows.push_back(std::move(row));
  }

  /// Of what is no float: why the method that stored it is not served.
  [[nodiscard]] std::string method_of(const cp::TensorEntry& e) const {
    if (e.dtype == "F16" || e.dtype == "BF16" || e.dtype == "F32") return "";
    const auto said = inventory_.config.of(e.name.substr(0, e.name.rfind('.')));
    if (!said) return fmt::format(" ({})", said.error().message);
    return said->refusal ? fmt::format(" ({})", said->refusal->message) : "";
  }

  [[nodiscard]] bool tied() const {
    return config_.tied.value_or(!inventory_.tensors.contains("lm_head.weight") &&
                                 !inventory_.tensors.contains("lm_head.qweight"));
  }

  const cp::Inventory& inventory_;
  const cp::ModelConfig& config_;
  Experts experts_;
  std::set<std::string> taken_;
  Budget budget_;
};

}  // namespace

Result<Budget> budget_of(const std::filesystem::path& folder) {
  const auto inventory = cp::read_inventory(folder);
  if (!inventory) return std::unexpected(inventory.error());
  const auto config = cp::read_model_config(folder);
  if (!config) return std::unexpected(config.error());
  return Reader(folder, *inventory, *config).read();
}

}  // namespace wavejit::tools
