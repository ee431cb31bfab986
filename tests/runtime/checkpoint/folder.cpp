// SPDX-License-Identifier: MIT
#include "tests/runtime/checkpoint/folder.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace wavejit::checkpoint::test {
namespace {

using repack::Dtype;
using repack::Format;

const char* dtype_name(Dtype type) {
  switch (type) {
    case Dtype::u8:
      return "U8";
    case Dtype::i8:
      return "I8";
    case Dtype::i32:
      return "I32";
    case Dtype::i64:
      return "I64";
    case Dtype::f16:
      return "F16";
    case Dtype::bf16:
      return "BF16";
    default:
      return "F32";
  }
}

}  // namespace

NamedTensor named(const std::string& name, const repack::test::Matrix& matrix, bool vector) {
  const repack::Tensor t = vector ? matrix.vector_tensor() : matrix.tensor();
  NamedTensor result{name, dtype_name(matrix.type), t.shape, {}};
  const std::int64_t row = matrix.columns * repack::bytes(matrix.type);
  for (std::int64_t r = 0; r < matrix.rows; ++r) {
    const auto bytes =
        t.data.subspan(static_cast<std::size_t>(r * matrix.stride), static_cast<std::size_t>(row));
    result.bytes.insert(result.bytes.end(), bytes.begin(), bytes.end());
  }
  return result;
}

std::string with_header(const std::string& header, const std::string& data) {
  std::string file;
  for (unsigned i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return file + header + data;
}

std::string safetensors(const std::vector<NamedTensor>& tensors) {
  nlohmann::json header = {{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  for (const NamedTensor& t : tensors) {
    const std::size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(t.bytes.data()), t.bytes.size());
    header[t.name] = {{"dtype", t.dtype}, {"shape", t.shape}, {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  return with_header(text, data);
}

std::vector<NamedTensor> tensors_of(const repack::test::Checkpoint& c, const std::string& layer) {
  const bool gptq = c.format == Format::gptq_v1 || c.format == Format::gptq_v2;
  const bool packed = c.format == Format::compressed_tensors;
  const bool qweight = gptq || c.format == Format::awq;
  const auto name = [&](const char* q, const char* p, const char* other) {
    return layer + "." + (qweight ? q : packed ? p : other);
  };
  std::vector<NamedTensor> all{named(name("qweight", "weight_packed", "weight"), c.weights),
                               named(name("scales", "weight_scale", "scales"), c.scales)};
  if (c.zero_points) all.push_back(named(name("qzeros", "weight_zero_point", "zero_points"), *c.zero_points));
  if (c.g_idx) all.push_back(named(layer + ".g_idx", *c.g_idx, true));
  if (c.weight_shape) all.push_back(named(layer + ".weight_shape", *c.weight_shape, true));
  return all;
}

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "wavejit-checkpoint-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void Folder::write(const std::string& file, const std::string& bytes) const {
  std::ofstream stream(path_ / file, std::ios::binary);
  stream << bytes;
  if (!stream.flush()) throw std::runtime_error("cannot write " + file);
}

void Folder::write_config(const nlohmann::json& quantization) const {
  write("config.json", nlohmann::json{{"model_type", "test"}, {"quantization_config", quantization}}.dump());
}

}  // namespace wavejit::checkpoint::test
