// SPDX-License-Identifier: MIT
// Checkpoint folders end to end: files -> layer -> runtime/repack -> generated kernel on the simulator,
// judged by the oracle on the checkpoint's own tensors; and the rows of shared/cases.md that touch this path,
// whose outputs that table derives.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "tests/harness/catch.hpp"
#include "tests/harness/run_checkpoint.hpp"
#include "tests/oracle/format.hpp"
#include "tests/runtime/checkpoint/folder.hpp"

using namespace wavejit;
using namespace wavejit::checkpoint::test;
using repack::Dtype;
using repack::Format;
using repack::test::blank_checkpoint;
using repack::test::Checkpoint;
using repack::test::Matrix;
using repack::test::random_checkpoint;
using templates::DataType;
using Json = nlohmann::json;
using Activation = std::function<double(std::int64_t m, std::int64_t k)>;

namespace {

struct Settings {
  DataType type = DataType::f16;
  std::int64_t m = 1;
  std::string target = "gfx1151";
  const char* format = "auto";
  Activation x = nullptr;  ///< unset = random
};

/// Through a folder, whole.
Result<harness::CheckpointReport> ran(const Folder& folder, const Settings& s) {
  const auto wanted = checkpoint::wanted_format(s.format);
  REQUIRE(wanted);
  const auto layer = checkpoint::read_layer(folder.path(), "model.layers.0.proj", *wanted);
  if (!layer) return std::unexpected(layer.error());
  harness::Request request;
  request.problem.activation = s.type;
  request.problem = harness::problem_of(*layer, request.problem);
  request.m = s.m;
  request.target = s.target;
  if (s.x) {
    request.values = oracle::Values{};
    request.values->activations = oracle::each(s.x);
  }
  return harness::run_checkpoint(*layer, request);
}

void write(const Folder& folder, const Checkpoint& c) {
  folder.write("model.safetensors", safetensors(tensors_of(c, "model.layers.0.proj")));
}

Result<harness::CheckpointReport> ran(const Checkpoint& c, const Settings& s, const Json& config = nullptr) {
  const Folder folder;
  write(folder, c);
  if (!config.is_null()) folder.write_config(config);
  return ran(folder, s);
}

/// A run that must be right in every way that the harness looks at.
harness::CheckpointReport right(const Result<harness::CheckpointReport>& r) {
  INFO((r ? r->report.reason() : r.error().message));
  REQUIRE(r);
  CHECK(r->report.ok());
  return *r;
}

double output(const harness::CheckpointReport& r, std::int64_t m, std::int64_t n) {
  const bool f16 = r.report.problem.activation == DataType::f16;
  return oracle::decode(r.report.at(m, n), f16 ? oracle::Format::f16 : oracle::Format::bf16);
}

void set_nibbles(Checkpoint& c, const std::function<std::int64_t(std::int64_t n, std::int64_t k)>& nibble) {
  for (std::int64_t r = 0; r < c.k / 8; ++r)
    for (std::int64_t n = 0; n < c.n; ++n) {
      std::uint64_t word = 0;
      for (unsigned i = 0; i < 8; ++i) word |= static_cast<std::uint64_t>(nibble(n, 8 * r + i)) << (4 * i);
      c.weights.set(r, n, word);
    }
}

Matrix column_groups(std::int64_t k, const std::function<std::int64_t(std::int64_t)>& group) {
  Matrix m(Dtype::i32, 1, k);
  for (std::int64_t i = 0; i < k; ++i) m.set(0, i, static_cast<std::uint32_t>(group(i)));
  return m;
}

const Json gptq_v1{{"quant_method", "gptq"}, {"bits", 4}, {"checkpoint_format", "gptq"}};
const Json gptq_v2{{"quant_method", "gptq"}, {"bits", 4}, {"checkpoint_format", "gptq_v2"}};
constexpr auto one = [](std::int64_t, std::int64_t) { return 1.0; };

}  // namespace

TEST_CASE("layers of every format run within the oracle's bars", "[checkpoint][run]") {
  struct Sample {
    Format format;
    repack::test::Options options;
    std::int64_t group;
    Json config;
    const char* asked = "auto";
  };
  const Sample samples[] = {
      {Format::awq, {.zero_points = true}, 64, {{"quant_method", "awq"}, {"bits", 4}, {"zero_point", true}}},
      {Format::gptq_v1, {.zero_points = true}, 32, gptq_v1},
      {Format::gptq_v2, {.zero_points = true}, 128, gptq_v2},
      {Format::gptq_v1, {}, 128, nullptr, "gptq"},
      {Format::compressed_tensors, {.scale_type = Dtype::bf16}, 32, nullptr, "compressed-tensors"},
      {Format::compressed_tensors, {.zero_points = true, .scale_type = Dtype::bf16}, 256, nullptr},
      {Format::row_major, {.zero_points = true}, 128, nullptr},
      {Format::row_major, {.weight_type = Dtype::u8}, 64, nullptr, "plain"},
      {Format::mslk, {.zero_points = true, .scale_type = Dtype::bf16}, 64, nullptr, "mslk"},
  };
  int i = 0;
  for (const Sample& s : samples)
    for (const DataType type : {DataType::bf16, DataType::f16}) {
      constexpr std::array targets{"gfx1151", "gfx1100", "gfx1201"};
      const Checkpoint c = random_checkpoint(s.format, 72, 256, s.group, s.options, 5);
      INFO(repack::name(s.format));
      const auto r = right(ran(
          c, {.type = type, .m = 17, .target = targets[static_cast<std::size_t>(i++) % 3], .format = s.asked},
          s.config));
      REQUIRE(r.report.verdict);
      CHECK(r.report.verdict->metrics.elements == 17 * 72);
      CHECK_FALSE(r.gathered);
    }
}

TEST_CASE("a wrong nibble, scale or zero point of the file is seen by the oracle", "[checkpoint][run]") {
  // What the kernel reads comes from one folder and what the oracle sees from another that differs in one
  // element: the comparison is no tautology.
  const auto seen_by_oracle = [](const std::function<void(Checkpoint&)>& change) {
    Checkpoint c = random_checkpoint(Format::gptq_v2, 16, 64, 32, {.zero_points = true}, 5);
    const Folder read, seen;
    write(read, c);
    change(c);
    write(seen, c);
    const auto wanted = *checkpoint::wanted_format("gptq_v2");
    auto a = checkpoint::read_layer(read.path(), "model.layers.0.proj", wanted);
    const auto b = checkpoint::read_layer(seen.path(), "model.layers.0.proj", wanted);
    REQUIRE(a);
    REQUIRE(b);
    harness::Request request;
    request.problem = harness::problem_of(*a, request.problem);
    request.m = 5;
    CHECK(right(harness::run_checkpoint(*a, request)).report.verdict->ok);
    const auto judged = harness::run_checkpoint(*a, request, &*b);
    REQUIRE(judged);
    return !judged->report.verdict->ok;
  };
  CHECK(seen_by_oracle([](Checkpoint& c) { c.weights.set(3, 7, c.weights.get(3, 7) ^ 0x00800000); }));
  CHECK(seen_by_oracle([](Checkpoint& c) { c.scales.set_number(1, 3, 2 * c.scales.number(1, 3)); }));
  CHECK(seen_by_oracle([](Checkpoint& c) { c.zero_points->set(1, 1, c.zero_points->get(1, 1) ^ 0x80); }));
}

TEST_CASE("a bias of the checkpoint is added", "[checkpoint][run]") {
  const Folder folder;
  auto tensors = tensors_of(random_checkpoint(Format::awq, 16, 64, 32, {}, 5), "model.layers.0.proj");
  Matrix bias(Dtype::f32, 1, 16);
  for (std::int64_t n = 0; n < 16; ++n) bias.set_number(0, n, static_cast<double>(n) + 0.5);
  tensors.push_back(named("model.layers.0.proj.bias", bias, true));
  folder.write("model.safetensors", safetensors(tensors));
  const auto r = right(ran(folder, {.x = [](std::int64_t, std::int64_t) { return 0.0; }}));
  for (std::int64_t n = 0; n < 16; ++n) CHECK(output(r, 0, n) == static_cast<double>(n) + 0.5);
}

TEST_CASE("row 8 end to end: a stored 15 of GPTQ v1 is refused, 14 is z = 15 and carries nowhere",
          "[checkpoint][run][cases]") {
  Checkpoint c = blank_checkpoint(Format::gptq_v1, 8, 32, 32, {.zero_points = true});
  set_nibbles(c, [](std::int64_t, std::int64_t) { return 8; });
  c.zero_points->set(0, 0, 0x7777777F);
  const auto refused = ran(c, {.x = one}, gptq_v1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::unsupported);
  CHECK(refused.error().field == "model.layers.0.proj.qzeros[group 0, column 0]");
  CHECK(refused.error().message.find("15") != std::string::npos);
  c.zero_points->set(0, 0, 0x7777777E);
  const auto r = right(ran(c, {.x = one}, gptq_v1));
  CHECK(output(r, 0, 0) == 32.0 * (8 - 15));
  for (std::int64_t n = 1; n < 8; ++n) CHECK(output(r, 0, n) == 0.0);
}

TEST_CASE("row 9 end to end: symmetric GPTQ without zero points", "[checkpoint][run][cases]") {
  Checkpoint c = blank_checkpoint(Format::gptq_v1, 16, 64, 32);
  set_nibbles(c, [](std::int64_t, std::int64_t k) { return k % 16; });
  for (const DataType type : {DataType::bf16, DataType::f16}) {
    Json config = gptq_v1;
    config["sym"] = true;
    const auto r = right(ran(c, {.type = type, .x = one}, config));
    for (std::int64_t n = 0; n < 16; ++n) CHECK(output(r, 0, n) == -32.0);
  }
}

TEST_CASE("row 10 end to end: zero points where both readings have one shape", "[checkpoint][run][cases]") {
  for (const Format format : {Format::gptq_v2, Format::compressed_tensors}) {
    Checkpoint c = blank_checkpoint(format, 32, 128, 32, {.zero_points = true});
    c.weights.fill(0xFFFFFFFF);
    for (std::int64_t block = 0; block < 4; ++block)
      for (std::int64_t g = 0; g < 4; ++g) {
        std::uint64_t word = 0;
        for (std::int64_t i = 0; i < 8; ++i)
          word |= static_cast<std::uint64_t>((3 * (8 * block + i) + g) % 16) << (4 * i);
        format == Format::gptq_v2 ? c.zero_points->set(g, block, word) : c.zero_points->set(block, g, word);
      }
    const auto r = right(
        ran(c, {.type = DataType::bf16, .x = one}, format == Format::gptq_v2 ? gptq_v2 : Json(nullptr)));
    for (std::int64_t n = 0; n < 32; ++n) {
      double sum = 0;
      for (std::int64_t g = 0; g < 4; ++g) sum += 32.0 * static_cast<double>(15 - (3 * n + g) % 16);
      CHECK(output(r, 0, n) ==
            oracle::decode(oracle::encode(sum, oracle::Format::bf16), oracle::Format::bf16));
    }
  }
}

TEST_CASE("row 11 end to end: zero points as floats are refused", "[checkpoint][run][cases]") {
  Checkpoint c = blank_checkpoint(Format::awq, 16, 64, 32, {.zero_points = true});
  c.zero_points = Matrix(Dtype::f16, 16, 2);
  const auto refused = ran(c, {.x = one});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().field == "model.layers.0.proj.qzeros.dtype");
  CHECK(refused.error().given == "f16");
}

TEST_CASE("row 12 end to end: redundant zero points of a symmetric checkpoint change no bit",
          "[checkpoint][run][cases]") {
  Json config = gptq_v1;
  config["sym"] = true;
  Checkpoint c = random_checkpoint(Format::gptq_v1, 64, 128, 32, {}, 12);
  const auto without = right(ran(c, {.m = 5}, config));
  c.zero_points = Matrix(Dtype::i32, 4, 8);
  c.zero_points->fill(0x77777777);
  const auto with = right(ran(c, {.m = 5}, config));
  CHECK(with.report.problem.zero_points == templates::ZeroPoints::symmetric);
  CHECK(with.report.outputs == without.report.outputs);
  c.zero_points->set(1, 3, 0x77577777);
  const auto refused = ran(c, {.m = 5}, config);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().field == "model.layers.0.proj.qzeros[group 1, column 29]");
}

TEST_CASE("row 13 end to end: N = 12 uses the low nibbles of the last word", "[checkpoint][run][cases]") {
  Checkpoint c = blank_checkpoint(Format::compressed_tensors, 12, 32, 32, {.zero_points = true});
  c.weights.fill(0xFFFFFFFF);
  c.zero_points->set(0, 0, 0x76543210);
  c.zero_points->set(1, 0, 0xDEADBA98);
  const auto r = right(ran(c, {.m = 2, .x = one}));
  for (std::int64_t n = 0; n < 12; ++n) CHECK(output(r, 1, n) == 32.0 * static_cast<double>(15 - n));
}

TEST_CASE("row 54 end to end: act-order groups are sorted with their activations",
          "[checkpoint][run][cases]") {
  Checkpoint c = blank_checkpoint(Format::gptq_v2, 8, 64, 32, {.zero_points = true});
  set_nibbles(c, [](std::int64_t, std::int64_t) { return 1; });
  c.g_idx = column_groups(64, [](std::int64_t k) { return k % 2; });
  for (std::int64_t n = 0; n < 8; ++n) c.scales.set_number(1, n, 10.0);
  Json config = gptq_v2;
  config["desc_act"] = true;
  const Activation index = [](std::int64_t, std::int64_t k) { return static_cast<double>(k); };
  for (const DataType type : {DataType::bf16, DataType::f16}) {
    const auto r = right(ran(c, {.type = type, .x = index}, config));
    CHECK(r.gathered);
    // 11232 has 9 significant bits: exact in f16, a tie in bf16 that goes to the even neighbour.
    for (std::int64_t n = 0; n < 8; ++n)
      CHECK(output(r, 0, n) == (type == DataType::f16 ? 11232.0 : 11264.0));
  }
}

TEST_CASE("act-order with random groups runs within the oracle's bars", "[checkpoint][run]") {
  Checkpoint c = random_checkpoint(Format::gptq_v1, 72, 256, 32, {.zero_points = true}, 6);
  c.g_idx = column_groups(256, [](std::int64_t k) { return 5 * k % 8; });
  const auto r = right(ran(c, {.type = DataType::bf16, .m = 17}, gptq_v1));
  CHECK(r.gathered);
}

TEST_CASE("row 55 end to end: a row shard of act-order is refused at plan time", "[checkpoint][run][cases]") {
  Checkpoint c = random_checkpoint(Format::gptq_v1, 16, 64, 32, {}, 6);
  Json config = gptq_v1;
  config["desc_act"] = true;
  c.g_idx = column_groups(64, [](std::int64_t k) { return 7 + k / 32; });
  for (const DataType type : {DataType::bf16, DataType::f16}) {
    const auto refused = ran(c, {.type = type}, config);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::unsupported);
    CHECK(refused.error().field == "model.layers.0.proj.g_idx[0]");
  }
}
