// SPDX-License-Identifier: MIT
#include "runtime/checkpoint/layer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/checkpoint/parts.hpp"

namespace wavejit::checkpoint {
namespace {

using repack::Dtype;
using repack::Format;
using Place = PlacedTensor;

std::unexpected<Error> bad(std::string field, std::string given, std::string allowed) {
  return fail_field(ErrorCode::invalid_argument, std::move(field), std::move(given), std::move(allowed));
}
std::unexpected<Error> unsupported(std::string field, std::string given, std::string allowed) {
  return fail_field(ErrorCode::unsupported, std::move(field), std::move(given), std::move(allowed));
}

template <class Shape>
std::string shape_text(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// Parts of a format; the first that exists counts.
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

Family family_of(Format format) {
  switch (format) {
    case Format::awq:
      return Family::awq;
    case Format::gptq_v1:
    case Format::gptq_v2:
      return Family::gptq;
    case Format::compressed_tensors:
      return Family::compressed_tensors;
    case Format::row_major:
      return Family::row_major;
    default:
      return Family::mslk;
  }
}

bool is_gptq(Format format) { return format == Format::gptq_v1 || format == Format::gptq_v2; }

class Reader {
 public:
  Reader(const Inventory& folder, std::string_view name)
      : folder_(folder), config_(folder.config), parts_(folder, name) {
    layer_.name = name;
  }

  Result<Layer> read(const Wanted& wanted) {
    using Step = Result<void> (Reader::*)();
    if (const Error* e = parts_.unreadable()) return std::unexpected(*e);
    auto format = choose(wanted);
    if (!format) return std::unexpected(std::move(format.error()));
    layer_.source.format = *format;
    for (const Step step : {&Reader::read_tensors, &Reader::size, &Reader::prove_bits, &Reader::check_config,
                            &Reader::drop_plain_order, &Reader::plan})
      if (auto ok = (this->*step)(); !ok) return std::unexpected(ok.error());
    return std::move(layer_);
  }

 private:
  [[nodiscard]] const Place* find(std::string_view part) const { return parts_.find(part); }
  [[nodiscard]] const Place* find(const std::vector<const char*>& names) const {
    for (const char* name : names)
      if (const Place* p = find(name)) return p;
    return nullptr;
  }
  [[nodiscard]] std::string layer_field() const { return "layer " + layer_.name; }

  // ---- which format ----

  [[nodiscard]] std::string present() const {
    std::vector<std::string> names;
    for (const char separator : {'.', '_'}) {
      const std::string prefix = parts_.base() + separator;
      for (auto it = folder_.tensors.lower_bound(prefix);
           it != folder_.tensors.end() && it->first.starts_with(prefix) && names.size() < 8; ++it)
        names.push_back(it->first);
    }
    std::string text = names.empty() ? "absent" : fmt::format("with only {}", fmt::join(names, ", "));
    if (!folder_.missing.empty()) text += fmt::format(" where {} is missing", folder_.missing.front());
    return text;
  }

  /// Layers that there are, for the one who mistyped.
  [[nodiscard]] std::string known() const {
    auto names = quantised_layers(folder_);
    if (names.size() > 4) names.resize(4);
    return names.empty() ? "a layer with qweight, weight_packed or an integer weight"
                         : fmt::format("a quantised layer, such as {}", fmt::join(names, ", "));
  }

  Result<Format> settle(Format format, std::string because) {
    layer_.format_because = std::move(because);
    return format;
  }

  Result<Format> choose(const Wanted& wanted) {
    auto said = config_.of(parts_.base());
    if (!said) return std::unexpected(said.error());
    said_ = *std::move(said);
    const Place* weights = parts_.weights();
    const bool packed =
        weights != nullptr && (!weights->entry.name.ends_with(".weight") || of_integers(weights->entry));
    named_ = wanted.format || wanted.any_gptq;
    if (!packed) {
      const bool floats = weights != nullptr && weights->entry.dtype.find("F8") == std::string::npos;
      if (said_.refusal && !floats && !present().starts_with("absent"))
        return std::unexpected(*said_.refusal);
      return bad(layer_field(), present(), known());
    }
    if (said_.refusal && !(named_ && said_.format_may_be_named)) return std::unexpected(*said_.refusal);
    if (named_) {
      const Family asked = wanted.format ? family_of(*wanted.format) : Family::gptq;
      if (said_.family != Family::open && said_.family != asked)
        return bad("format", wanted.format ? std::string(repack::name(*wanted.format)) : "gptq",
                   fmt::format("auto, or one that {} allows, which says {}", said_.where, config_.method));
      return wanted.format ? settle(*wanted.format, "as was asked") : gptq("as was asked");
    }
    if (find("weight_packed") != nullptr) return pack_quantised();
    if (find("qweight") != nullptr) return awq_or_gptq();
    return plain_or_mslk(*weights);
  }

  /// Null where the configuration says nothing else than these.
  Result<void> family_is(std::initializer_list<Family> families, const char* allowed) {
    if (said_.family == Family::open || std::ranges::find(families, said_.family) != families.end())
      return {};
    return bad(config_.file + ": quant_method", config_.method, allowed);
  }

  Result<Format> pack_quantised() {
    if (auto ok =
            family_is({Family::compressed_tensors}, "compressed-tensors, as the name weight_packed says");
        !ok)
      return std::unexpected(ok.error());
    const TensorEntry& e = find("weight_packed")->entry;
    if (e.dtype != "I32")
      return unsupported(
          e.name + ".dtype", e.dtype,
          "I32, as pack-quantized has it: bytes are those of formats such as MXFP4 and NVFP4, which "
          "nothing here serves");
    return settle(Format::compressed_tensors, "by the name weight_packed");
  }

  Result<Format> gptq(std::string because) {
    if (said_.gptq_v2)
      return *said_.gptq_v2 ? settle(Format::gptq_v2, because + ", v2 by " + config_.file)
                            : settle(Format::gptq_v1, because + ", v1 by " + config_.file);
    if (find("qzeros") == nullptr) return settle(Format::gptq_v1, because + ", without zero points");
    return bad("format", "gptq of a version that no configuration tells",
               "gptq_v1 (zero points stored as z - 1) or gptq_v2");
  }

  Result<Format> awq_or_gptq() {
    const TensorEntry& weights = find("qweight")->entry;
    const Place* scales = find("scales");
    const std::size_t rank = parts_.index() ? 3 : 2;
    if (weights.shape.size() == 3 && !parts_.index()) return one_of(weights);
    if (scales == nullptr || scales->entry.shape.size() != rank || weights.shape.size() != rank)
      return bad(parts_.base(), "qweight without scales of two dimensions", "both, of two dimensions");
    const std::int64_t columns = weights.shape.back(), n = scales->entry.shape.back();
    const bool awq = columns != n && columns == n / 8 && n % 8 == 0;
    if (!awq && columns != n)
      return bad(weights.name + ".shape", shape_text(weights.shape),
                 fmt::format("[K, {}] (AWQ) or [K/8, {}] (GPTQ), as scales has {} columns", n / 8, n, n));
    const char* shape = awq ? "awq, as qweight's shape says" : "gptq, as qweight's shape says";
    if (auto ok = family_is({awq ? Family::awq : Family::gptq}, shape); !ok)
      return std::unexpected(ok.error());
    return awq ? settle(Format::awq, "by qweight's shape [K, N/8]") : gptq("by qweight's shape [K/8, N]");
  }

  Result<Format> plain_or_mslk(const Place& weight) {
    if (auto ok = family_is({Family::row_major, Family::mslk}, "plain or mslk, as integers named weight say");
        !ok)
      return std::unexpected(ok.error());
    const Place* scales = find(names_of(Format::row_major).scales);
    const Place* zeros = find(names_of(Format::row_major).zero_points);
    if (weight.entry.shape.size() == 3 && !parts_.index()) return one_of(weight.entry);
    const std::size_t rank = parts_.index() ? 3 : 2;
    if (scales == nullptr || scales->entry.shape.size() != rank || weight.entry.shape.size() != rank)
      return bad(layer_field(), "an integer weight without scales of two dimensions",
                 "scales or weight_scale of two dimensions");
    if (said_.family == Family::row_major) return settle(Format::row_major, "by " + config_.file);
    if (said_.family == Family::mslk) return settle(Format::mslk, "by " + config_.file);
    if (zeros != nullptr) {
      const bool floats = zeros->entry.dtype == "BF16" || zeros->entry.dtype == "F32";
      return settle(floats ? Format::mslk : Format::row_major, "by the dtype of the zero points");
    }
    const std::int64_t n = weight.entry.shape[rank - 2];
    const bool plain = scales->entry.shape[rank - 2] == n, mslk = scales->entry.shape[rank - 1] == n;
    if (plain != mslk) return settle(plain ? Format::row_major : Format::mslk, "by the shape of the scales");
    return bad(
        "format", fmt::format("open: scales are {}", shape_text(scales->entry.shape)),
        "plain (scales [N, K/G], nibbles unsigned) or mslk (scales [K/G, N], nibbles two's complement)");
  }

  // ---- tensors ----

  [[nodiscard]] std::unexpected<Error> one_of(const TensorEntry& weights) const {
    return bad(layer_field(), fmt::format("{} matrices in one tensor, {}", weights.shape[0], weights.name),
               fmt::format("one of them, {0}[0] to {0}[{1}]", parts_.base(), weights.shape[0] - 1));
  }

  /// `rank`: dimensions of the part of one layer. `field`: of repack::Source.
  Result<repack::Tensor> load(const Place& p, const char* field, std::size_t rank) {
    constexpr std::array<std::pair<std::string_view, Dtype>, 7> types{{{"U8", Dtype::u8},
                                                                       {"I8", Dtype::i8},
                                                                       {"I32", Dtype::i32},
                                                                       {"I64", Dtype::i64},
                                                                       {"F16", Dtype::f16},
                                                                       {"BF16", Dtype::bf16},
                                                                       {"F32", Dtype::f32}}};
    const TensorEntry& e = p.entry;
    const auto* type = std::ranges::find(types, e.dtype, &std::pair<std::string_view, Dtype>::first);
    if (type == types.end())
      return unsupported(e.name + ".dtype", e.dtype, "U8, I8, I32, I64, F16, BF16 or F32");
    layer_.tensors.push_back(e.name);
    layer_.names[field] = e.name;
    repack::Tensor t;
    t.data = p.file->bytes(e);
    t.dtype = type->second;
    t.shape = e.shape;
    if (parts_.index() && e.shape.size() == rank + 1) {
      if (e.shape[0] != matrices_)
        return bad(e.name + ".shape", shape_text(e.shape),
                   fmt::format("of {} matrices, as the weights are", matrices_));
      const std::size_t bytes = t.data.size() / static_cast<std::size_t>(matrices_);
      t.data = t.data.subspan(bytes * static_cast<std::size_t>(*parts_.index()), bytes);
      t.shape.erase(t.shape.begin());
    }
    layer_.files.push_back(p.file);
    if (reinterpret_cast<std::uintptr_t>(t.data.data()) %
            static_cast<std::uintptr_t>(repack::bytes(t.dtype)) !=
        0) {
      auto& copy = layer_.copies.emplace_back((t.data.size() + 7) / 8);
      std::memcpy(copy.data(), t.data.data(), t.data.size());
      t.data = std::as_bytes(std::span(copy)).first(t.data.size());
    }
    return t;
  }

  Result<void> load(const std::vector<const char*>& names, const char* field, std::size_t rank,
                    std::optional<repack::Tensor>& into) {
    const Place* p = find(names);
    if (p == nullptr) return {};
    auto tensor = load(*p, field, rank);
    if (!tensor) return std::unexpected(tensor.error());
    into = *std::move(tensor);
    return {};
  }

  Result<void> check_index(const TensorEntry& weights) {
    if (!parts_.index()) return weights.shape.size() == 3 ? Result<void>(one_of(weights)) : Result<void>{};
    if (weights.shape.size() != 3)
      return bad(layer_field(), fmt::format("an index into {} {}", weights.name, shape_text(weights.shape)),
                 parts_.base() + ", one matrix");
    matrices_ = weights.shape[0];
    return *parts_.index() < matrices_ ? Result<void>{} : Result<void>(one_of(weights));
  }

  Result<void> read_tensors() {
    const Names names = names_of(layer_.source.format);
    std::optional<repack::Tensor> weights, scales;
    if (find(names.weights) == nullptr || find(names.scales) == nullptr)
      return bad(layer_field(), present(),
                 fmt::format("one with {} and {}, as {} has", names.weights.front(), names.scales.front(),
                             repack::name(layer_.source.format)));
    if (auto ok = check_index(find(names.weights)->entry); !ok) return ok;
    repack::Source& s = layer_.source;
    for (auto&& [parts, field, rank, into] :
         {std::tuple(&names.weights, "weights", 2U, &weights),
          std::tuple(&names.scales, "scales", 2U, &scales),
          std::tuple(&names.zero_points, "zero_points", 2U, &s.zero_points),
          std::tuple(&names.g_idx, "g_idx", 1U, &s.g_idx),
          std::tuple(&names.shape, "weight_shape", 1U, &s.weight_shape)})
      if (auto ok = load(*parts, field, rank, *into); !ok) return ok;
    s.weights = *std::move(weights);
    s.scales = *std::move(scales);
    return load({"bias"}, "bias", 1, layer_.bias);
  }

  // ---- sizes ----

  Result<void> size() {
    const repack::Tensor& w = layer_.source.weights;
    const repack::Tensor& s = layer_.source.scales;
    for (const auto& [what, t] : {std::pair{"weights", &w}, std::pair{"scales", &s}})
      if (t->shape.size() != 2 || t->shape[0] < 1 || t->shape[1] < 1)
        return bad(layer_.names[what] + ".shape", shape_text(t->shape), "two sizes of at least 1");
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
      return bad(layer_.names["scales"] + ".shape", shape_text(s.shape),
                 fmt::format("of a number of groups that divides K, {}", layer_.k));
    layer_.group = layer_.k / groups;
    return check_bias();
  }

  /// K of compressed-tensors where it is no multiple of 8; plan() compares the rest.
  Result<void> weight_shape() {
    auto& shape = layer_.source.weight_shape;
    if (!shape) return {};
    const std::string& name = layer_.names["weight_shape"];
    if (parts_.index() && shape->shape == std::vector<std::int64_t>{3} && shape->dtype == Dtype::i64) {
      shape->shape = {2};  // of {E, N, K}
      shape->data = shape->data.subspan(sizeof(std::int64_t));
    }
    if (shape->dtype != Dtype::i64 || shape->shape != std::vector<std::int64_t>{2})
      return bad(name, fmt::format("{} {}", repack::name(shape->dtype), shape_text(shape->shape)), "i64 [2]");
    std::int64_t k = 0;
    std::memcpy(&k, shape->data.data() + sizeof k, sizeof k);
    if (k <= layer_.k - 8 || k > layer_.k)
      return bad(name + "[1]", std::to_string(k),
                 fmt::format("{} to {}, as {} has {} words of 8 nibbles a row", layer_.k - 7, layer_.k,
                             layer_.names["weights"], layer_.k / 8));
    layer_.k = k;
    return {};
  }

  Result<void> check_bias() {
    if (!layer_.bias) return {};
    const repack::Tensor& b = *layer_.bias;
    const bool floats = b.dtype == Dtype::f16 || b.dtype == Dtype::bf16 || b.dtype == Dtype::f32;
    if (floats && b.shape == std::vector<std::int64_t>{layer_.n}) return {};
    return bad(layer_.names["bias"], fmt::format("{} {}", repack::name(b.dtype), shape_text(b.shape)),
               fmt::format("f16, bf16 or f32 [{}]", layer_.n));
  }

  // ---- what must be said or proved ----

  /// Elements of 4 bits and no others give some tensor the size that it has.
  [[nodiscard]] bool bits_follow() const {
    const repack::Source& s = layer_.source;
    const auto has = [](const std::optional<repack::Tensor>& t, std::size_t axis, std::int64_t size) {
      return t && t->dtype == Dtype::i32 && t->shape.size() > axis && t->shape[axis] == size;
    };
    const bool one_word = layer_.n <= 4;  // of 8 bits, too
    switch (s.format) {
      case Format::awq:
        return true;
      case Format::gptq_v1:
      case Format::gptq_v2:
        return has(s.g_idx, 0, layer_.k) || has(s.zero_points, 1, layer_.n / 8);
      case Format::compressed_tensors:
        return s.weight_shape || (!one_word && has(s.zero_points, 0, (layer_.n + 7) / 8));
      case Format::row_major:
        return !one_word && has(s.zero_points, 0, (layer_.n + 7) / 8);
      default:
        return false;
    }
  }

  Result<void> prove_bits() {
    if (said_.bits || named_ || bits_follow()) return {};
    return bad(layer_field(),
               fmt::format("of a number of bits that nothing tells: {} {} may hold other integers",
                           layer_.names["weights"], shape_text(layer_.source.weights.shape)),
               "described by a quantization_config with bits 4, or read in a format that is named");
  }

  Result<void> check_config() {
    if (said_.group && *said_.group != 0) {
      const std::int64_t said = *said_.group == -1 ? layer_.k : *said_.group;
      const std::string field = said_.where + ": group_size";
      if (said != layer_.group && 2 * said == layer_.group && layer_.source.format != Format::awq)
        return unsupported(layer_.names["weights"],
                           fmt::format("of 8 bits, if groups are of {} as {} says", said, said_.where),
                           "of 4 bits");
      if (said != layer_.group)
        return bad(field, std::to_string(*said_.group),
                   fmt::format("{}, as {} has {} groups of K = {}", layer_.group, layer_.names["scales"],
                               layer_.k / layer_.group, layer_.k));
    }
    const bool symmetric = said_.symmetric.value_or(!layer_.source.zero_points.has_value());
    layer_.source.zero_points_declared =
        symmetric ? repack::ZeroPoints::symmetric : repack::ZeroPoints::asymmetric;
    if (!said_.symmetric && symmetric && !folder_.missing.empty())
      return fail(ErrorCode::io, fmt::format("{} is missing, and may hold zero points of {}",
                                             folder_.missing.front(), layer_.name));
    // A symmetric layer without the tensor is common; an asymmetric one cannot be read without it.
    if (!symmetric && !layer_.source.zero_points)
      return bad(layer_field(), "without zero points",
                 fmt::format("with them, as {} declares it asymmetric", said_.where));
    if (said_.act_order == true && !layer_.source.g_idx)
      return bad(layer_field(), "without g_idx",
                 fmt::format("with it, as {} says that columns are reordered", said_.where));
    return {};
  }

  /// Of GPTQ plan() sorts columns; of the others an order that changes nothing may be given. Writers fill
  /// with -1 what they do not use.
  Result<void> drop_plain_order() {
    auto& g_idx = layer_.source.g_idx;
    if (!g_idx || is_gptq(layer_.source.format)) return {};
    const std::string& name = layer_.names["g_idx"];
    if (g_idx->dtype != Dtype::i32 || g_idx->shape != std::vector<std::int64_t>{layer_.k})
      return bad(name, fmt::format("{} {}", repack::name(g_idx->dtype), shape_text(g_idx->shape)),
                 fmt::format("i32 [{}], one group for each column", layer_.k));
    std::vector<std::int32_t> groups(static_cast<std::size_t>(layer_.k));
    std::memcpy(groups.data(), g_idx->data.data(), groups.size() * sizeof groups[0]);
    const bool unused = std::ranges::all_of(groups, [](std::int32_t g) { return g == -1; });
    for (std::int64_t k = 0; k < layer_.k && !unused; ++k)
      if (groups[static_cast<std::size_t>(k)] != k / layer_.group)
        return unsupported(
            fmt::format("{}[{}]", name, k), std::to_string(groups[static_cast<std::size_t>(k)]),
            fmt::format("{}: columns in another order are served for GPTQ only", k / layer_.group));
    g_idx.reset();
    return {};
  }

  Result<void> plan() {
    repack::Destination d;
    d.n = layer_.n;
    d.k = layer_.k;
    d.group = layer_.group;
    d.scales = layer_.source.scales.dtype == Dtype::f16 ? Dtype::f16 : Dtype::bf16;
    d.zero_points = layer_.source.zero_points_declared;
    d.gathers_activations = true;
    const auto planned = repack::plan(layer_.source, d);
    if (!planned) return std::unexpected(layer_.in_names_of_file(planned.error()));
    return {};
  }

  const Inventory& folder_;
  const QuantConfig& config_;
  Parts parts_;
  Said said_;
  bool named_ = false;
  std::int64_t matrices_ = 0;
  Layer layer_;
};

}  // namespace

Error Layer::in_names_of_file(Error e) const {
  for (const auto& [field, tensor] : names) {
    const bool ours =
        e.field == field || e.field.starts_with(field + ".") || e.field.starts_with(field + "[");
    if (!ours || e.allowed.empty()) continue;
    return fail_field(e.code, tensor + e.field.substr(field.size()), e.given, e.allowed).error();
  }
  constexpr std::string_view sizes = "destination.";
  if (e.field.starts_with(sizes))
    return fail_field(e.code, name + ": " + e.field.substr(sizes.size()), e.given, e.allowed).error();
  return e;
}

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

Result<Layer> read_layer(const Inventory& folder, std::string_view name, const Wanted& wanted) {
  return Reader(folder, name).read(wanted);
}

Result<Layer> read_layer(const std::filesystem::path& folder, std::string_view name, const Wanted& wanted) {
  const auto opened = read_inventory(folder);
  if (!opened) return std::unexpected(opened.error());
  return read_layer(*opened, name, wanted);
}

}  // namespace wavejit::checkpoint
