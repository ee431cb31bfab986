// SPDX-License-Identifier: MIT
#include "tests/runtime/sim/triton_w4a16.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <vector>

#include "generator/lower/lower.hpp"
#include "tests/skip.hpp"

namespace wavejit::test {
namespace {

using Json = nlohmann::json;

std::vector<std::uint8_t> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

float from_bf16(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16;
  float value = 0;
  std::memcpy(&value, &wide, 4);
  return value;
}

/// By definition of binary16, independent of the simulator's conversion.
float from_f16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  const float magnitude = exponent == 0    ? std::ldexp(static_cast<float>(mantissa), -24)
                          : exponent == 31 ? (mantissa == 0 ? INFINITY : NAN)
                                           : std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

struct Format {
  bool fp16;
  [[nodiscard]] float decode(std::uint16_t bits) const { return fp16 ? from_f16(bits) : from_bf16(bits); }
  /// A value of the format near x: exact for what fill() asks of it.
  [[nodiscard]] std::uint16_t encode(float x) const {
    if (!fp16) {
      std::uint32_t wide = 0;
      std::memcpy(&wide, &x, 4);
      return static_cast<std::uint16_t>(wide >> 16);
    }
    if (x == 0) return 0;
    int exponent = 0;
    const float fraction = std::frexp(std::fabs(x), &exponent);  // [0.5, 1)
    if (exponent + 14 < 1)                                       // subnormal: units of 2^-24
      return static_cast<std::uint16_t>((x < 0 ? 0x8000 : 0) |
                                        static_cast<int>(std::ldexp(std::fabs(x), 24)));
    const int mantissa = static_cast<int>(fraction * 2048) - 1024;
    return static_cast<std::uint16_t>((x < 0 ? 0x8000 : 0) | (exponent + 14) << 10 | mantissa);
  }
};

/// Inputs of one run, as a model would have them, and their meaning.
struct Inputs {
  std::uint32_t m, n, k, group;
  std::vector<std::uint16_t> a, s;
  std::vector<std::uint32_t> b, z;

  [[nodiscard]] int nibble(std::uint32_t row, std::uint32_t column_k) const {
    // ExLlama order (domain.md §1.4): offset j of a word sits at bit (j/2)*4 + (j%2)*16.
    const std::uint32_t word = b[std::size_t{row} * (k / 8) + column_k / 8];
    const std::uint32_t j = column_k % 8;
    return static_cast<int>(word >> (j / 2 * 4 + j % 2 * 16) & 15);
  }
  [[nodiscard]] int zero(std::uint32_t row, std::uint32_t g) const {
    if (z.empty()) return 8;
    return static_cast<int>(z[std::size_t{row} / 8 * (k / group) + g] >> (4 * (row % 8)) & 15);
  }
};

Inputs make_inputs(const TritonShape& shape, std::uint32_t group, Format format, bool zero_points) {
  Inputs in{.m = shape.m, .n = shape.n, .k = shape.k, .group = group, .a = {}, .s = {}, .b = {}, .z = {}};
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> scale(0.01F, 0.05F);
  for (std::size_t i = 0; i < std::size_t{in.m} * in.k; ++i)
    in.a.push_back(format.encode(normal(random) * 0.25F));
  for (std::size_t i = 0; i < std::size_t{in.n} * (in.k / 8); ++i)
    in.b.push_back(static_cast<std::uint32_t>(random()));
  for (std::size_t i = 0; i < std::size_t{in.n} * (in.k / group); ++i)
    in.s.push_back(format.encode(scale(random)));
  if (zero_points) {
    for (std::size_t i = 0; i < std::size_t{in.n} / 8 * (in.k / group); ++i)
      in.z.push_back(static_cast<std::uint32_t>(random()));
  }
  return in;
}

std::uint64_t upload(sim::Memory& memory, const void* data, std::size_t bytes, const char* name) {
  const auto address = memory.allocate(bytes, 16, name);
  REQUIRE(address);
  REQUIRE(memory.write(*address, {static_cast<const std::byte*>(data), bytes}));
  REQUIRE(memory.set_read_only(*address, true));
  return *address;
}

void append(std::vector<std::byte>& kernarg, std::uint64_t value, std::size_t bytes) {
  while (kernarg.size() % bytes != 0) kernarg.push_back({});
  for (std::size_t i = 0; i < bytes; ++i) kernarg.push_back(static_cast<std::byte>(value >> (8 * i)));
}

/// Row-major, in float64.
std::vector<double> product(const Inputs& in, Format format) {
  std::vector<double> weights, activations, reference;
  for (std::uint32_t column = 0; column < in.n; ++column) {
    for (std::uint32_t k = 0; k < in.k; ++k) {
      const std::uint32_t g = k / in.group;
      const double scale = format.decode(in.s[std::size_t{column} * (in.k / in.group) + g]);
      weights.push_back(scale * (in.nibble(column, k) - in.zero(column, g)));
    }
  }
  for (const std::uint16_t bits : in.a) activations.push_back(format.decode(bits));
  for (std::uint32_t row = 0; row < in.m; ++row) {
    for (std::uint32_t column = 0; column < in.n; ++column) {
      const double* a = activations.data() + std::size_t{row} * in.k;
      reference.push_back(std::inner_product(a, a + in.k, weights.data() + std::size_t{column} * in.k, 0.0));
    }
  }
  return reference;
}

void compare(const Inputs& in, Format format, const std::vector<std::uint16_t>& c, TritonOutcome& outcome) {
  double dot = 0, cc = 0, rr = 0;
  const std::vector<double> reference = product(in, format);
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double value = format.decode(c[i]);
    dot += value * reference[i];
    cc += value * value;
    rr += reference[i] * reference[i];
  }
  outcome.one_minus_cosine = 1 - dot / std::sqrt(cc * rr);
  const double rms = std::sqrt(rr / static_cast<double>(reference.size()));
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double allowed = format.fp16 ? 2e-3 * std::fabs(reference[i]) + 3e-3 * rms
                                       : 1e-2 * std::fabs(reference[i]) + 2e-2 * rms;
    outcome.worst_error =
        std::max(outcome.worst_error, std::fabs(format.decode(c[i]) - reference[i]) / allowed);
  }
}

/// A launch of one object: what its description says, inputs, scalar arguments in order.
struct Job {
  Json description;
  Format format;
  Inputs in;
  std::vector<std::uint32_t> scalars;
  std::array<std::uint32_t, 3> grid;
};

Job make_job(const TritonShape& shape) {
  const auto folder = shared("peers/triton");
  Json description = Json::parse(read_file(folder / (shape.name + ".json")));
  const Json meta = description["meta"];
  const Format format{meta.value("FP16", 0) == 1};
  const std::uint32_t group = description["scalars"].value("group_size", 32U);
  Inputs in = make_inputs(shape, group, format, meta.value("HAS_ZP", 0) == 1);
  const std::pair<const char*, std::uint32_t> values[] = {{"M", in.m},
                                                          {"N", in.n},
                                                          {"K", in.k},
                                                          {"K8", in.k / 8},
                                                          {"num_groups", in.k / group},
                                                          {"stride_bn", in.k / 8},
                                                          {"stride_am", in.k},
                                                          {"group_size", group}};
  std::vector<std::uint32_t> scalars;
  for (const auto& [name, value] : values) {
    // Arguments that were 1, or constants, at compile time are not in the kernel's list.
    if (!description["scalars"].contains(name) || description["constants_baked_in"].contains(name)) continue;
    if (description["scalars"][name] != 1) scalars.push_back(value);
  }
  const std::uint32_t block_m = meta["BLOCK_M"];
  const std::uint32_t block_n = meta["BLOCK_N"];
  const std::array<std::uint32_t, 3> grid{(in.m + block_m - 1) / block_m, (in.n + block_n - 1) / block_n, 1};
  return {std::move(description), format, std::move(in), std::move(scalars), grid};
}

}  // namespace

TritonOutcome run_triton(const TritonShape& shape, const sim::Options& options) {
  const auto folder = shared("peers/triton");
  const auto object = lower::decode(read_file(folder / (shape.name + ".hsaco")));
  INFO((object ? std::string() : object.error().message));
  REQUIRE(object);
  const auto program = sim::Program::create(object->kernels.at(0), *object->target);
  INFO((program ? std::string() : program.error().message));
  REQUIRE(program);
  const Job job = make_job(shape);
  const Inputs& in = job.in;
  sim::Memory memory;
  const std::size_t c_bytes = std::size_t{in.m} * in.n * 2;
  const auto c = memory.allocate(c_bytes, 16, "c");
  REQUIRE(c);
  const std::uint64_t a = upload(memory, in.a.data(), in.a.size() * 2, "a");
  const std::uint64_t b = upload(memory, in.b.data(), in.b.size() * 4, "b");
  const std::uint64_t s = upload(memory, in.s.data(), in.s.size() * 2, "s");
  const std::uint64_t z = in.z.empty() ? s : upload(memory, in.z.data(), in.z.size() * 4, "z");

  std::vector<std::byte> kernarg;
  for (const std::uint64_t pointer : {a, b, s, z, *c}) append(kernarg, pointer, 8);
  for (const std::uint32_t value : job.scalars) append(kernarg, value, 4);
  append(kernarg, 0, 8);
  append(kernarg, 0, 8);

  const sim::LaunchParams launch{.grid = job.grid,
                                 .block = {job.description["block"][0], 1, 1},
                                 .kernarg = kernarg,
                                 .dynamic_lds_bytes = job.description["dynamic_lds_bytes"],
                                 .workgroups = {},
                                 .options = options};
  auto report = sim::run(*program, memory, launch);
  INFO((report ? std::string() : report.error().message));
  REQUIRE(report);

  TritonOutcome outcome;
  outcome.run = *std::move(report);
  outcome.unwritten_bytes = memory.undefined_bytes(*c, c_bytes).value();
  std::vector<std::uint16_t> result(std::size_t{in.m} * in.n);
  REQUIRE(memory.read(*c, {reinterpret_cast<std::byte*>(result.data()), c_bytes}));
  compare(in, job.format, result, outcome);
  return outcome;
}

void write_triton_launch(const TritonShape& shape, const std::filesystem::path& folder) {
  const Job job = make_job(shape);
  const auto write = [&](const char* name, const void* data, std::size_t bytes) {
    std::ofstream out(folder / name, std::ios::binary);
    out.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
    REQUIRE(out);
  };
  const Inputs& in = job.in;
  write("a.bin", in.a.data(), in.a.size() * 2);
  write("b.bin", in.b.data(), in.b.size() * 4);
  write("s.bin", in.s.data(), in.s.size() * 2);
  write("z.bin", in.z.data(), in.z.size() * 4);
  const std::vector<double> reference = product(in, job.format);
  std::vector<std::uint16_t> rounded;
  double squares = 0;
  for (const double x : reference) {
    rounded.push_back(job.format.encode(static_cast<float>(x)));
    squares += x * x;
  }
  write("c.ref", rounded.data(), rounded.size() * 2);
  const double rms = std::sqrt(squares / static_cast<double>(reference.size()));
  const bool fp16 = job.format.fp16;
  Json args = Json::array();
  for (const char* file : {"a.bin", "b.bin", "s.bin"}) args.push_back({{"file", file}});
  args.push_back(in.z.empty() ? Json{{"null", true}} : Json{{"file", "z.bin"}});
  args.push_back({{"bytes", rounded.size() * 2},
                  {"undefined", true},
                  {"output", "c.bin"},
                  {"expect",
                   {{"file", "c.ref"},
                    {"dtype", fp16 ? "f16" : "bf16"},
                    {"atol", (fp16 ? 3e-3 : 2e-2) * rms},
                    {"rtol", fp16 ? 2e-3 : 1e-2}}}});
  for (const std::uint32_t value : job.scalars) args.push_back({{"value", value}});
  // Triton's own last two, global and profile scratch: unused, and null as its launcher passes them.
  for (int i = 0; i < 2; ++i) args.push_back({{"null", true}});
  const Json launch{{"grid", job.grid},
                    {"block", {job.description["block"][0], 1, 1}},
                    {"dynamic_lds_bytes", job.description["dynamic_lds_bytes"]},
                    {"args", args}};
  std::ofstream(folder / "args.json") << launch.dump(1);
}

}  // namespace wavejit::test
