// SPDX-License-Identifier: MIT
#include "tests/runtime/sim/triton_rowwise.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "generator/lower/lower.hpp"
#include "tests/runtime/sim/triton_w4a16.hpp"
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

std::uint16_t to_bf16(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, 4);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/// A kernel made ready, with what its description says.
struct Kernel {
  Json description;
  sim::Program program;
};

Kernel load(const std::string& name) {
  const auto folder = shared("peers/triton");
  const auto object = lower::decode(read_file(folder / (name + ".hsaco")));
  INFO((object ? std::string() : object.error().message));
  REQUIRE(object);
  auto program = sim::Program::create(object->kernels.at(0), *object->target);
  INFO((program ? std::string() : program.error().message));
  REQUIRE(program);
  return {Json::parse(read_file(folder / (name + ".json"))), *std::move(program)};
}

/// Activations in even and odd columns, weights two to a byte, a scale and an offset for each column and
/// group of k.
struct Inputs {
  static constexpr std::uint32_t group = 128;
  std::uint32_t m, n, k;
  std::vector<std::uint16_t> even, odd, scale, offset;
  std::vector<std::uint8_t> w;

  explicit Inputs(const RowwiseShape& shape) : m(shape.m), n(shape.n), k(shape.k) {
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> scales(0.01F, 0.05F);
    for (std::size_t i = 0; i < std::size_t{m} * k / 2; ++i) {
      even.push_back(to_bf16(normal(random) * 0.25F));
      odd.push_back(to_bf16(normal(random) * 0.25F));
    }
    for (std::size_t i = 0; i < std::size_t{n} * k / 2; ++i) w.push_back(static_cast<std::uint8_t>(random()));
    for (std::size_t i = 0; i < std::size_t{k} / group * n; ++i) {
      scale.push_back(to_bf16(scales(random)));
      offset.push_back(to_bf16(normal(random) * 0.02F));
    }
  }

  [[nodiscard]] double activation(std::uint32_t row, std::uint32_t column) const {
    return from_bf16((column % 2 == 0 ? even : odd)[std::size_t{row} * (k / 2) + column / 2]);
  }
  [[nodiscard]] double weight(std::uint32_t column, std::uint32_t at) const {
    const std::uint8_t pair = w[std::size_t{column} * (k / 2) + at / 2];
    const int nibble = at % 2 == 0 ? pair & 15 : pair >> 4;
    const int q = nibble < 8 ? nibble : nibble - 16;
    const std::size_t g = std::size_t{at} / group * n + column;
    return q * static_cast<double>(from_bf16(scale[g])) + from_bf16(offset[g]);
  }
};

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

sim::RunReport launch(const Kernel& kernel, sim::Memory& memory, const std::vector<std::uint64_t>& pointers,
                      const std::vector<std::pair<std::string, std::uint32_t>>& values,
                      std::array<std::uint32_t, 3> grid, const std::vector<std::uint64_t>& workgroups) {
  std::vector<std::byte> kernarg;
  for (const std::uint64_t p : pointers) append(kernarg, p, 8);
  for (const auto& [name, value] : values)
    if (kernel.description["scalars"].contains(name) && kernel.description["scalars"][name] != 1)
      append(kernarg, value, 4);
  append(kernarg, 0, 8);
  append(kernarg, 0, 8);
  const sim::LaunchParams params{.grid = grid,
                                 .block = {kernel.description["block"][0], 1, 1},
                                 .kernarg = kernarg,
                                 .dynamic_lds_bytes = kernel.description["dynamic_lds_bytes"],
                                 .workgroups = workgroups,
                                 .options = {}};
  auto report = sim::run(kernel.program, memory, params);
  INFO((report ? std::string() : report.error().message));
  REQUIRE(report);
  return *std::move(report);
}

void compare(const Inputs& in, const std::vector<double>& result, RowwiseOutcome& outcome) {
  std::vector<double> weights(std::size_t{in.n} * in.k), row(in.k), reference(result.size());
  for (std::uint32_t c = 0; c < in.n; ++c)
    for (std::uint32_t k = 0; k < in.k; ++k) weights[std::size_t{c} * in.k + k] = in.weight(c, k);
  double dot = 0, cc = 0, rr = 0;
  for (std::uint32_t r = 0; r < in.m; ++r) {
    for (std::uint32_t k = 0; k < in.k; ++k) row[k] = in.activation(r, k);
    for (std::uint32_t c = 0; c < in.n; ++c) {
      const std::size_t at = std::size_t{r} * in.n + c;
      reference[at] = std::inner_product(row.begin(), row.end(),
                                         weights.begin() + static_cast<std::ptrdiff_t>(c) * in.k, 0.0);
      dot += result[at] * reference[at];
      cc += result[at] * result[at];
      rr += reference[at] * reference[at];
    }
  }
  outcome.one_minus_cosine = 1 - dot / std::sqrt(cc * rr);
  const double rms = std::sqrt(rr / static_cast<double>(reference.size()));
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double allowed = 1e-2 * std::fabs(reference[i]) + 2e-2 * rms;
    outcome.worst_error = std::max(outcome.worst_error, std::fabs(result[i] - reference[i]) / allowed);
  }
}

}  // namespace

RowwiseOutcome run_rowwise(const RowwiseShape& shape) {
  const Kernel gemm = load(shape.gemm);
  const Json& meta = gemm.description["meta"];
  const std::uint32_t parts = meta["SPLIT_K"];
  const Inputs in(shape);
  sim::Memory memory;
  const std::size_t elements = std::size_t{in.m} * in.n;
  const auto y = memory.allocate(elements * parts * 4, 16, "y");
  REQUIRE(y);
  const std::vector<std::uint64_t> pointers{upload(memory, in.even.data(), in.even.size() * 2, "xe"),
                                            upload(memory, in.odd.data(), in.odd.size() * 2, "xo"),
                                            upload(memory, in.w.data(), in.w.size(), "w"),
                                            *y,
                                            upload(memory, in.scale.data(), in.scale.size() * 2, "s"),
                                            upload(memory, in.offset.data(), in.offset.size() * 2, "z")};
  const std::uint32_t mn = in.m * in.n;
  RowwiseOutcome outcome;
  outcome.runs.push_back(launch(gemm, memory, pointers,
                                {{"M", in.m},
                                 {"N", in.n},
                                 {"K2", in.k / 2},
                                 {"group_size", Inputs::group},
                                 {"stride_xm", in.k / 2},
                                 {"stride_xk", 1},
                                 {"stride_wn", in.k / 2},
                                 {"stride_wk", 1},
                                 {"stride_yz", mn},
                                 {"stride_ym", in.n},
                                 {"stride_yn", 1},
                                 {"stride_sg", in.n},
                                 {"stride_sn", 1}},
                                {shape.grid, parts, 1}, shape.workgroups));
  outcome.unwritten_bytes = memory.undefined_bytes(*y, elements * parts * 4).value();
  std::vector<double> result(elements);
  if (shape.reduce.empty()) {
    std::vector<float> values(elements);
    REQUIRE(memory.read(*y, {reinterpret_cast<std::byte*>(values.data()), elements * 4}));
    std::ranges::copy(values, result.begin());
  } else {
    const Kernel reduce = load(shape.reduce);
    const auto sum = memory.allocate(elements * 2, 16, "sum");
    REQUIRE(sum);
    const auto tiles = [&](const char* name, std::uint32_t size) {
      const std::uint32_t block = reduce.description["meta"][name];
      return (size + block - 1) / block;
    };
    outcome.runs.push_back(launch(reduce, memory, {*y, *sum}, {{"M", in.m}, {"N", in.n}},
                                  {tiles("BLOCK_M", in.m), tiles("BLOCK_N", in.n), 1}, {}));
    outcome.unwritten_bytes += memory.undefined_bytes(*sum, elements * 2).value();
    std::vector<std::uint16_t> values(elements);
    REQUIRE(memory.read(*sum, {reinterpret_cast<std::byte*>(values.data()), elements * 2}));
    std::ranges::transform(values, result.begin(), from_bf16);
  }
  compare(in, result, outcome);
  return outcome;
}

}  // namespace wavejit::test
