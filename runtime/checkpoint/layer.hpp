// SPDX-License-Identifier: MIT
// One quantised linear layer of a checkpoint folder (*.safetensors, config.json) -> the Source that
// repack::plan takes. Tensors are found by name, LAYER.qweight and so on; the format comes from the caller,
// from config.json's quantization_config (or quantize_config.json) or from names and shapes; sizes come from
// shapes, and whatever the configuration also says (bits, group_size, sym, desc_act, checkpoint_format) must
// agree.
//
// Names by format (shared/domain.md §1.1 to §1.3, §1.9); a `.bias` is taken where there is one:
//   AWQ, GPTQ           qweight, scales, [qzeros], [g_idx]
//   compressed-tensors  weight_packed, weight_scale, [weight_zero_point], [weight_shape], [weight_g_idx]
//   plain (row_major)   weight, scales | weight_scale, [zero_points | weight_zero_point]
//   MSLK                weight, scales | weight_scale, [zero_points | weight_zero_point]
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/config.hpp"
#include "runtime/checkpoint/safetensors.hpp"
#include "runtime/repack/repack.hpp"

namespace wavejit::checkpoint {

/// "awq", "gptq" (v1 or v2 as the configuration says), "gptq_v1", "gptq_v2", "compressed-tensors", "plain",
/// "mslk"; "auto" = nothing is given. Errors: invalid_argument that lists these.
struct Wanted {
  std::optional<repack::Format> format;
  bool any_gptq = false;
};
Result<Wanted> wanted_format(std::string_view name);

struct Layer {
  Layer() = default;
  Layer(Layer&&) = default;
  Layer& operator=(Layer&&) = default;

  std::string name;
  repack::Source source;               ///< views of `memory`
  std::optional<repack::Tensor> bias;  ///< [N], f16, bf16 or f32
  std::int64_t n = 0, k = 0, group = 0;
  std::vector<std::string> tensors;  ///< names that were read
  std::string format_because;        ///< a clause: where the format comes from
  std::vector<std::vector<std::uint64_t>> memory;
};

struct PlacedTensor {
  std::filesystem::path path;
  TensorEntry entry;
};

/// What the headers and the configuration of a folder say.
struct Inventory {
  QuantConfig config;
  std::map<std::string, PlacedTensor, std::less<>> tensors;
};

/// Reads headers only. Errors: io, invalid_argument (no folder, no file, a tensor in two files).
Result<Inventory> read_inventory(const std::filesystem::path& folder);

/// Names of the layers with qweight, weight_packed or an integer weight and its scales, in order.
std::vector<std::string> quantised_layers(const Inventory& folder);

/// `shapes`: tensors have shapes and types, and no bytes.
enum class Load : std::uint8_t { data, shapes };

/// Errors: io (a file is malformed), invalid_argument (tensors contradict each other or the configuration; no
/// such layer, or the format cannot be told), unsupported (not 4 bits, dtypes that no format has).
Result<Layer> read_layer(const Inventory& folder, std::string_view name, const Wanted& wanted = {},
                         Load load = Load::data);
Result<Layer> read_layer(const std::filesystem::path& folder, std::string_view name,
                         const Wanted& wanted = {});

}  // namespace wavejit::checkpoint
