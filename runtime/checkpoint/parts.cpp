// SPDX-License-Identifier: MIT
#include "runtime/checkpoint/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "runtime/checkpoint/layer.hpp"

namespace wavejit::checkpoint {
namespace {

constexpr std::array<const char*, 3> weight_parts{"weight_packed", "qweight", "weight"};

/// More matrices than any model has experts; a shape may claim 2^48 of no elements.
constexpr std::int64_t most_matrices = 1 << 16;

/// Matrices in the tensor; 0 for one that is a matrix itself.
std::int64_t matrices(const TensorEntry& e) {
  return e.shape.size() == 3 && e.shape[0] >= 1 && e.shape[0] <= most_matrices ? e.shape[0] : 0;
}

/// The layer whose packed weights a tensor of this name is; empty for other tensors.
std::string layer_of(std::string_view tensor, bool integers) {
  for (const std::string_view end : {".weight_packed", "_weight_packed", ".qweight", "_qweight", "_packed"})
    if (tensor.ends_with(end) && tensor.size() > end.size())
      return std::string(tensor.substr(0, tensor.size() - end.size()));
  constexpr std::string_view plain = ".weight";
  return integers && tensor.ends_with(plain) ? std::string(tensor.substr(0, tensor.size() - plain.size()))
                                             : "";
}

}  // namespace

std::vector<std::string> part_candidates(std::string_view layer, std::string_view part) {
  std::vector<std::string> all{fmt::format("{}.{}", layer, part)};
  constexpr std::string_view prefix = "weight_";
  if (part == "weight") return all;
  all.push_back(fmt::format("{}_{}", layer, part));
  if (part.starts_with(prefix)) all.push_back(fmt::format("{}_{}", layer, part.substr(prefix.size())));
  return all;
}

Parts::Parts(const Inventory& folder, std::string_view layer) : folder_(folder), base_(layer) {
  const std::size_t open = base_.rfind('[');
  if (has_weights(base_) || open == std::string::npos || !base_.ends_with(']')) return;
  std::int64_t index = -1;
  const char *begin = base_.data() + open + 1, *end = base_.data() + base_.size() - 1;
  const auto [stop, error] = std::from_chars(begin, end, index);
  if (error != std::errc() || stop != end || index < 0) return;
  index_ = index;
  base_.resize(open);
}

bool Parts::has_weights(const std::string& base) const {
  for (const char* part : weight_parts)
    for (const std::string& name : part_candidates(base, part))
      if (folder_.tensors.contains(name) || folder_.unreadable.contains(name)) return true;
  return false;
}

const PlacedTensor* Parts::find(std::string_view part) const {
  for (const std::string& name : part_candidates(base_, part))
    if (const auto it = folder_.tensors.find(name); it != folder_.tensors.end()) return &it->second;
  return nullptr;
}

const PlacedTensor* Parts::weights() const {
  for (const char* part : weight_parts)
    if (const PlacedTensor* p = find(part)) return p;
  return nullptr;
}

const Error* Parts::unreadable() const {
  for (const char* part : part_names)
    for (const std::string& name : part_candidates(base_, part))
      if (const auto it = folder_.unreadable.find(name); it != folder_.unreadable.end()) return &it->second;
  return nullptr;
}

std::vector<std::string> quantised_layers(const Inventory& folder) {
  std::vector<std::string> layers;
  const auto has = [&](const std::string& layer, const char* part) {
    const std::string name = fmt::format("{}.{}", layer, part);
    return folder.tensors.contains(name) || folder.unreadable.contains(name);
  };
  const auto add = [&](const std::string& tensor, const TensorEntry* e) {
    const std::string layer = layer_of(tensor, e != nullptr && of_integers(*e));
    if (layer.empty()) return;
    const bool plain = tensor.ends_with(".weight");
    if (plain && !has(layer, "scales") && !has(layer, "weight_scale")) return;
    const std::int64_t count = e == nullptr ? 0 : matrices(*e);
    for (std::int64_t i = 0; i < count; ++i) layers.push_back(fmt::format("{}[{}]", layer, i));
    if (count == 0) layers.push_back(layer);
  };
  for (const auto& [name, place] : folder.tensors) add(name, &place.entry);
  for (const auto& [name, error] : folder.unreadable) add(name, nullptr);
  return layers;
}

Stored stored_layer(const Inventory& folder, std::string_view name) {
  const Parts parts(folder, name);
  const PlacedTensor* weights = parts.weights();
  const std::int64_t of =
      parts.index() && weights != nullptr ? std::max<std::int64_t>(matrices(weights->entry), 1) : 1;
  Stored s;
  for (const char* part : part_names) {
    const PlacedTensor* p = parts.find(part);
    if (p == nullptr) continue;
    s.tensors.push_back(p->entry.name);
    s.bytes += (p->entry.end - p->entry.begin) / static_cast<std::uint64_t>(of);
  }
  return s;
}

}  // namespace wavejit::checkpoint
