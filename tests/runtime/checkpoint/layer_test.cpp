// SPDX-License-Identifier: MIT
// Layers of small checkpoint folders: found by name, format and sizes told, contradictions refused.
#include "runtime/checkpoint/layer.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "runtime/checkpoint/config.hpp"
#include "tests/runtime/checkpoint/folder.hpp"

using namespace wavejit;
using namespace wavejit::checkpoint;
using namespace wavejit::checkpoint::test;
using repack::Dtype;
using repack::Format;
using repack::test::blank_checkpoint;
using repack::test::Checkpoint;
using repack::test::Matrix;
using repack::test::random_checkpoint;
using Json = nlohmann::json;

namespace {

void write(const Folder& folder, const Checkpoint& c, const std::string& file = "model.safetensors") {
  folder.write(file, safetensors(tensors_of(c, "l.0.proj")));
}

Result<Layer> read(const Folder& folder, const std::string& format = "auto") {
  const auto wanted = wanted_format(format);
  REQUIRE(wanted);
  return read_layer(folder.path(), "l.0.proj", *wanted);
}

void refused(const Result<Layer>& r, const std::string& field, const std::string& given) {
  REQUIRE_FALSE(r);
  INFO(r.error().message);
  CHECK(r.error().field.find(field) != std::string::npos);
  CHECK(r.error().given.find(given) != std::string::npos);
  CHECK_FALSE(r.error().allowed.empty());
}

}  // namespace

TEST_CASE("a layer's sizes, and what names and shapes prove, are told without a configuration",
          "[checkpoint]") {
  struct Sample {
    Format format;
    repack::test::Options options;
    const char* asked;
  };
  const Sample samples[] = {
      {Format::awq, {.zero_points = true}, "auto"},
      {Format::awq, {}, "auto"},
      {Format::gptq_v1, {}, "gptq"},
      {Format::gptq_v2, {.zero_points = true}, "gptq_v2"},
      {Format::compressed_tensors, {.zero_points = true, .scale_type = Dtype::bf16}, "auto"},
      {Format::compressed_tensors, {}, "compressed-tensors"},
      {Format::row_major, {}, "plain"},
      {Format::row_major, {.zero_points = true, .weight_type = Dtype::u8}, "auto"},
      {Format::row_major, {.weight_type = Dtype::u8}, "plain"},
      {Format::mslk, {.zero_points = true, .scale_type = Dtype::bf16}, "mslk"},
      {Format::mslk, {.scale_type = Dtype::f32}, "mslk"},
  };
  for (const Sample& s : samples) {
    const Folder folder;
    const Checkpoint c = random_checkpoint(s.format, 72, 96, 32, s.options, 3);
    write(folder, c);
    const auto layer = read(folder, s.asked);
    INFO(repack::name(s.format) << (layer ? "" : layer.error().message));
    REQUIRE(layer);
    CHECK(layer->source.format == s.format);
    CHECK(layer->n == 72);
    CHECK(layer->k == 96);
    CHECK(layer->group == 32);
    CHECK(layer->source.zero_points_declared == c.declared);
    CHECK_FALSE(layer->format_because.empty());
    CHECK_FALSE(layer->bias);
    CHECK(std::ranges::equal(layer->source.weights.data, c.weights.tensor().data));
    CHECK(std::ranges::equal(layer->source.scales.data, c.scales.tensor().data));
  }
}

TEST_CASE("a GPTQ version comes from the configuration", "[checkpoint]") {
  const Folder folder;
  write(folder, random_checkpoint(Format::gptq_v1, 72, 96, 32, {.zero_points = true}, 3));
  refused(read(folder), "format", "no configuration tells");
  const Json gptq = {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 32}, {"sym", false}};
  folder.write_config(gptq);
  REQUIRE(read(folder));
  CHECK(read(folder)->source.format == Format::gptq_v1);
  Json v2 = gptq;
  v2["checkpoint_format"] = "gptq_v2";
  folder.write_config(v2);
  CHECK(read(folder)->source.format == Format::gptq_v2);
  v2["checkpoint_format"] = "gptq";
  folder.write_config(v2);
  CHECK(read(folder)->source.format == Format::gptq_v1);
  CHECK(read(folder, "gptq")->source.format == Format::gptq_v1);
  CHECK(read(folder, "gptq_v2")->source.format == Format::gptq_v2);
}

TEST_CASE("the older file of a GPTQ writer is read", "[checkpoint]") {
  const Folder folder;
  write(folder, random_checkpoint(Format::gptq_v1, 72, 96, 32, {.zero_points = true}, 3));
  folder.write("config.json", R"({"model_type":"test"})");
  folder.write("quantize_config.json",
               R"({"bits":4,"group_size":32,"sym":false,"desc_act":false,"checkpoint_format":"gptq"})");
  const auto layer = read(folder);
  REQUIRE(layer);
  CHECK(layer->source.format == Format::gptq_v1);
  CHECK(layer->source.zero_points_declared == repack::ZeroPoints::asymmetric);
}

TEST_CASE("tensors of one layer may lie in several files, each in one", "[checkpoint]") {
  const Folder folder;
  const Checkpoint c = random_checkpoint(Format::awq, 72, 96, 32, {.zero_points = true}, 3);
  const auto all = tensors_of(c, "l.0.proj");
  folder.write("model-00001-of-00002.safetensors", safetensors({all[0]}));
  folder.write("model-00002-of-00002.safetensors", safetensors({all[1], all[2]}));
  REQUIRE(read(folder));
  folder.write("other.safetensors", safetensors({all[1]}));
  refused(read(folder), "tensor l.0.proj.scales",
          "model-00002-of-00002.safetensors and in other.safetensors");
}

TEST_CASE("a bias is read where there is one", "[checkpoint]") {
  const Folder folder;
  const Checkpoint c = random_checkpoint(Format::awq, 72, 96, 32, {}, 3);
  auto all = tensors_of(c, "l.0.proj");
  all.push_back(named("l.0.proj.bias", Matrix(Dtype::bf16, 1, 72), true));
  folder.write("model.safetensors", safetensors(all));
  const auto layer = read(folder);
  REQUIRE(layer);
  REQUIRE(layer->bias);
  CHECK(layer->bias->shape == std::vector<std::int64_t>{72});
  all.back() = named("l.0.proj.bias", Matrix(Dtype::bf16, 1, 71), true);
  folder.write("model.safetensors", safetensors(all));
  refused(read(folder), "l.0.proj.bias", "bf16 [71]");
}

TEST_CASE("compressed-tensors' configuration is read", "[checkpoint]") {
  const Folder folder;
  write(folder, random_checkpoint(Format::compressed_tensors, 72, 96, 96, {.zero_points = true}, 3));
  const auto config = [](bool symmetric, const Json& group, const char* strategy) {
    return Json{
        {"quant_method", "compressed-tensors"},
        {"format", "pack-quantized"},
        {"config_groups",
         {{"group_0",
           {{"targets", {"Linear"}},
            {"weights",
             {{"num_bits", 4}, {"group_size", group}, {"strategy", strategy}, {"symmetric", symmetric}}}}}}}};
  };
  folder.write_config(config(false, nullptr, "channel"));
  const auto layer = read(folder);
  INFO((layer ? "" : layer.error().message));
  REQUIRE(layer);
  CHECK(layer->group == 96);
  CHECK(layer->source.zero_points_declared == repack::ZeroPoints::asymmetric);
  folder.write_config(config(true, 96, "group"));
  refused(read(folder), "l.0.proj.weight_zero_point[group 0, row", "");
  Checkpoint eights = random_checkpoint(Format::compressed_tensors, 72, 96, 96, {.zero_points = true}, 3);
  eights.zero_points->fill(0x88888888);
  write(folder, eights);
  CHECK(read(folder)->source.zero_points_declared == repack::ZeroPoints::symmetric);
  folder.write_config(config(true, 32, "group"));
  refused(read(folder), "config.json: config_groups.group_0: group_size", "32");
}

TEST_CASE("contradictions are refused by name", "[checkpoint]") {
  const Folder folder;
  const Checkpoint c = random_checkpoint(Format::awq, 72, 96, 32, {}, 3);
  refused(read(folder), "checkpoint", folder.path().string());
  write(folder, c);
  const auto other = read_layer(folder.path(), "l.1.proj");
  refused(other, "layer l.1.proj", "absent");
  CHECK(other.error().allowed.find("l.0.proj") != std::string::npos);
  refused(read(folder, "compressed-tensors"), "layer l.0.proj", "with only l.0.proj.qweight");

  const auto with = [&](const Json& config) {
    folder.write_config(config);
    return read(folder);
  };
  refused(with({{"quant_method", "gptq"}}), "quant_method", "gptq");
  refused(with({{"bits", 8}}), "bits", "8");
  refused(with({{"bits", "4"}}), "bits", "\"4\"");
  refused(with({{"group_size", 128}}), "group_size", "128");
  refused(with({{"zero_point", true}}), "layer l.0.proj", "without zero points");
  refused(with({{"desc_act", true}}), "layer l.0.proj", "without g_idx");
  refused(with(7), "quantization_config", "7");
  folder.write("config.json", "{");
  refused(read(folder), "config.json", "no JSON object");
  folder.write("config.json", std::string(100000, '['));
  refused(read(folder), "config.json", "nested deeper than 64");
  CHECK_FALSE(wanted_format("gguf"));

  const Folder odd;
  Checkpoint wrong = random_checkpoint(Format::gptq_v1, 72, 96, 32, {}, 3);
  wrong.scales = Matrix(Dtype::f16, 5, 72);
  write(odd, wrong);
  refused(read(odd), "scales.shape", "[5, 72]");
  wrong.scales = Matrix(Dtype::f16, 3, 71);
  write(odd, wrong);
  refused(read(odd), "qweight.shape", "[12, 72]");
}

TEST_CASE("random mutations of a whole folder are read or refused", "[checkpoint]") {
  const Folder folder;
  const std::string config =
      Json{{"quantization_config",
            {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 32}, {"sym", false}, {"desc_act", false}}}}
          .dump();
  const std::string tensors = safetensors(
      tensors_of(random_checkpoint(Format::gptq_v1, 16, 64, 32, {.zero_points = true}, 3), "l.0.proj"));
  std::mt19937 random(11);
  const auto mutated = [&random](std::string text, std::size_t within) {
    const unsigned edits = random() % 3;
    for (unsigned i = 0; i < edits; ++i) text[random() % within] = "0123456789[]{},:\"-eIFU"[random() % 22];
    return text;
  };
  int read_in_all = 0;
  for (int i = 0; i < 600; ++i) {
    folder.write("config.json", mutated(config, config.size()));
    folder.write("model.safetensors", mutated(tensors, 500));
    const auto layer = read(folder);
    if (!layer) {
      REQUIRE_FALSE(layer.error().message.empty());
      continue;
    }
    ++read_in_all;
    // What was read can be planned or is refused; neither touches memory that is not there.
    repack::Destination d;
    d.n = layer->n;
    d.k = layer->k;
    d.group = layer->group;
    d.zero_points = repack::ZeroPoints::asymmetric;
    (void)repack::plan(layer->source, d);
  }
  CHECK(read_in_all > 20);
  CHECK(read_in_all < 590);
}
