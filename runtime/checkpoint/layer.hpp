// SPDX-License-Identifier: MIT
// One quantised linear layer of a checkpoint folder -> the Source that repack::plan takes. read_layer() is
// the one place that decides how a layer is stored, whether it can be repacked and why not.
//
// Names by format (shared/domain.md §1.1 to §1.3, §1.9); a `.bias` is taken where there is one:
//   AWQ, GPTQ           qweight, scales, [qzeros], [g_idx]
//   compressed-tensors  weight_packed, weight_scale, [weight_zero_point], [weight_shape], [weight_g_idx]
//   plain (row_major)   weight, scales | weight_scale, [zero_points | weight_zero_point]
//   MSLK                weight, scales | weight_scale, [zero_points | weight_zero_point]
// LAYER.qweight and so on; also LAYER_qweight, and LAYER_packed for LAYER.weight_packed, as modules that hold
// experts name theirs. Where the weights have three dimensions, [E, ...], each of the E matrices is a layer
// of its own: LAYER[0] to LAYER[E - 1].
//
// The format is what the caller names, else what the configuration says of this layer, else what names and
// shapes prove: sizes always, AWQ against GPTQ, and 4 bits where zero points, g_idx or weight_shape have
// sizes that fit nothing else. GPTQ's version, bits and the meaning of plain bytes are never guessed. What
// the configuration says (bits, group_size, sym, desc_act) must agree with the tensors.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/inventory.hpp"
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
  repack::Source source;               ///< views of `files` and `copies`
  std::optional<repack::Tensor> bias;  ///< [N], f16, bf16 or f32
  std::int64_t n = 0, k = 0, group = 0;
  std::vector<std::string> tensors;  ///< names that were read
  std::string format_because;        ///< a clause: where the format comes from
  /// By field of repack::Source: the tensor's name in the file.
  std::map<std::string, std::string, std::less<>> names;
  std::vector<std::shared_ptr<const File>> files;
  std::vector<std::vector<std::uint64_t>> copies;  ///< of tensors that are not aligned in their file

  /// An error of repack::plan with tensors named as the file names them.
  [[nodiscard]] Error in_names_of_file(Error e) const;
};

/// Names of the layers with qweight, weight_packed or an integer weight and its scales, in order; of those
/// that cannot be read, too.
std::vector<std::string> quantised_layers(const Inventory& folder);

/// Tensors of the folder that belong to a layer, whatever its format.
struct Stored {
  std::vector<std::string> tensors;
  std::uint64_t bytes = 0;  ///< of a layer of several in one tensor, its share
};
Stored stored_layer(const Inventory& folder, std::string_view name);

/// A layer that repack::plan takes into its own sizes, with gathered activations and scales as they are
/// stored (f32 becomes bf16); of the data only scales, zero points and indices are looked at. Errors: io (a
/// file is missing or malformed), invalid_argument (tensors contradict each other or the configuration; no
/// such layer, or the format cannot be told), unsupported (not 4 bits, or a method, format or dtype that
/// nothing here serves).
Result<Layer> read_layer(const Inventory& folder, std::string_view name, const Wanted& wanted = {});
Result<Layer> read_layer(const std::filesystem::path& folder, std::string_view name,
                         const Wanted& wanted = {});

}  // namespace wavejit::checkpoint
