// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "tools/wavejit/budget.hpp"

namespace wavejit::tools {
namespace {

namespace kquant = templates::kquant;

/// N of "blk.N.…"; -1 for a tensor of no layer.
std::int64_t layer_of(std::string_view name) {
  constexpr std::string_view prefix = "blk.";
  std::int64_t layer = -1;
  if (name.starts_with(prefix))
    std::from_chars(name.data() + prefix.size(), name.data() + name.size(), layer);
  return layer;
}

class Reader {
 public:
  explicit Reader(const gguf::File& file) : file_(file) {
    const gguf::Value* name = file.header().find("general.architecture");
    const auto text = name == nullptr ? std::nullopt : name->text();
    budget_.source = file.parts().front().path.string();
    budget_.format = "gguf";
    budget_.architecture = text ? std::string(*text) : "";
    tied_ = !file.find("output.weight");
    const std::int64_t layers = number("block_count"), predictors = number("nextn_predict_layers");
    decoded_layers_ = layers > 0 ? layers - predictors : -1;
    experts_used_ = number("expert_used_count");
  }

  Budget read() {
    for (const gguf::Located& tensor : file_.tensors()) budget_.rows.push_back(row_of(*tensor.tensor));
    if (experts_unknown_)
      budget_.notes.push_back(
          fmt::format("{}.expert_used_count is not said: all experts are counted.", budget_.architecture));
    if (tied_ && file_.find("token_embd.weight"))
      budget_.notes.emplace_back("There is no output.weight: token_embd.weight is read whole as the output.");
    return std::move(budget_);
  }

 private:
  /// 0 where it is not said.
  [[nodiscard]] std::int64_t number(std::string_view key) const {
    const gguf::Value* value = file_.header().find(fmt::format("{}.{}", budget_.architecture, key));
    const auto n = value == nullptr ? std::nullopt : value->unsigned_integer();
    return n && *n < (1ULL << 31) ? static_cast<std::int64_t>(*n) : 0;
  }

  WeightRow row_of(const gguf::Tensor& t) {
    WeightRow row;
    row.name = t.name;
    row.type = t.type_name();
    row.shape = t.dimensions;
    row.stored_bytes = t.end - t.begin;
    row.bytes = static_cast<double>(row.stored_bytes);
    const auto nothing = [&](double bytes, const char* because) {
      row.bytes = bytes;
      row.served = NoKernel{because};
      return row;
    };
    if (!t.unusable.empty()) {
      row.served = NoKernel{t.unusable};
      return row;
    }
    const auto one_row = static_cast<double>(t.row_bytes());
    if (decoded_layers_ >= 0 && layer_of(t.name) >= decoded_layers_)
      return nothing(0, "of a layer that predicts further tokens, which plain decoding leaves out");
    const bool embedding = t.name == "token_embd.weight";
    if (is_table(t.name) && !(embedding && tied_)) return nothing(one_row, "one row is looked up");
    if (t.dimensions.size() == 1) return nothing(row.bytes, "a vector, no product");
    const bool experts = t.name.find("_exps.") != std::string::npos;
    if (experts && t.dimensions.size() == 2)
      return nothing(one_row * used(t.dimensions[1]), "a vector of each expert, no product");
    std::int64_t matrices = 1;
    for (std::size_t i = 2; i < t.dimensions.size(); ++i) matrices *= t.dimensions[i];
    row.launches = experts ? used(matrices) : static_cast<double>(matrices);
    row.bytes = one_row * static_cast<double>(t.dimensions[1]) * row.launches;
    row.served = product(t);
    return row;
  }

  static bool is_table(std::string_view name) {
    constexpr std::array<std::string_view, 4> tables{"token_embd.weight", "per_layer_token_embd.weight",
                                                     "position_embd.weight", "token_types.weight"};
    return std::ranges::find(tables, name) != tables.end();
  }

  double used(std::int64_t experts) {
    if (experts_used_ == 0) experts_unknown_ = true;
    return static_cast<double>(experts_used_ == 0 ? experts : std::min(experts, experts_used_));
  }

  /// Of one matrix.
  static Served product(const gguf::Tensor& t) {
    for (const kquant::Type type : {kquant::Type::q4_k, kquant::Type::q5_k, kquant::Type::q6_k,
                                    kquant::Type::q8_0, kquant::Type::q4_0}) {
      if (templates::name(type) != t.type->name) continue;
      return kquant::Problem{.type = type, .n = t.dimensions[1], .k = t.row_elements(), .m = 1};
    }
    return NoKernel{fmt::format("no kernel for weights of type {}", t.type->name)};
  }

  const gguf::File& file_;
  Budget budget_;
  bool tied_ = false, experts_unknown_ = false;
  std::int64_t decoded_layers_ = -1, experts_used_ = 0;
};

}  // namespace

Budget budget_of(const gguf::File& file) { return Reader(file).read(); }

}  // namespace wavejit::tools
