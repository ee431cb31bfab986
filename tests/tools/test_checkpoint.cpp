// SPDX-License-Identifier: MIT
// Folders of many ways to store a layer: `wavejit model` and `wavejit run --checkpoint` agree on each, and
// what is refused blocks no other.
#include <catch2/catch.hpp>
#include <string>

#include "tests/tools/cli.hpp"

using namespace wavejit::test;

namespace {

/// A safetensors file of zero bytes.
class Zeros {
 public:
  Zeros& add(const std::string& name, const std::string& dtype, const std::vector<std::int64_t>& shape) {
    std::size_t bytes = dtype == "I32" ? 4 : dtype == "F16" ? 2 : 1;
    for (const std::int64_t size : shape) bytes *= static_cast<std::size_t>(size);
    header_[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {at_, at_ + bytes}}};
    at_ += bytes;
    return *this;
  }
  [[nodiscard]] std::string bytes() const {
    const std::string text = header_.dump();
    std::string file;
    for (unsigned i = 0; i < 8; ++i) file += static_cast<char>(text.size() >> (8 * i) & 0xFF);
    return file + text + std::string(at_, '\0');
  }

 private:
  nlohmann::json header_ = nlohmann::json::object();
  std::size_t at_ = 0;
};

Zeros all_kinds() {
  Zeros z;
  z.add("awq.qweight", "I32", {256, 8}).add("awq.scales", "F16", {8, 64});
  z.add("g4.qweight", "I32", {32, 64}).add("g4.scales", "F16", {8, 64});
  z.add("g8.qweight", "I32", {64, 64}).add("g8.scales", "F16", {8, 64});
  z.add("bytes.weight", "I8", {64, 256}).add("bytes.weight_scale", "F16", {64, 8});
  z.add("mx.weight_packed", "U8", {64, 128}).add("mx.weight_scale", "U8", {64, 8});
  z.add("ct.weight_packed", "I32", {64, 32}).add("ct.weight_scale", "F16", {64, 8});
  z.add("mlp.experts.up_packed", "I32", {2, 64, 32}).add("mlp.experts.up_scale", "F16", {2, 64, 8});
  z.add("small.weight_packed", "I32", {64, 2}).add("small.weight_scale", "F16", {64, 2});
  z.add("alone.qweight", "I32", {32, 64});
  z.add("fp8.weight", "F8_E4M3", {64, 64}).add("norm.weight", "F16", {64});
  return z;
}

}  // namespace

TEST_CASE("model and run agree on every layer of a folder", "[cli][checkpoint]") {
  const Folder folder;
  write_text(folder.file("m.safetensors"), all_kinds().bytes());
  write_text(folder.file("model.safetensors.index.json"), [] {
    nlohmann::json map{{"gone.qweight", "absent.safetensors"}, {"gone.scales", "absent.safetensors"}};
    for (const char* layer : {"awq.qweight", "awq.scales"}) map[layer] = "m.safetensors";
    return nlohmann::json{{"weight_map", map}}.dump();
  }());
  const char* gptq =
      R"({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": true}})";
  const char* packed =
      R"({"quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized",
    "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "group_size": 32}}}}})";
  const char* quark = R"({"quantization_config": {"quant_method": "quark"}})";
  const std::pair<const char*, std::vector<std::string>> samples[] = {
      {"{}", {"awq"}},
      {gptq, {"g4"}},
      {packed, {"ct", "mlp.experts.up[0]", "mlp.experts.up[1]"}},
      {quark, {}}};
  for (const auto& [config, right] : samples) {
    write_text(folder.file("config.json"), config);
    const Ran model = folder.wavejit("model . --json");
    INFO(config << model.err);
    REQUIRE(model.code == 0);
    std::vector<std::string> served;
    int refused = 0;
    const auto report = model.json();
    for (const auto& row : report.at("tensors")) {
      const std::string name = row.at("name");
      const Ran ran = folder.wavejit("run --checkpoint . --sample 1 --layer '" + name + "'");
      INFO(name << ": " << row.dump() << ran.err);
      if (row.at("kernel") == "w4a16") {
        CHECK(ran.code == 0);
        served.push_back(name);
      } else {
        CHECK(ran.code == 2);
        const bool layer =
            name.find(".weight") == std::string::npos && name.find("scale") == std::string::npos;
        if (layer) CHECK(ran.err.find(row.at("because").get<std::string>()) != std::string::npos);
        refused += layer;
      }
    }
    CHECK(served == right);
    CHECK(served.size() + static_cast<std::size_t>(refused) == 11);
    CHECK(model.out.find("absent.safetensors is missing") != std::string::npos);
  }
  CHECK(folder.wavejit("model .").out.find("weights of type F8_E4M3 (config.json: quant_method is quark") !=
        std::string::npos);
}

TEST_CASE("JSON from outside may not nest deep", "[cli]") {
  const Folder folder;
  write_text(folder.file("deep.json"), "{\"a\":" + std::string(60000, '[') + std::string(60000, ']') + "}");
  write_text(folder.file("k.hsaco"), "");
  for (const char* command : {"bundle deep.json --arch gfx1151 -o b", "run k.hsaco --args deep.json"}) {
    const Ran ran = folder.wavejit(command);
    INFO(command << ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.err.find("nested deeper than 64") != std::string::npos);
  }
}
