// SPDX-License-Identifier: MIT
#include "runtime/checkpoint/layer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <system_error>

namespace wavejit::checkpoint {
namespace {

using repack::Dtype;
using repack::Format;

std::unexpected<Error> bad(std::string field, std::string given, std::string allowed) {
  return fail_field(ErrorCode::invalid_argument, std::move(field), std::move(given), std::move(allowed));
}

using Place = PlacedTensor;
using Tensors = decltype(Inventory::tensors);

Result<Tensors> read_headers(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code reason;
  for (std::filesystem::directory_iterator it(folder, reason), end; !reason && it != end;
       it.increment(reason))
    if (it->path().extension() == ".safetensors") files.push_back(it->path());
  if (reason)
    return fail(ErrorCode::io, fmt::format("{} cannot be read: {}", folder.string(), reason.message()));
  if (files.empty()) return bad("checkpoint", folder.string(), "a folder with a .safetensors file");
  std::ranges::sort(files);
  Tensors all;
  for (const auto& file : files) {
    auto entries = read_header(file);
    if (!entries) return std::unexpected(entries.error());
    for (TensorEntry& e : *entries) {
      const std::string name = e.name;
      const auto [it, added] = all.emplace(name, Place{file, std::move(e)});
      if (!added)
        return bad(
            "tensor " + name,
            fmt::format("in {} and in {}", it->second.path.filename().string(), file.filename().string()),
            "in one file");
    }
  }
  return all;
}

/// The suffixes of a format's tensors; the first name that exists counts.
struct Names {
  std::vector<const char*> weights, scales, zero_points, g_idx, shape;
};

Names names_of(Format format) {
  switch (format) {
    case Format::awq:
      return {{"qweight"}, {"scales"}, {"qzeros"}, {}, {}};
    case Format::gptq_v1:
    case Format::gptq_v2:
      return {{"qweight"}, {"scales"}, {"qzeros"}, {"g_idx"}, {}};
    case Format::compressed_tensors:
      return {{"weight_packed"}, {"weight_scale"}, {"weight_zero_point"}, {"weight_g_idx"}, {"weight_shape"}};
    default:
      return {{"weight"}, {"scales", "weight_scale"}, {"zero_points", "weight_zero_point"}, {}, {}};
  }
}

class Reader {
 public:
  Reader(const Inventory& folder, std::string_view name, Load load)
      : all_(folder.tensors), config_(folder.config), load_(load) {
    layer_.name = name;
  }

  Result<Layer> read(const Wanted& wanted) {
    auto format = choose(wanted);
    if (!format) return std::unexpected(std::move(format.error()));
    layer_.source.format = *format;
    if (auto ok = read_tensors(); !ok) return std::unexpected(ok.error());
    if (auto ok = size(); !ok) return std::unexpected(ok.error());
    if (auto ok = check_config(); !ok) return std::unexpected(ok.error());
    const bool said = config_.symmetric.has_value();
    const bool symmetric = said ? *config_.symmetric : !layer_.source.zero_points.has_value();
    layer_.source.zero_points_declared =
        symmetric ? repack::ZeroPoints::symmetric : repack::ZeroPoints::asymmetric;
    return std::move(layer_);
  }

 private:
  [[nodiscard]] const Place* find(std::string_view suffix) const {
    const auto it = all_.find(fmt::format("{}.{}", layer_.name, suffix));
    return it == all_.end() ? nullptr : &it->second;
  }
  [[nodiscard]] const Place* find(const std::vector<const char*>& suffixes) const {
    for (const char* suffix : suffixes)
      if (const Place* p = find(suffix)) return p;
    return nullptr;
  }

  // ---- which format ----

  [[nodiscard]] std::string present() const {
    std::vector<std::string> names;
    for (const auto& [name, place] : all_)
      if (name.starts_with(layer_.name + ".") && names.size() < 8) names.push_back(name);
    if (!names.empty()) return fmt::format("with only {}", fmt::join(names, ", "));
    return "absent";
  }

  /// Layers that there are, for the one who mistyped.
  [[nodiscard]] std::string known() const {
    std::vector<std::string> names;
    for (const auto& [name, place] : all_)
      for (const char* suffix : {".qweight", ".weight_packed"})
        if (name.ends_with(suffix) && names.size() < 4)
          names.push_back(name.substr(0, name.size() - std::string_view(suffix).size()));
    return names.empty() ? "a layer with qweight, weight_packed or an integer weight"
                         : fmt::format("a quantised layer, such as {}", fmt::join(names, ", "));
  }

  Result<Format> settle(Format format, std::string because) {
    layer_.format_because = std::move(because);
    return format;
  }

  Result<Format> choose(const Wanted& wanted) {
    if (wanted.format) return settle(*wanted.format, "as was asked");
    if (wanted.any_gptq) return gptq("as was asked");
    if (find("weight_packed") != nullptr)
      return settle(Format::compressed_tensors, "by the name weight_packed");
    if (find("qweight") != nullptr) return awq_or_gptq();
    const Place* weight = find("weight");
    if (weight != nullptr &&
        (weight->entry.dtype == "I32" || weight->entry.dtype == "U8" || weight->entry.dtype == "I8"))
      return plain_or_mslk(*weight);
    return bad("layer " + layer_.name, present(), known());
  }

  Result<Format> gptq(std::string because) {
    if (config_.checkpoint_format == "gptq_v2")
      return settle(Format::gptq_v2, because + ", v2 by " + config_.file);
    if (config_.checkpoint_format == "gptq")
      return settle(Format::gptq_v1, because + ", v1 by " + config_.file);
    // Writers before the field existed wrote v1, with a configuration that says gptq.
    if (config_.checkpoint_format.empty() && config_.method == "gptq")
      return settle(Format::gptq_v1, because + ", v1 as " + config_.file + " has no checkpoint_format");
    if (find("qzeros") == nullptr) return settle(Format::gptq_v1, because + ", without zero points");
    return bad("format", "gptq of a version that no configuration tells",
               "gptq_v1 (zero points stored as z - 1) or gptq_v2");
  }

  Result<Format> awq_or_gptq() {
    const Place* weights = find("qweight");
    const Place* scales = find("scales");
    if (scales == nullptr || scales->entry.shape.size() != 2 || weights->entry.shape.size() != 2)
      return bad(layer_.name, "qweight without scales of two dimensions", "both, of two dimensions");
    const std::int64_t columns = weights->entry.shape[1], n = scales->entry.shape[1];
    const bool awq = columns != n && columns == n / 8 && n % 8 == 0;
    if (!awq && columns != n)
      return bad(layer_.name + ".qweight.shape", fmt::format("[{}]", fmt::join(weights->entry.shape, ", ")),
                 fmt::format("[K, {}] (AWQ) or [K/8, {}] (GPTQ), as scales has {} columns", n / 8, n, n));
    const char* shape = awq ? "awq" : "gptq";
    if ((config_.method == "awq" || config_.method == "gptq") && config_.method != shape)
      return bad(config_.file + ": quant_method", config_.method,
                 fmt::format("{}, as qweight's shape says", shape));
    return awq ? settle(Format::awq, "by qweight's shape [K, N/8]") : gptq("by qweight's shape [K/8, N]");
  }

  Result<Format> plain_or_mslk(const Place& weight) {
    const Place* scales = find(names_of(Format::row_major).scales);
    const Place* zeros = find(names_of(Format::row_major).zero_points);
    if (scales == nullptr || scales->entry.shape.size() != 2 || weight.entry.shape.size() != 2)
      return bad("layer " + layer_.name, "an integer weight without scales of two dimensions",
                 "scales or weight_scale of two dimensions");
    if (zeros != nullptr) {
      const bool floats = zeros->entry.dtype == "BF16" || zeros->entry.dtype == "F32";
      return settle(floats ? Format::mslk : Format::row_major, "by the dtype of the zero points");
    }
    const std::int64_t n = weight.entry.shape[0];
    const bool plain = scales->entry.shape[0] == n, mslk = scales->entry.shape[1] == n;
    if (plain != mslk) return settle(plain ? Format::row_major : Format::mslk, "by the shape of the scales");
    return bad(
        "format", fmt::format("open: scales are [{}]", fmt::join(scales->entry.shape, ", ")),
        "plain (scales [N, K/G], nibbles unsigned) or mslk (scales [K/G, N], nibbles two's complement)");
  }

  // ---- tensors ----

  Result<repack::Tensor> load(const Place& p) {
    constexpr std::array<std::pair<std::string_view, Dtype>, 7> types{{{"U8", Dtype::u8},
                                                                       {"I8", Dtype::i8},
                                                                       {"I32", Dtype::i32},
                                                                       {"I64", Dtype::i64},
                                                                       {"F16", Dtype::f16},
                                                                       {"BF16", Dtype::bf16},
                                                                       {"F32", Dtype::f32}}};
    const auto* type = std::ranges::find(types, p.entry.dtype, &std::pair<std::string_view, Dtype>::first);
    if (type == types.end())
      return fail_field(ErrorCode::unsupported, p.entry.name + ".dtype", p.entry.dtype,
                        "U8, I8, I32, I64, F16, BF16 or F32");
    layer_.tensors.push_back(p.entry.name);
    repack::Tensor t;
    // weight_shape's bytes are a shape, too.
    if (load_ == Load::data || p.entry.name.ends_with(".weight_shape")) {
      auto words = read_data(p.path, p.entry);
      if (!words) return std::unexpected(words.error());
      layer_.memory.push_back(*std::move(words));
      t.data = std::as_bytes(std::span(layer_.memory.back())).first(p.entry.end - p.entry.begin);
    }
    t.dtype = type->second;
    t.shape = p.entry.shape;
    return t;
  }

  Result<void> load(const std::vector<const char*>& suffixes, std::optional<repack::Tensor>& into) {
    const Place* p = find(suffixes);
    if (p == nullptr) return {};
    auto tensor = load(*p);
    if (!tensor) return std::unexpected(tensor.error());
    into = *std::move(tensor);
    return {};
  }

  Result<void> read_tensors() {
    const Names names = names_of(layer_.source.format);
    std::optional<repack::Tensor> weights, scales;
    if (find(names.weights) == nullptr || find(names.scales) == nullptr)
      return bad("layer " + layer_.name, present(),
                 fmt::format("one with {} and {}, as {} has", names.weights.front(), names.scales.front(),
                             repack::name(layer_.source.format)));
    const std::pair<const std::vector<const char*>*, std::optional<repack::Tensor>*> wanted[] = {
        {&names.weights, &weights},
        {&names.scales, &scales},
        {&names.zero_points, &layer_.source.zero_points},
        {&names.g_idx, &layer_.source.g_idx},
        {&names.shape, &layer_.source.weight_shape}};
    for (const auto& [suffixes, into] : wanted)
      if (auto ok = load(*suffixes, *into); !ok) return ok;
    layer_.source.weights = *std::move(weights);
    layer_.source.scales = *std::move(scales);
    if (auto ok = load({"bias"}, layer_.bias); !ok) return ok;
    // Columns of another group than their place says are GPTQ's alone among the layouts that repacking knows.
    if (layer_.source.format == Format::compressed_tensors && layer_.source.g_idx)
      return fail_field(ErrorCode::unsupported, layer_.name + ".weight_g_idx", "present",
                        "absent: act-order is served for GPTQ only");
    return {};
  }

  // ---- sizes ----

  Result<void> size() {
    const repack::Tensor& w = layer_.source.weights;
    const repack::Tensor& s = layer_.source.scales;
    for (const auto& [what, t] : {std::pair{"weights", &w}, std::pair{"scales", &s}})
      if (t->shape.size() != 2 || t->shape[0] < 1 || t->shape[1] < 1)
        return bad(fmt::format("{}.{}.shape", layer_.name, what),
                   fmt::format("[{}]", fmt::join(t->shape, ", ")), "two sizes of at least 1");
    const bool words = w.dtype == Dtype::i32;
    bool by_group = true;
    switch (layer_.source.format) {
      case Format::awq:
        layer_.k = w.shape[0];
        layer_.n = 8 * w.shape[1];
        break;
      case Format::gptq_v1:
      case Format::gptq_v2:
        layer_.k = 8 * w.shape[0];
        layer_.n = w.shape[1];
        break;
      default:
        layer_.n = w.shape[0];
        layer_.k = (words ? 8 : 2) * w.shape[1];
        by_group = layer_.source.format == Format::mslk;
    }
    if (auto ok = weight_shape(); !ok) return ok;
    const std::int64_t groups = by_group ? s.shape[0] : s.shape[1];
    if (layer_.k % groups != 0)
      return bad(layer_.name + ".scales.shape", fmt::format("[{}]", fmt::join(s.shape, ", ")),
                 fmt::format("of a number of groups that divides K, {}", layer_.k));
    layer_.group = layer_.k / groups;
    return check_bias();
  }

  /// K of compressed-tensors where it is no multiple of 8; plan() compares the rest.
  Result<void> weight_shape() {
    const auto& shape = layer_.source.weight_shape;
    if (!shape) return {};
    if (shape->dtype != Dtype::i64 || shape->shape != std::vector<std::int64_t>{2})
      return bad(layer_.name + ".weight_shape",
                 fmt::format("{} [{}]", repack::name(shape->dtype), fmt::join(shape->shape, ", ")),
                 "i64 [2]");
    std::int64_t k = 0;
    std::memcpy(&k, shape->data.data() + sizeof k, sizeof k);
    if (k <= layer_.k - 8 || k > layer_.k)
      return bad(
          layer_.name + ".weight_shape[1]", std::to_string(k),
          fmt::format("{} to {}, as weight_packed has {} words a row", layer_.k - 7, layer_.k, layer_.k / 8));
    layer_.k = k;
    return {};
  }

  Result<void> check_bias() {
    if (!layer_.bias) return {};
    const repack::Tensor& b = *layer_.bias;
    const bool floats = b.dtype == Dtype::f16 || b.dtype == Dtype::bf16 || b.dtype == Dtype::f32;
    if (floats && b.shape == std::vector<std::int64_t>{layer_.n}) return {};
    return bad(layer_.name + ".bias", fmt::format("{} [{}]", repack::name(b.dtype), fmt::join(b.shape, ", ")),
               fmt::format("f16, bf16 or f32 [{}]", layer_.n));
  }

  Result<void> check_config() {
    if (config_.bits && *config_.bits != 4)
      return fail_field(ErrorCode::unsupported, config_.file + ": bits", std::to_string(*config_.bits), "4");
    if (config_.group) {
      const std::int64_t said = *config_.group == -1 ? layer_.k : *config_.group;
      if (said != layer_.group)
        return bad(config_.file + ": group_size", std::to_string(*config_.group),
                   fmt::format("{}, as the scales of {} have {} groups of K = {}", layer_.group, layer_.name,
                               layer_.k / layer_.group, layer_.k));
    }
    // A symmetric layer without the tensor is common; an asymmetric one cannot be read without it.
    if (config_.symmetric == false && !layer_.source.zero_points)
      return bad("layer " + layer_.name, "without zero points",
                 fmt::format("with them, as {} declares it asymmetric", config_.file));
    if (config_.act_order == true && !layer_.source.g_idx)
      return bad("layer " + layer_.name, "without g_idx",
                 fmt::format("with it, as {} says that columns are reordered", config_.file));
    return {};
  }

  const Tensors& all_;
  const QuantConfig& config_;
  Load load_;
  Layer layer_;
};

}  // namespace

Result<Wanted> wanted_format(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Format>, 6> formats{
      {{"awq", Format::awq},
       {"gptq_v1", Format::gptq_v1},
       {"gptq_v2", Format::gptq_v2},
       {"compressed-tensors", Format::compressed_tensors},
       {"plain", Format::row_major},
       {"mslk", Format::mslk}}};
  if (name == "auto") return Wanted{};
  if (name == "gptq") return Wanted{{}, true};
  for (const auto& [text, format] : formats)
    if (text == name) return Wanted{format, false};
  return bad("format", std::string(name),
             "auto, awq, gptq, gptq_v1, gptq_v2, compressed-tensors, plain or mslk");
}

Result<Inventory> read_inventory(const std::filesystem::path& folder) {
  auto config = read_config(folder);
  if (!config) return std::unexpected(config.error());
  auto tensors = read_headers(folder);
  if (!tensors) return std::unexpected(tensors.error());
  return Inventory{*std::move(config), *std::move(tensors)};
}

std::vector<std::string> quantised_layers(const Inventory& folder) {
  std::vector<std::string> layers;
  const auto has = [&](const std::string& layer, const char* suffix) {
    return folder.tensors.contains(fmt::format("{}.{}", layer, suffix));
  };
  for (const auto& [name, place] : folder.tensors) {
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos) continue;
    const std::string layer = name.substr(0, dot), suffix = name.substr(dot + 1);
    const std::string& dtype = place.entry.dtype;
    const bool integers = dtype == "I32" || dtype == "U8" || dtype == "I8";
    if (suffix == "qweight" || suffix == "weight_packed" ||
        (suffix == "weight" && integers && (has(layer, "scales") || has(layer, "weight_scale"))))
      layers.push_back(layer);
  }
  return layers;
}

Result<Layer> read_layer(const Inventory& folder, std::string_view name, const Wanted& wanted, Load load) {
  return Reader(folder, name, load).read(wanted);
}

Result<Layer> read_layer(const std::filesystem::path& folder, std::string_view name, const Wanted& wanted) {
  const auto opened = read_inventory(folder);
  if (!opened) return std::unexpected(opened.error());
  return read_layer(*opened, name, wanted);
}

}  // namespace wavejit::checkpoint
