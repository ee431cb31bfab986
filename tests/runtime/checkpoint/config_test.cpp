// SPDX-License-Identifier: MIT
// What a folder's configuration says counts, layer by layer; what nothing proves is refused, and one layer
// that is refused keeps no other from being read. Expected values: the fields as the writers' own
// documentation defines them (compressed-tensors' quant_scheme.py, GPTQModel's README "dynamic", AutoRound's
// export formats).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "runtime/checkpoint/layer.hpp"
#include "runtime/checkpoint/patterns.hpp"
#include "tests/runtime/checkpoint/folder.hpp"

using namespace wavejit;
using namespace wavejit::checkpoint;
using namespace wavejit::checkpoint::test;
using repack::Dtype;
using repack::Format;
using repack::test::Checkpoint;
using repack::test::Matrix;
using repack::test::random_checkpoint;
using Json = nlohmann::ordered_json;

namespace {

using Tensors = std::vector<NamedTensor>;

void add(Tensors& all, const Checkpoint& c, const std::string& layer) {
  for (NamedTensor& t : tensors_of(c, layer)) all.push_back(std::move(t));
}

NamedTensor zeros(const std::string& name, const std::string& dtype, std::vector<std::int64_t> shape) {
  std::size_t bytes = dtype == "I64" ? 8 : dtype == "I32" || dtype == "F32" ? 4 : dtype == "F16" ? 2 : 1;
  for (const std::int64_t size : shape) bytes *= static_cast<std::size_t>(size);
  return {name, dtype, std::move(shape), std::vector<std::byte>(bytes)};
}

void config(const Folder& folder, const Json& quantization) {
  folder.write("config.json", Json{{"quantization_config", quantization}}.dump());
}

Result<Layer> read(const Folder& folder, const std::string& layer, const char* format = "auto") {
  return read_layer(folder.path(), layer, *wanted_format(format));
}

std::string message(const Result<Layer>& r) { return r ? "read" : r.error().message; }

/// The refusal has all of `parts`.
void refused(const Result<Layer>& r, std::initializer_list<const char*> parts) {
  INFO(message(r));
  REQUIRE_FALSE(r);
  for (const char* part : parts) {
    INFO(part);
    CHECK(r.error().message.find(part) != std::string::npos);
  }
}

void sized(const Result<Layer>& r, Format format, std::int64_t n, std::int64_t k, std::int64_t group) {
  INFO(message(r));
  REQUIRE(r);
  CHECK(r->source.format == format);
  CHECK(r->n == n);
  CHECK(r->k == k);
  CHECK(r->group == group);
}

Json weights(int bits, int group, const Json& more = Json::object()) {
  Json w{
      {"num_bits", bits}, {"type", "int"}, {"group_size", group}, {"strategy", "group"}, {"symmetric", true}};
  w.update(more);
  return w;
}

Json groups_of(const Json& groups, const char* format = "pack-quantized") {
  return {{"quant_method", "compressed-tensors"}, {"format", format}, {"config_groups", groups}};
}

}  // namespace

TEST_CASE("bytes are read as nibbles only where that is said", "[checkpoint]") {
  const Folder folder;
  folder.write("m.safetensors",
               safetensors({zeros("l.weight", "I8", {64, 256}), zeros("l.weight_scale", "F16", {64, 4})}));
  refused(read(folder, "l"), {"layer l", "number of bits", "l.weight [64, 256]"});
  config(folder, {{"quant_method", "quark"}});
  refused(read(folder, "l"), {"config.json: quant_method", "quark"});
  sized(read(folder, "l", "plain"), Format::row_major, 64, 512, 128);
  config(folder, {{"bits", 4}, {"group_size", 128}});
  sized(read(folder, "l"), Format::row_major, 64, 512, 128);
  // One value a byte, whatever num_bits says.
  config(folder,
         groups_of({{"group_0", {{"targets", {"Linear"}}, {"weights", weights(4, 64)}}}}, "int-quantized"));
  for (const char* format : {"auto", "plain"})
    refused(read(folder, "l", format), {"config.json: format", "int-quantized", "pack-quantized"});
}

TEST_CASE("a named format that the configuration contradicts is refused", "[checkpoint]") {
  const Folder folder;
  Tensors all{zeros("l.weight", "I8", {64, 256}), zeros("l.weight_scale", "F16", {64, 4})};
  add(all, random_checkpoint(Format::gptq_v1, 72, 96, 32, {}, 3), "words");
  folder.write("m.safetensors", safetensors(all));
  // Eight bits a value where the configuration says so of the others, and of this one only to leave it out.
  Json groups = groups_of({{"group_0", {{"targets", {"Linear"}}, {"weights", weights(4, 128)}}}});
  for (const bool ignored : {false, true}) {
    if (ignored) groups["ignore"] = {"l"};
    config(folder, groups);
    for (const char* format : {"plain", "mslk"})
      refused(read(folder, "l", format), {"format", "config.json", "compressed-tensors", "auto"});
  }
  config(folder, {{"quant_method", "awq"}, {"bits", 4}, {"group_size", 32}});
  for (const char* format : {"gptq", "gptq_v2", "compressed-tensors"})
    refused(read(folder, "words", format), {"format", "config.json", "awq", "auto"});
  config(folder, {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 32}});
  sized(read(folder, "words", "gptq_v2"), Format::gptq_v2, 72, 96, 32);
}

TEST_CASE("what shapes leave open is not guessed", "[checkpoint]") {
  const Folder folder;
  Tensors all;
  add(all, random_checkpoint(Format::gptq_v1, 72, 96, 32, {}, 3), "open");
  Checkpoint ordered = random_checkpoint(Format::gptq_v1, 72, 96, 32, {}, 3);
  ordered.g_idx = Matrix(Dtype::i32, 1, 96);
  for (std::int64_t k = 0; k < 96; ++k) ordered.g_idx->set(0, k, static_cast<std::uint64_t>(k / 32));
  add(all, ordered, "g_idx");
  all.push_back(zeros("packed.weight_packed", "I32", {72, 12}));
  all.push_back(zeros("packed.weight_scale", "F16", {72, 3}));
  folder.write("m.safetensors", safetensors(all));
  refused(read(folder, "open"), {"number of bits", "open.qweight", "quantization_config"});
  refused(read(folder, "packed"), {"number of bits", "packed.weight_packed"});
  sized(read(folder, "g_idx"), Format::gptq_v1, 72, 96, 32);  // 8 columns a word: K has as many groups
  sized(read(folder, "open", "gptq"), Format::gptq_v1, 72, 96, 32);
}

TEST_CASE("bytes of MXFP4 and NVFP4 are refused", "[checkpoint]") {
  const Folder folder;
  folder.write(
      "m.safetensors",
      safetensors({zeros("mx.weight_packed", "U8", {64, 128}), zeros("mx.weight_scale", "U8", {64, 8}),
                   zeros("nv.weight_packed", "U8", {64, 128}), zeros("nv.weight_scale", "F8_E4M3", {64, 16}),
                   zeros("e.gate_up_proj_blocks", "U8", {2, 64, 8, 16})}));
  for (const char* layer : {"mx", "nv"}) {
    refused(read(folder, layer), {".weight_packed.dtype", "U8", "I32", "MXFP4"});
    CHECK_FALSE(read(folder, layer, "compressed-tensors"));
  }
  config(folder, groups_of({{"group_0",
                             {{"targets", {"Linear"}},
                              {"format", "mxfp4-pack-quantized"},
                              {"weights", weights(4, 32, {{"type", "float"}})}}}}));
  refused(read(folder, "mx"), {"mxfp4-pack-quantized"});
  for (const char* method : {"mxfp4", "bitsandbytes", "hqq", "fp8", "modelopt"}) {
    config(folder, {{"quant_method", method}});
    refused(read(folder, "mx"), {"quant_method", method});
    refused(read(folder, "e.gate_up_proj"), {"quant_method", method});
  }
}

TEST_CASE("numbers that are not finite are read past, and JSON may not nest deep", "[checkpoint]") {
  const Folder folder;
  Tensors all;
  add(all, random_checkpoint(Format::awq, 72, 96, 32, {}, 3), "l");
  folder.write("m.safetensors", safetensors(all));
  folder.write("config.json",
               R"({"time_step_limit": [0.0, Infinity], "a": NaN, "b": [-Infinity, 1e999], "c": "Infinity",
    "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": false}})");
  sized(read(folder, "l"), Format::awq, 72, 96, 32);
  folder.write("config.json", R"({"quantization_config": {"quant_method": "awq", "bits": Infinity}})");
  refused(read(folder, "l"), {"config.json: bits", "Infinity", "an integer"});
  const std::string deep = std::string(60000, '[') + std::string(60000, ']');
  const auto nested = [&](const char* file) {
    folder.write(file, "{\"a\": " + deep + "}");
    refused(read(folder, "l"), {file, "nested deeper than 64"});
  };
  nested("config.json");
  config(folder, {{"bits", 4}});
  nested("model.safetensors.index.json");
  std::filesystem::remove(folder.path() / "model.safetensors.index.json");
  folder.write("m.safetensors", with_header("{\"a\": " + deep + "}"));
  refused(read(folder, "l"), {"m.safetensors: the header", "nested deeper than 4"});
}

TEST_CASE("each layer follows its own group of compressed-tensors", "[checkpoint]") {
  const Folder folder;
  Tensors all;
  const auto packed = [&](const char* layer, std::int64_t group) {
    add(all, random_checkpoint(Format::compressed_tensors, 72, 256, group, {}, 3), layer);
  };
  packed("m.layers.0.mlp.up_proj", 64);
  packed("m.layers.0.attn.q_proj", 128);
  packed("m.layers.0.attn.k_proj", 32);
  packed("m.layers.0.attn.v_proj", 64);
  packed("lm_head", 64);
  folder.write("m.safetensors", safetensors(all));
  Json c =
      groups_of({{"group_0", {{"targets", {"Linear"}}, {"weights", weights(4, 64, {{"observer", "mse"}})}}},
                 {"group_1", {{"targets", {"re:.*q_proj$"}}, {"weights", weights(4, 128)}}},
                 {"group_2", {{"targets", {"m.layers.0.attn.k_proj"}}, {"weights", weights(4, 32)}}},
                 {"group_3", {{"targets", {"re:.*v_proj"}}, {"weights", weights(8, 64)}}}});
  c["ignore"] = {"re:lm_head"};
  config(folder, c);
  sized(read(folder, "m.layers.0.mlp.up_proj"), Format::compressed_tensors, 72, 256, 64);
  sized(read(folder, "m.layers.0.attn.q_proj"), Format::compressed_tensors, 72, 256, 128);
  sized(read(folder, "m.layers.0.attn.k_proj"), Format::compressed_tensors, 72, 256, 32);
  refused(read(folder, "m.layers.0.attn.v_proj"),
          {"config_groups.group_3.weights.num_bits", "is 8", "must be 4"});
  refused(read(folder, "lm_head"), {"ignore", "re:lm_head"});
  c["config_groups"]["group_1"]["weights"]["type"] = "float";
  c["config_groups"]["group_2"]["weights"]["group_size"] = 128;
  config(folder, c);
  refused(read(folder, "m.layers.0.attn.q_proj"), {"group_1.weights.type", "float"});
  refused(read(folder, "m.layers.0.attn.k_proj"), {"group_2: group_size", "128", "must be 32"});
  sized(read(folder, "m.layers.0.mlp.up_proj"), Format::compressed_tensors, 72, 256, 64);
}

TEST_CASE("GPTQ's dynamic rules hold for the layers that they match", "[checkpoint]") {
  const Folder folder;
  Tensors all;
  for (const char* layer :
       {"model.layers.0.up", "model.layers.1.up", "model.layers.2.up", "model.layers.3.up"})
    add(all,
        random_checkpoint(Format::gptq_v2, 72, 256, layer[13] == '1' ? 32 : 64, {.zero_points = true}, 3),
        layer);
  folder.write("m.safetensors", safetensors(all));
  config(folder, {{"quant_method", "gptq"},
                  {"bits", 4},
                  {"group_size", 64},
                  {"sym", false},
                  {"desc_act", false},
                  {"checkpoint_format", "gptq_v2"},
                  {"dynamic",
                   {{"+:.*\\.1\\..*", {{"group_size", 32}}},
                    {".*\\.2\\..*", {{"bits", 8}}},
                    {"-:.*\\.3\\..*", Json::object()}}}});
  sized(read(folder, "model.layers.0.up"), Format::gptq_v2, 72, 256, 64);
  sized(read(folder, "model.layers.1.up"), Format::gptq_v2, 72, 256, 32);
  refused(read(folder, "model.layers.2.up"), {"bits is 8, but must be 4", "dynamic"});
  refused(read(folder, "model.layers.3.up"), {"dynamic", "leaves model.layers.3.up as it was"});
}

TEST_CASE("8 bits that the configuration does not admit are named", "[checkpoint]") {
  // 8 bits: qweight [K/4, N].
  const Folder folder;
  folder.write("m.safetensors",
               safetensors({zeros("l.qweight", "I32", {64, 72}), zeros("l.scales", "F16", {4, 72})}));
  config(folder, {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 64}, {"sym", true}});
  refused(read(folder, "l"), {"l.qweight is of 8 bits"});
}

TEST_CASE("AutoRound's packings are read", "[checkpoint]") {
  const Folder folder;
  Tensors all;
  add(all, random_checkpoint(Format::gptq_v1, 72, 256, 64, {.zero_points = true}, 3), "g.0");
  add(all, random_checkpoint(Format::gptq_v1, 72, 256, 32, {.zero_points = true}, 3), "g.1");
  add(all, random_checkpoint(Format::awq, 72, 256, 64, {.zero_points = true}, 3), "a.0");
  folder.write("m.safetensors", safetensors(all));
  Json c{{"quant_method", "auto-round"},
         {"bits", 4},
         {"group_size", 64},
         {"sym", false},
         {"data_type", "int"},
         {"packing_format", "auto_round:auto_gptq"},
         {"extra_config", {{"g.1", {{"group_size", 32}}}, {"a.0", {{"bits", 16}}}}}};
  config(folder, c);
  sized(read(folder, "g.0"), Format::gptq_v1, 72, 256, 64);
  sized(read(folder, "g.1"), Format::gptq_v1, 72, 256, 32);
  refused(read(folder, "a.0"), {"extra_config", "16 bits"});
  c["packing_format"] = "auto_round:auto_awq";
  c.erase("extra_config");
  config(folder, c);
  sized(read(folder, "a.0"), Format::awq, 72, 256, 64);
  refused(read(folder, "g.0"), {"quant_method", "auto-round", "gptq, as qweight's shape says"});
  c["packing_format"] = "auto_round:llm_compressor";
  config(folder, c);
  refused(read(folder, "g.0"), {"packing_format", "auto_round:llm_compressor"});
}

TEST_CASE("AWQ's other layouts and modules that were left are named", "[checkpoint]") {
  const Folder folder;
  Tensors all;
  add(all, random_checkpoint(Format::awq, 72, 256, 64, {.zero_points = true}, 3), "m.0.mlp.gate_proj");
  add(all, random_checkpoint(Format::awq, 72, 256, 64, {.zero_points = true}, 3), "m.0.mlp.gate");
  folder.write("m.safetensors", safetensors(all));
  Json c{{"quant_method", "awq"}, {"bits", 4},         {"group_size", 64},
         {"zero_point", true},    {"version", "gemm"}, {"modules_to_not_convert", {"mlp.gate"}}};
  config(folder, c);
  sized(read(folder, "m.0.mlp.gate_proj"), Format::awq, 72, 256, 64);
  refused(read(folder, "m.0.mlp.gate"), {"modules_to_not_convert", "mlp.gate"});
  c["version"] = "GEMV";
  config(folder, c);
  refused(read(folder, "m.0.mlp.gate_proj"), {"version is gemv, but must be gemm"});
}

TEST_CASE("a configuration is found where writers put it", "[checkpoint]") {
  const Folder folder;
  Tensors all;
  add(all, random_checkpoint(Format::awq, 72, 256, 64, {.zero_points = true}, 3), "l");
  folder.write("m.safetensors", safetensors(all));
  const Json wrong{{"quant_method", "awq"}, {"bits", 4}, {"group_size", 32}};
  const auto found = [&](const char* file, const Json& content, const std::string& where) {
    folder.write("config.json", "{}");
    folder.write(file, content.dump());
    refused(read(folder, "l"), {where.c_str(), "group_size", "must be 64"});
    std::filesystem::remove(folder.path() / file);
  };
  found("config.json", {{"quantization_config", wrong}}, "config.json");
  found("config.json", {{"text_config", {{"quantization_config", wrong}}}}, "config.json: text_config");
  found("config.json", {{"thinker_config", {{"text_config", {{"quantization_config", wrong}}}}}},
        "config.json: thinker_config.text_config");
  found("config.json", {{"compression_config", wrong}}, "config.json");
  found("quantize_config.json", wrong, "quantize_config.json");
  found("quant_config.json", wrong, "quant_config.json");
  folder.write("hf_quant_config.json", R"({"quantization": {"quant_algo": "NVFP4"}})");
  refused(read(folder, "l"), {"hf_quant_config.json: quant_method", "modelopt", "NVFP4"});
}

TEST_CASE("the index says which file a tensor is in, and what is missing blocks its layers alone",
          "[checkpoint]") {
  const Folder folder;
  Tensors a, b, stale;
  add(a, random_checkpoint(Format::awq, 72, 256, 64, {}, 3), "a");
  add(b, random_checkpoint(Format::awq, 72, 256, 32, {}, 4), "b");
  add(stale, random_checkpoint(Format::awq, 80, 256, 32, {}, 5), "a");
  add(stale, random_checkpoint(Format::awq, 80, 256, 32, {}, 5), "c");
  folder.write("model-1.safetensors", safetensors(a));
  folder.write("model-2.safetensors", safetensors(b));
  folder.write("other.safetensors", safetensors(stale));
  refused(read(folder, "a"), {"tensor a.qweight is in model-1.safetensors and in other.safetensors"});
  sized(read(folder, "b"), Format::awq, 72, 256, 32);
  sized(read(folder, "c"), Format::awq, 80, 256, 32);
  Json map;
  for (const char* part : {".qweight", ".scales"}) {
    map[std::string("a") + part] = "model-1.safetensors";
    map[std::string("b") + part] = "model-2.safetensors";
  }
  folder.write("model.safetensors.index.json", Json{{"weight_map", map}}.dump());
  sized(read(folder, "a"), Format::awq, 72, 256, 64);
  map["a.qweight"] = "other.safetensors";  // both have it
  map["a.scales"] = "other.safetensors";
  folder.write("model.safetensors.index.json", Json{{"weight_map", map}}.dump());
  sized(read(folder, "a"), Format::awq, 80, 256, 32);

  std::filesystem::remove(folder.path() / "model-2.safetensors");
  sized(read(folder, "a"), Format::awq, 80, 256, 32);
  refused(read(folder, "b"), {"model-2.safetensors is missing", "model.safetensors.index.json"});
  const auto inventory = read_inventory(folder.path());
  REQUIRE(inventory);
  CHECK(quantised_layers(*inventory) == std::vector<std::string>{"a", "c", "b"});
  folder.write("model-2.safetensors", safetensors(b).substr(0, 500));
  refused(read(folder, "b"), {"model-2.safetensors: "});
  folder.write("model-2.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 5\n");
  refused(read(folder, "b"), {"model-2.safetensors is a Git LFS pointer", "git lfs pull"});
  sized(read(folder, "a"), Format::awq, 80, 256, 32);

  // An index of files that have since been merged.
  for (const char* file : {"model-1.safetensors", "model-2.safetensors", "other.safetensors"})
    std::filesystem::remove(folder.path() / file);
  folder.write("model.safetensors", safetensors(a));
  sized(read(folder, "a"), Format::awq, 72, 256, 64);
  refused(read(folder, "b"), {"model-2.safetensors is missing"});
}

TEST_CASE("names of files count the parts that there should be", "[checkpoint]") {
  const Folder folder;
  Tensors all;
  add(all, random_checkpoint(Format::awq, 72, 256, 64, {.zero_points = true}, 3), "l");
  const NamedTensor zero_points = all.back();
  all.pop_back();
  folder.write("model-00001-of-00002.safetensors", safetensors(all));
  // Without its zero points this would be another, symmetric layer.
  refused(read(folder, "l"), {"model-00002-of-00002.safetensors is missing", "zero points of l"});
  refused(read(folder, "m"), {"layer m is absent where model-00002-of-00002.safetensors is missing"});
  folder.write("model-00002-of-00002.safetensors", safetensors({zero_points}));
  sized(read(folder, "l"), Format::awq, 72, 256, 64);
}

TEST_CASE("files that macOS leaves beside others are no part of a folder", "[checkpoint]") {
  const Folder folder;
  Tensors all;
  add(all, random_checkpoint(Format::awq, 72, 256, 64, {}, 3), "l");
  folder.write("model.safetensors", safetensors(all));
  folder.write("._model.safetensors", std::string("\0\5\26\7", 4) + std::string(4000, 'x'));
  folder.write("._model.safetensors.index.json", std::string("\0\5\26\7", 4));
  sized(read(folder, "l"), Format::awq, 72, 256, 64);
}

TEST_CASE("experts in one tensor are layers of their own", "[checkpoint]") {
  const std::string base = "m.layers.0.mlp.experts.gate_up_proj";
  for (const bool underscore : {false, true}) {
    const Folder folder;
    std::vector<Checkpoint> experts;
    for (unsigned i = 0; i < 3; ++i)
      experts.push_back(
          random_checkpoint(Format::compressed_tensors, 72, 96, 32, {.zero_points = true}, 3 + i));
    Tensors all = tensors_of(experts[0], base);
    std::erase_if(all, [](const NamedTensor& t) { return t.name.ends_with("_shape"); });
    for (NamedTensor& t : all) {
      for (std::size_t i = 1; i < 3; ++i)
        for (const NamedTensor& other : tensors_of(experts[i], base))
          if (other.name == t.name) t.bytes.insert(t.bytes.end(), other.bytes.begin(), other.bytes.end());
      t.shape.insert(t.shape.begin(), 3);
      if (underscore) t.name.replace(base.size(), std::strlen(".weight"), "");
    }
    all.push_back({base + (underscore ? "_shape" : ".weight_shape"), "I64", {3}, {}});
    for (const std::int64_t size : {3, 72, 96})
      for (unsigned i = 0; i < 8; ++i) all.back().bytes.push_back(static_cast<std::byte>(size >> (8 * i)));
    // Behind an odd number of bytes, so that nothing is aligned.
    all.insert(all.begin(), zeros("a", "U8", {3}));
    folder.write("m.safetensors", safetensors(all));
    for (std::size_t i = 0; i < 3; ++i) {
      const auto layer = read(folder, base + "[" + std::to_string(i) + "]");
      sized(layer, Format::compressed_tensors, 72, 96, 32);
      CHECK(std::ranges::equal(layer->source.weights.data, experts[i].weights.tensor().data));
      CHECK(std::ranges::equal(layer->source.scales.data, experts[i].scales.tensor().data));
      CHECK(std::ranges::equal(layer->source.zero_points->data, experts[i].zero_points->tensor().data));
    }
    refused(read(folder, base), {"3 matrices in one tensor", "gate_up_proj[0] to", "gate_up_proj[2]"});
    refused(read(folder, base + "[3]"), {"gate_up_proj[2]"});
    refused(read(folder, base + "[-1]"), {"absent"});
    const auto inventory = read_inventory(folder.path());
    REQUIRE(inventory);
    CHECK(quantised_layers(*inventory) == std::vector<std::string>{base + "[0]", base + "[1]", base + "[2]"});
    CHECK(stored_layer(*inventory, base + "[1]").bytes == 72 * 12 * 4 + 72 * 3 * 2 + 9 * 3 * 4 + 24 / 3);
  }
}

TEST_CASE("an order of columns that changes nothing is served", "[checkpoint]") {
  const Folder folder;
  Tensors all;
  const auto ordered = [&](const std::string& layer, auto group) {
    add(all, random_checkpoint(Format::compressed_tensors, 72, 96, 32, {}, 3), layer);
    Matrix g_idx(Dtype::i32, 1, 96);
    for (std::int64_t k = 0; k < 96; ++k) g_idx.set(0, k, static_cast<std::uint32_t>(group(k)));
    all.push_back(named(layer + ".weight_g_idx", g_idx, true));
  };
  ordered("plain", [](std::int64_t k) { return k / 32; });
  ordered("unused", [](std::int64_t) { return -1; });
  ordered("shuffled", [](std::int64_t k) { return k % 3; });
  folder.write("m.safetensors", safetensors(all));
  config(folder, groups_of({{"group_0", {{"targets", {"Linear"}}, {"weights", weights(4, 32)}}}}));
  sized(read(folder, "plain"), Format::compressed_tensors, 72, 96, 32);
  sized(read(folder, "unused"), Format::compressed_tensors, 72, 96, 32);
  refused(read(folder, "shuffled"), {"shuffled.weight_g_idx[1] is 1, but must be 0", "GPTQ only"});
}

TEST_CASE("zero points of GPTQ's other version are named by it", "[checkpoint]") {
  const Folder folder;
  Checkpoint c = random_checkpoint(Format::gptq_v2, 72, 96, 32, {.zero_points = true}, 3);
  const auto stored = [&](std::uint64_t word, const char* version, bool symmetric) {
    c.zero_points->fill(word);
    Tensors all;
    add(all, c, "l");
    folder.write("m.safetensors", safetensors(all));
    config(folder, {{"quant_method", "gptq"},
                    {"bits", 4},
                    {"group_size", 32},
                    {"sym", symmetric},
                    {"checkpoint_format", version}});
    return read(folder, "l");
  };
  const auto v1 = stored(0x88888888, "gptq", true);
  refused(v1, {"l.qzeros[group 0, column 0] is 9", "read as gptq_v2 they are 8 everywhere"});
  CHECK(v1.error().message.find("asymmetric") == std::string::npos);
  refused(stored(0x77777777, "gptq_v2", true), {"is 7", "read as gptq_v1 they are 8 everywhere"});
  refused(stored(0x87878787, "gptq", true), {"asymmetric", "gptq_v2"});
  refused(stored(0xFFFFFFFF, "gptq", false), {"l.qzeros", "15", "gptq_v2"});
  CHECK(stored(0x77777777, "gptq", true));
  CHECK(stored(0x88888888, "gptq_v2", true));
}

TEST_CASE("patterns from outside neither hang nor crash", "[checkpoint]") {
  Patterns patterns;
  const auto match = [&](const std::string& pattern, const std::string& name) {
    return patterns.match(pattern, name, Where::at_beginning, "dynamic");
  };
  CHECK(match(R"((?P<block>model\.layers\.\d{1,2})\.(?:q|k)_proj\Z)", "model.layers.12.q_proj") == true);
  CHECK(match(R"(layers\.)", "model.layers.1") == false);  // from the beginning
  CHECK(match("(?i)MODEL", "model") == true);
  CHECK(match(R"(a\\Z)", "a\\Z") == true);
  CHECK(match("(a+)+b", std::string(1500, 'a')) == false);
  for (const std::string& bad :
       {std::string("("), std::string(R"((a)\1)"), std::string(3000, 'a'), std::string("(a?){30000}"),
        std::string("((a?){100}){100}"), std::string(1999, '(')}) {
    const auto r = match(bad, "aaaa");
    REQUIRE_FALSE(r);
    CHECK(r.error().field == "dynamic");
  }
}
