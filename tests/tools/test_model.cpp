// SPDX-License-Identifier: MIT
// `wavejit model` and `wavejit run --gguf`: which kernel serves which bytes, totals against sums worked out
// by hand from shapes and block sizes (ggml-common.h), and a tensor's values against those that were written.
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>

#include "tests/runtime/gguf/writer.hpp"
#include "tests/tools/cli.hpp"

using namespace wavejit::test;
namespace gguf = wavejit::gguf::test;

namespace {

/// Bytes of n rows of k elements of a type with `block` bytes for 256.
constexpr double bytes_of(std::int64_t matrices, std::int64_t n, std::int64_t k, std::int64_t block) {
  return static_cast<double>(matrices * n * (k / 256 * block));
}

const nlohmann::json& named(const nlohmann::json& list, const std::string& key, const std::string& name) {
  for (const auto& item : list)
    if (item.at(key) == name) return item;
  FAIL(name << " is absent");
  return list;
}

/// A header with these tensors, whose data are absent.
std::string header(const std::vector<std::string>& entries, const std::vector<std::string>& tensors) {
  gguf::Pieces p;
  p.entries = {gguf::entry("general.architecture", 8, gguf::text("tiny"))};
  p.entries.insert(p.entries.end(), entries.begin(), entries.end());
  p.tensors = tensors;
  return p.bytes();
}

std::string number(const std::string& key, std::uint64_t value) {
  return gguf::entry("tiny." + key, 4, gguf::u32(value));
}

/// A Q4_K superblock with d = 2, dmin = 0, every scale `scale` and every quant `quant`: values 2 scale quant.
std::string q4_k_block(unsigned scale, unsigned quant) {
  const auto byte = [](unsigned v) { return static_cast<char>(v); };
  std::string b("\0\x40\0\0", 4);
  b += std::string(4, byte(scale)) + std::string(4, '\0') + std::string(4, byte(scale));
  return b + std::string(128, byte(quant | quant << 4));
}

}  // namespace

TEST_CASE("all K-quant bytes of a 27-B model go through kernels without idle lanes", "[cli][gguf]") {
  const Folder folder;
  REQUIRE(
      folder.shell("/usr/bin/python3 " WAVEJIT_TEST_DATA "/../scripts/make_gguf.py model big.gguf").code ==
      0);
  const Ran ran = folder.wavejit("model big.gguf --json");
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const auto j = ran.json();

  // 64 layers, 16 of them with attention. More bits for 8 layers at each end and 16 between; of those with
  // attention that are 3, 7, 19, 31, 43, 55, 59, 63.
  const double q4 = bytes_of(16, 12288, 5120, 144) + bytes_of(16 + 8, 1024, 5120, 144) +
                    bytes_of(16 + 48, 5120, 6144, 144) + bytes_of(48, 6144, 5120, 144) +
                    bytes_of(128, 17408, 5120, 144) + bytes_of(32, 5120, 17408, 144);
  const double q5 = bytes_of(48, 10240, 5120, 176);
  const double q6 =
      bytes_of(8, 1024, 5120, 210) + bytes_of(32, 5120, 17408, 210) + bytes_of(1, 248320, 5120, 210);
  const double q8 = bytes_of(48, 48, 5120, 272);
  const double rest = 4 * (129.0 * 5120 + 16 * 2 * 256 + 48.0 * 4 * 10240) + 5120 / 256 * 144;
  const auto arm = [&](const char* name) { return named(j.at("arms"), "kernel", name); };
  CHECK(arm("kquant q4_k").at("bytes") == q4);
  CHECK(arm("kquant q5_k").at("bytes") == q5);
  CHECK(arm("kquant q6_k").at("bytes") == q6);
  CHECK(arm("kquant q8_0").at("bytes") == q8);
  CHECK(arm("none").at("bytes") == rest);
  CHECK(j.at("arms").size() == 5);
  CHECK(j.at("totals").at("bytes") == q4 + q5 + q6 + q8 + rest);
  CHECK(j.at("totals").at("served_bytes") == q4 + q5 + q6 + q8);

  CHECK(j.at("totals").at("kquant_bytes") == q4 + q5 + q6);
  CHECK(j.at("totals").at("kquant_full_lane_bytes") == q4 + q5 + q6);
  std::map<int, unsigned> superblocks;
  for (const auto& t : j.at("tensors")) {
    if (t.at("kernel") == "none") continue;
    INFO(t.dump());
    ++superblocks[t.at("nsb").get<int>()];
    CHECK(t.at("idle").get<double>() <= 0.02);
    CHECK(t.at("time_us").get<double>() > 0);
  }
  // K = 5120, 6144, 17408.
  CHECK(superblocks == std::map<int, unsigned>{{20, 1 + 16 * 3 + 48 * 3 + 128}, {24, 64}, {68, 64}});
  // Memory binds: the model is not quicker than DRAM, nor much slower.
  const double least = (q4 + q5 + q6 + q8) / (j.at("totals").at("bytes").get<double>()) *
                       j.at("totals").at("dram_us").get<double>();
  CHECK(j.at("totals").at("time_us").get<double>() >= 0.999 * least);
  CHECK(j.at("totals").at("time_us").get<double>() <= 1.06 * least);

  const Ran text = folder.wavejit("model big.gguf");
  CHECK(text.out.find("with at most 2% of lanes idle: 100.00% of") != std::string::npos);
  std::istringstream lines(text.out);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 100);
}

TEST_CASE("what a token reads of tables, experts and further layers", "[cli][gguf]") {
  const Folder folder;
  using gguf::tensor;
  const std::vector<std::string> tensors = {
      tensor("token_embd.weight", {256, 1000}, 12, 0),                          // 144,000 bytes
      tensor("blk.0.ffn_up_exps.weight", {256, 8, 16}, 14, 144000),             // 16 times 1,680
      tensor("blk.0.ffn_up_exps.bias", {8, 16}, 0, 144000 + 26880),             // 16 times 32
      tensor("blk.0.ffn_gate_inp.weight", {256, 16}, 0, 144000 + 26880 + 512),  // 16,384
      tensor("blk.0.attn_k.weight", {64, 4}, 8, 187776 + 0),                    // Q8_0, K = 64: 4 times 68
      tensor("blk.0.attn_q.weight", {256, 4}, 10, 188064),                      // Q2_K: 4 times 84
      tensor("blk.1.ffn_up.weight", {256, 8}, 12, 188416)};                     // 1,152
  const auto model = [&](std::vector<std::string> entries, std::vector<std::string> more = {}) {
    std::vector<std::string> all = tensors;
    all.insert(all.end(), more.begin(), more.end());
    write_text(folder.file("m.gguf"), header(entries, all));
    const Ran ran = folder.wavejit("model m.gguf --header-only --json");
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    return ran.json();
  };
  const auto row = [](const nlohmann::json& j, const char* name) {
    return named(j.at("tensors"), "name", name);
  };

  const auto j =
      model({number("expert_used_count", 3), number("block_count", 2), number("nextn_predict_layers", 1)});
  CHECK(row(j, "token_embd.weight").at("bytes") == 144000);  // no output.weight: the embedding is the output
  CHECK(row(j, "token_embd.weight").at("kernel") == "kquant q4_k");
  CHECK(row(j, "blk.0.ffn_up_exps.weight").at("bytes") == 3 * 1680);
  CHECK(row(j, "blk.0.ffn_up_exps.weight").at("launches") == 3);
  CHECK(row(j, "blk.0.ffn_up_exps.weight").at("n") == 8);
  CHECK(row(j, "blk.0.ffn_up_exps.weight").at("stored_bytes") == 16 * 1680);
  CHECK(row(j, "blk.0.ffn_up_exps.bias").at("bytes") == 3 * 32);
  CHECK(row(j, "blk.0.ffn_gate_inp.weight").at("because") == "no kernel for weights of type f32");
  CHECK(row(j, "blk.0.attn_k.weight").at("kernel") == "kquant q8_0");  // its blocks are of 32
  CHECK(row(j, "blk.0.attn_q.weight").at("because") == "no kernel for weights of type q2_k");
  CHECK(row(j, "blk.1.ffn_up.weight").at("bytes") == 0);
  CHECK(j.at("totals").at("bytes") == 144000 + 3 * 1680 + 96 + 16384 + 272 + 336);
  CHECK(j.at("notes").size() == 1);

  const auto open = model({}, {tensor("output.weight", {256, 1000}, 14, 189568)});
  CHECK(row(open, "token_embd.weight").at("bytes") == 144);
  CHECK(row(open, "token_embd.weight").at("because") == "one row is looked up");
  CHECK(row(open, "output.weight").at("bytes") == 210000);
  CHECK(row(open, "blk.0.ffn_up_exps.weight").at("bytes") == 16 * 1680);  // how many are used is not said
  CHECK(row(open, "blk.1.ffn_up.weight").at("bytes") == 1152);
  CHECK(open.at("notes").at(0).get<std::string>().find("expert_used_count") != std::string::npos);

  const Ran text = folder.wavejit("model m.gguf --header-only");
  CHECK(text.out.find("16* 8 x 256") != std::string::npos);
  CHECK(text.out.find(" 1000 x 256 ") != std::string::npos);  // of token_embd, which no kernel serves
  CHECK(text.out.find("256,1000") == std::string::npos);
  const Ran each = folder.wavejit("model m.gguf --header-only --each");
  CHECK(each.out.find("blk.0.ffn_gate_inp.weight") != std::string::npos);
}

TEST_CASE("bytes of a kernel with idle lanes are not counted as served by full lanes", "[cli][gguf]") {
  // One superblock a row is half a pass of a wave of 64.
  const Folder folder;
  write_text(folder.file("m.gguf"), header({}, {gguf::tensor("a.weight", {256, 8}, 12, 0)}));
  const auto j = folder.wavejit("model m.gguf --header-only --json --target gfx942").json();
  CHECK(j.at("tensors").at(0).at("kernel") == "kquant q4_k");
  CHECK(j.at("tensors").at(0).at("idle").get<double>() > 0.02);
  CHECK(j.at("arms").at(0).at("full_lane") == false);
  CHECK(j.at("totals").at("kquant_bytes") == 1152);
  CHECK(j.at("totals").at("kquant_full_lane_bytes") == 0);
}

TEST_CASE("a tensor of an unknown type is named, and the others are served", "[cli][gguf]") {
  const Folder folder;
  gguf::Pieces p;
  p.tensors = {gguf::tensor("blk.0.up.weight", {512, 5}, 12, 0),
               gguf::tensor("blk.0.new.weight", {512, 5}, 137, 1440),
               gguf::tensor("blk.0.old.weight", {512, 5}, 4, 1504)};
  for (unsigned row = 0; row < 5; ++row) p.data += q4_k_block(1 + row, 3) + q4_k_block(2, row);
  p.data += std::string(128, '\x11');
  write_text(folder.file("m.gguf"), p.bytes());
  const auto j = folder.wavejit("model m.gguf --json").json();
  CHECK(j.at("tensors").at(0).at("kernel") == "kquant q4_k");
  CHECK(j.at("tensors").at(1).at("because") == "type 137 unknown");
  CHECK(j.at("tensors").at(2).at("because") == "type 4 (q4_2) retired");
  CHECK(folder.wavejit("model m.gguf").out.find("type 137 unknown") != std::string::npos);
  CHECK(folder.wavejit("run --gguf m.gguf --tensor blk.0.up.weight").code == 0);
  const Ran ran = folder.wavejit("run --gguf m.gguf --tensor blk.0.new.weight");
  CHECK(ran.code == 2);
  CHECK(ran.err.find("\"blk.0.new.weight\" is type 137 unknown") != std::string::npos);
}

TEST_CASE("models that cannot be read are refused with what is wrong", "[cli][gguf]") {
  const Folder folder;
  const auto refused = [&](const std::string& arguments, const std::string& what) {
    const Ran r = folder.wavejit(arguments);
    CHECK(r.code == 2);
    INFO(r.err);
    CHECK(r.err.find(what) != std::string::npos);
  };
  refused("model absent.gguf", "absent.gguf cannot be read");
  write_text(folder.file("m.gguf"), header({}, {gguf::tensor("a", {256}, 12, 0)}));
  refused("model m.gguf",
          "m.gguf: tensor \"a\".offset is 0, 144 bytes before its end, but must be such that");
  refused("model m.gguf --header-only --target gfx900", "target is gfx900");
  write_text(folder.file("m.gguf"), "GGML");
  refused("model m.gguf", "m.gguf: the magic is \"GGML\", but must be \"GGUF\"");
  refused("model .", "a folder with a .safetensors file");
}

TEST_CASE("a folder of safetensors is priced layer by layer", "[cli][checkpoint]") {
  // Symmetric AWQ layers of N = 64, K = 256, G = 32: qweight [256, 8] words, scales [8, 64].
  const Folder folder;
  std::string head = "{";
  std::uint64_t at = 0;
  const auto add = [&](const std::string& name, const std::string& dtype, const std::string& shape,
                       std::uint64_t size) {
    head += (at == 0 ? "\"" : ",\"") + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape +
            R"(,"data_offsets":[)" + std::to_string(at) + "," + std::to_string(at + size) + "]}";
    at += size;
  };
  for (const char* layer : {"model.layers.0.mlp.up_proj", "model.layers.0.mlp.experts.0.up_proj",
                            "model.layers.0.mlp.experts.1.up_proj"}) {
    add(std::string(layer) + ".qweight", "I32", "[256,8]", 8192);
    add(std::string(layer) + ".scales", "F16", "[8,64]", 1024);
  }
  add("model.embed_tokens.weight", "BF16", "[100,256]", 51200);
  add("lm_head.weight", "BF16", "[100,256]", 51200);
  add("model.norm.weight", "BF16", "[256]", 512);
  write_text(folder.file("m.safetensors"), gguf::u64(head.size() + 1) + head + "}" + std::string(at, '\0'));
  const auto model = [&](const std::string& config) {
    write_text(folder.file("config.json"), config);
    const Ran ran = folder.wavejit("model . --json");
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    return ran.json();
  };
  const auto row = [](const nlohmann::json& j, const char* name) {
    return named(j.at("tensors"), "name", name);
  };

  const auto j = model(R"({"num_experts": 2, "num_experts_per_tok": 1, "tie_word_embeddings": false})");
  const auto& up = row(j, "model.layers.0.mlp.up_proj");
  CHECK(up.at("type") == "awq g32");
  CHECK(up.at("n") == 64);
  CHECK(up.at("k") == 256);
  CHECK(up.at("bytes") == 9216);
  CHECK(up.at("kernel") == "w4a16");
  CHECK(up.at("idle").get<double>() >= 0);
  CHECK(up.at("idle").get<double>() < 1);
  CHECK(up.at("time_us").get<double>() > 0);
  CHECK(row(j, "model.layers.0.mlp.experts.1.up_proj").at("bytes") == 4608);
  CHECK(row(j, "model.embed_tokens.weight").at("bytes") == 512);
  CHECK(row(j, "lm_head.weight").at("because") == "no kernel for weights of type BF16");
  CHECK(j.at("totals").at("bytes") == 9216 + 2 * 4608 + 512 + 51200 + 512);
  CHECK(j.at("notes").empty());

  const auto tied = model(R"({"tie_word_embeddings": true})");
  CHECK(row(tied, "model.embed_tokens.weight").at("bytes") == 51200);
  CHECK(row(tied, "model.layers.0.mlp.experts.1.up_proj").at("bytes") == 9216);
  CHECK(tied.at("notes").size() == 1);

  write_text(folder.file("config.json"), R"({"num_experts": "two"})");
  const Ran wrong = folder.wavejit("model .");
  CHECK(wrong.code == 2);
  CHECK(wrong.err.find("config.json: num_experts is \"two\"") != std::string::npos);
}

TEST_CASE("a tensor of a GGUF file runs, and its values are those that were written", "[cli][gguf]") {
  const Folder folder;
  gguf::Pieces p;
  p.tensors = {gguf::tensor("a.weight", {512, 5}, 12, 0),
               gguf::tensor("b_exps.weight", {256, 2, 2}, 12, 1440), gguf::tensor("norm", {4}, 0, 2016)};
  for (unsigned row = 0; row < 5; ++row) p.data += q4_k_block(1 + row, 3) + q4_k_block(2, row);
  for (unsigned row = 0; row < 4; ++row) p.data += q4_k_block(1, 4 + row);
  p.data += std::string(16, '\0');
  write_text(folder.file("m.gguf"), p.bytes());
  for (const char* more : {"", " --m 8 --act f16", " --m 3 --act f32 --tensor-rows 2"}) {
    const Ran ran = folder.wavejit("run --gguf m.gguf --tensor a.weight --json" + std::string(more));
    INFO(more << ran.err);
    REQUIRE(ran.code == 0);
    const auto j = ran.json();
    CHECK(j.at("ok") == true);
    CHECK(j.at("n") == 5);
    CHECK(j.at("k") == 512);
    CHECK(j.at("nmse_exact").get<double>() > 0);
    CHECK(j.at("worst_model").get<double>() <= 1);
    for (const auto& r : j.at("rows")) {
      const double row = r.at("row"), first = 2 * (1 + row) * 3, second = 2 * 2 * row;
      CHECK(r.at("sum") == 256 * (first + second));
      // 1 + ... + 256 = 32896, 257 + ... + 512 = 98432.
      CHECK(r.at("weighted_sum") == 32896 * first + 98432 * second);
    }
    CHECK(j.at("rows").size() == (std::string(more).find("rows") == std::string::npos ? 5 : 2));
  }
  const auto expert = folder.wavejit("run --gguf m.gguf --tensor b_exps.weight --expert 1 --json").json();
  CHECK(expert.at("rows").at(0).at("sum") == 256 * 2 * 6);
  const Ran many = folder.wavejit("run --gguf m.gguf --tensor a.weight --m 8");
  CHECK(many.out.find("of its bound (bar 1)") != std::string::npos);
  const Ran text = folder.wavejit("run --gguf m.gguf --tensor a.weight");
  CHECK(text.out.find("verdict: right") != std::string::npos);

  const auto refused = [&](const std::string& arguments, const std::string& what) {
    const Ran r = folder.wavejit("run " + arguments);
    CHECK(r.code == 2);
    INFO(r.err);
    CHECK(r.err.find(what) != std::string::npos);
  };
  refused("--gguf m.gguf", "tensor is absent");
  refused("--tensor a.weight", "gguf is absent");
  refused("--gguf m.gguf --tensor c", "such as \"a.weight\", \"b_exps.weight\"");
  refused("--gguf m.gguf --tensor norm", "\"norm\".type is f32, but must be q4_k, q5_k");
  refused("--gguf m.gguf --tensor a.weight --m 9", "m is 9, but must be 1 to 8");
  refused("--gguf m.gguf --tensor a.weight --act i8", "act is i8");
  refused("--gguf m.gguf --tensor a.weight --n 5", "the tensor says all that");
  refused("--gguf m.gguf --tensor b_exps.weight --expert 2", "expert is 2, but must be 0 to 1");
  refused("--gguf m.gguf --tensor a.weight --tensor-rows -1", "tensor-rows is -1");
}
