// SPDX-License-Identifier: MIT
// How fast weights repack: bytes read plus bytes written per second for each format, beside a plain copy of
// the weights on one thread. Prints medians; asserts nothing.
#include "runtime/repack/repack.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <functional>
#include <vector>

namespace {

using namespace wavejit;
using namespace wavejit::repack;

struct Sizes {
  std::int64_t n = 19456, k = 2560, group = 32;
  std::int64_t groups() const { return k / group; }
};

/// A dense matrix over its own memory, filled with `pattern`.
struct Matrix {
  Matrix(Dtype type_, std::int64_t rows_, std::int64_t columns_, std::uint32_t pattern)
      : type(type_), rows(rows_), columns(columns_) {
    memory.assign(static_cast<std::size_t>(rows * columns * bytes(type) + 3) / 4, pattern);
  }
  Tensor tensor() const { return {std::as_bytes(std::span(memory)), type, {rows, columns}, {}}; }

  Dtype type;
  std::int64_t rows, columns;
  std::vector<std::uint32_t> memory;
};

struct Checkpoint {
  Format format;
  Matrix weights, scales, zero_points;
};

/// bf16 1.0 in both halves, so that two-byte and four-byte floats are finite.
constexpr std::uint32_t ones = 0x3F803F80;

Checkpoint checkpoint(Format format, const Sizes& s) {
  constexpr std::uint32_t nibbles = 0x3A5C7E19;
  switch (format) {
    case Format::awq:
      return {format, Matrix(Dtype::i32, s.k, s.n / 8, nibbles), Matrix(Dtype::f16, s.groups(), s.n, ones),
              Matrix(Dtype::i32, s.groups(), s.n / 8, nibbles)};
    case Format::gptq_v1:
    case Format::gptq_v2:
      return {format, Matrix(Dtype::i32, s.k / 8, s.n, nibbles), Matrix(Dtype::f16, s.groups(), s.n, ones),
              Matrix(Dtype::i32, s.groups(), s.n / 8, nibbles)};
    case Format::mslk:
      return {format, Matrix(Dtype::i8, s.n, s.k / 2, nibbles), Matrix(Dtype::bf16, s.groups(), s.n, ones),
              Matrix(Dtype::bf16, s.groups(), s.n, 0)};
    default:
      return {format, Matrix(Dtype::i32, s.n, s.k / 8, nibbles), Matrix(Dtype::bf16, s.n, s.groups(), ones),
              Matrix(Dtype::i32, s.n / 8, s.groups(), nibbles)};
  }
}

/// Wall time, and processor time of all threads: the one to look at on a machine that does other things too.
struct Seconds {
  double wall = 0, processor = 0;
};

Seconds medians(unsigned repeats, const std::function<void()>& work) {
  std::vector<double> wall, processor;
  for (unsigned i = 0; i < repeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const std::clock_t ticks = std::clock();
    work();
    processor.push_back(static_cast<double>(std::clock() - ticks) / CLOCKS_PER_SEC);
    wall.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::ranges::sort(wall);
  std::ranges::sort(processor);
  return {wall[wall.size() / 2], processor[processor.size() / 2]};
}

void report(const char* name, unsigned threads, double moved, const Seconds& seconds) {
  fmt::print("  {:<28} {:2} thread{}  wall {:8.2f} ms {:6.2f} GB/s   processor {:8.2f} ms {:6.2f} GB/s\n",
             name, threads, threads == 1 ? " " : "s", seconds.wall * 1e3, moved / seconds.wall * 1e-9,
             seconds.processor * 1e3, moved / seconds.processor * 1e-9);
}

/// Neighbouring columns belong to different groups: act-order at its most scattered.
Matrix scattered_groups(const Sizes& s) {
  Matrix m(Dtype::i32, 1, s.k, 0);
  for (std::int64_t k = 0; k < s.k; ++k)
    m.memory[static_cast<std::size_t>(k)] = static_cast<std::uint32_t>(k % s.groups());
  return m;
}

int measure(const Checkpoint& c, const Sizes& s, unsigned threads, unsigned repeats, bool act_order) {
  Source source{c.format,          ZeroPoints::asymmetric, c.weights.tensor(),
                c.scales.tensor(), c.zero_points.tensor(), std::nullopt,
                std::nullopt};
  const Matrix g_idx = scattered_groups(s);
  if (act_order) {
    source.g_idx = g_idx.tensor();
    source.g_idx->shape = {s.k};
  }
  Destination d;
  d.n = s.n;
  d.k = s.k;
  d.group = s.group;
  d.zero_points = ZeroPoints::asymmetric;
  d.gathers_activations = act_order;
  Result<Plan> p = plan(source, d);
  if (!p) {
    fmt::print(stderr, "{}\n", p.error().message);
    return 1;
  }
  std::vector<std::byte> weights(static_cast<std::size_t>(p->weights.bytes)),
      scales(static_cast<std::size_t>(p->scales.bytes)),
      zero_points(static_cast<std::size_t>(p->zero_points.bytes));
  const double moved = 2.0 * static_cast<double>(p->weights.bytes + p->scales.bytes + p->zero_points.bytes);
  const std::string name = std::string(repack::name(c.format)) + (act_order ? " act-order" : "");
  report((name + " plan").c_str(), 1, moved / 2, medians(repeats, [&] { p = plan(source, d); }));
  for (const unsigned t : {1U, threads}) {
    const Seconds seconds = medians(repeats, [&] { (void)run(*p, {weights, scales, zero_points}, t); });
    report(name.c_str(), t, moved, seconds);
    if (threads == 1) break;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Sizes s;
  unsigned threads = 2, repeats = 9;
  CLI::App app{"Rates of weight repacking"};
  app.add_option("--n", s.n, "rows, a multiple of 8")->check(CLI::Range(8, 1 << 20));
  app.add_option("--k", s.k, "weights per row, a multiple of the group")->check(CLI::Range(8, 1 << 20));
  app.add_option("--group", s.group, "weights per scale, a multiple of 8")->check(CLI::Range(8, 1 << 20));
  app.add_option("--threads", threads, "of the second measurement")->check(CLI::Range(1, 256));
  app.add_option("--repeats", repeats)->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);

  fmt::print("N {} K {} group {}, read + written bytes per second\n", s.n, s.k, s.group);
  std::vector<std::byte> from(static_cast<std::size_t>(s.n * s.k / 2), std::byte{1}), to(from.size());
  report("memcpy of the weights", 1, 2.0 * static_cast<double>(from.size()),
         medians(repeats, [&] { std::memcpy(to.data(), from.data(), from.size()); }));
  int status = 0;
  for (const Format format :
       {Format::awq, Format::gptq_v1, Format::compressed_tensors, Format::row_major, Format::mslk})
    status |= measure(checkpoint(format, s), s, threads, repeats, false);
  return status | measure(checkpoint(Format::gptq_v2, s), s, threads, repeats, true);
}
