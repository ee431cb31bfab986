// SPDX-License-Identifier: MIT
// What hiprtc makes of templates/hip runs on the simulator: the product against tests/oracle, repacked
// weights against oracle::weight_row_exllama, sources packed here by shared/domain.md §1.
#include <catch2/catch.hpp>
#include <cstring>

#include "runtime/device/simulated/sim_device.hpp"
#include "tests/oracle/compare.hpp"
#include "tests/oracle/pack.hpp"
#include "tests/oracle/product.hpp"
#include "tests/runtime/hiprtc/compiled.hpp"

using namespace wavejit;
using namespace wavejit::test;

namespace {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// Arguments one after the other; the files' tables need no padding between them.
class Kernarg {
 public:
  Kernarg& wide(std::initializer_list<std::uint64_t> values) { return append(values); }
  Kernarg& narrow(std::initializer_list<std::uint32_t> values) { return append(values); }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  template <class T>
  Kernarg& append(std::initializer_list<T> values) {
    const auto more = std::as_bytes(std::span(values.begin(), values.size()));
    bytes_.insert(bytes_.end(), more.begin(), more.end());
    return *this;
  }
  std::vector<std::byte> bytes_;
};

template <class T>
device::Address upload(device::Device& device, const std::vector<T>& values) {
  const auto address = must(device.allocate(values.size() * sizeof(T)));
  must(device.copy_in(address, std::as_bytes(std::span(values))));
  return address;
}

template <class T>
std::vector<T> download(device::Device& device, device::Address address, std::size_t count) {
  std::vector<T> values(count);
  must(device.copy_out(std::as_writable_bytes(std::span(values)), address));
  return values;
}

/// Rows one after the other.
template <class Row>
auto stack(std::int64_t rows, const Row& row) {
  auto all = row(0);
  for (std::int64_t i = 1; i < rows; ++i) {
    const auto next = row(i);
    all.insert(all.end(), next.begin(), next.end());
  }
  return all;
}

struct Product {
  oracle::Shape shape;
  std::int64_t m = 0;
  oracle::Values values = oracle::random_values(3);

  [[nodiscard]] std::string bf16() const {
    return shape.format == oracle::Format::bf16 ? "WAVEJIT_BF16=1" : "WAVEJIT_BF16=0";
  }
  [[nodiscard]] std::string zero_points() const {
    return shape.has_zero_points ? "WAVEJIT_ZERO_POINTS=1" : "WAVEJIT_ZERO_POINTS=0";
  }
};

void run(device::Device& device, const std::vector<std::byte>& object, std::string_view kernel,
         const device::Geometry& geometry, const Kernarg& arguments) {
  const auto module = must(device.load(object, kernel));
  must(device.launch(*module, geometry, arguments.bytes(), nullptr));
  must(device.synchronise(nullptr));
}

struct Operands {
  device::Address activations, weights, scales, zero_points;
};

Operands upload(device::Device& device, const Product& p) {
  const auto& [shape, m, values] = p;
  Operands o{};
  o.activations =
      upload(device, stack(m, [&](std::int64_t i) { return oracle::activation_row(shape, values, i); }));
  o.weights = upload(
      device, stack(shape.n, [&](std::int64_t i) { return oracle::weight_row_exllama(shape, values, i); }));
  o.scales =
      upload(device, stack(shape.n, [&](std::int64_t i) { return oracle::scale_row(shape, values, i); }));
  if (shape.has_zero_points)
    o.zero_points = upload(device, stack((shape.n + 7) / 8, [&](std::int64_t i) {
                             return oracle::zero_point_row(shape, values, i);
                           }));
  return o;
}

Kernarg gemm_arguments(const Product& p, const Operands& o, device::Address output, device::Address partial,
                       std::uint32_t share) {
  const auto m = static_cast<std::uint32_t>(p.m), n = static_cast<std::uint32_t>(p.shape.n);
  const auto k = static_cast<std::uint32_t>(p.shape.k), group = static_cast<std::uint32_t>(p.shape.group);
  const std::uint32_t groups = k / group;
  return Kernarg()
      .wide({o.activations, o.weights, o.scales, o.zero_points, output, partial})
      .narrow({m, n, k, group, groups, share})
      .wide({k, k / 8, groups, groups, n, 0});  // strides; no bias
}

device::Geometry gemm_geometry(const Product& p, std::uint32_t slices) {
  return {{static_cast<std::uint32_t>((p.shape.n + 15) / 16), static_cast<std::uint32_t>((p.m + 15) / 16),
           slices},
          {16, 16, 1},
          0};
}

void check_output(device::Device& device, const Product& p, device::Address output) {
  const auto bits = download<std::uint16_t>(device, output, static_cast<std::size_t>(p.m * p.shape.n));
  const oracle::Block block{0, p.m, 0, p.shape.n};
  const auto verdict = oracle::compare(oracle::reference(p.shape, p.values, block), bits, block,
                                       p.shape.format, oracle::WeightRounding::nearest);
  INFO(verdict.reason);
  CHECK(verdict.ok);
}

device::Address fresh_output(device::Device& device, const Product& p) {
  return upload(device, std::vector<std::uint16_t>(static_cast<std::size_t>(p.m * p.shape.n), 0xFFFF));
}

void run_whole(device::Device& device, const std::string& target, const Product& p) {
  const auto object =
      compile_source("w4a16_gemm.hip", target, {p.bf16(), p.zero_points(), "WAVEJIT_PARTIAL=0"});
  const Operands o = upload(device, p);
  const auto output = fresh_output(device, p);
  run(device, object, "wavejit_w4a16_gemm", gemm_geometry(p, 1), gemm_arguments(p, o, output, 0, 0));
  check_output(device, p, output);
}

void run_split(device::Device& device, const std::string& target, const Product& p, std::uint32_t slices,
               std::uint32_t share) {
  const auto gemm =
      compile_source("w4a16_gemm.hip", target, {p.bf16(), p.zero_points(), "WAVEJIT_PARTIAL=1"});
  const auto reduce = compile_source("splitk_reduce.hip", target, {p.bf16()});
  const Operands o = upload(device, p);
  const auto output = fresh_output(device, p);
  const auto n = static_cast<std::uint32_t>(p.shape.n), m = static_cast<std::uint32_t>(p.m);
  const auto partial = must(device.allocate(std::uint64_t{slices} * m * n * 4));
  run(device, gemm, "wavejit_w4a16_gemm", gemm_geometry(p, slices), gemm_arguments(p, o, 0, partial, share));
  run(device, reduce, "wavejit_splitk_reduce", {{(n + 255) / 256, m, 1}, {256, 1, 1}, 0},
      Kernarg().wide({partial, output, n}).narrow({m, n, slices}));
  check_output(device, p, output);
}

std::shared_ptr<device::SimDevice> device_for(const std::string& target) {
  need_hiprtc();
  device::SimOptions options;
  options.target = target;
  auto device = device::SimDevice::create(options);
  REQUIRE(device);
  return *std::move(device);
}

using Nibbles = std::vector<std::vector<std::uint8_t>>;  ///< [n][k]

/// The words of WAVEJIT_FROM 0 to 3 and the row stride that the kernel wants.
struct Packed {
  std::vector<std::uint32_t> words;
  std::uint64_t stride = 0;
};

Packed pack(const Nibbles& q, int from) {
  const std::size_t n = q.size(), k = q[0].size();
  constexpr std::array awq{0U, 2U, 4U, 6U, 1U, 3U, 5U, 7U};  // column of nibble i
  Packed p;
  p.words.assign(n * k / 8, 0);
  p.stride = from == 1 ? n / 8 : from == 2 ? n : from == 3 ? k / 2 : k / 8;
  const auto put = [&](std::size_t word, std::size_t nibble, unsigned value) {
    p.words[word] |= value << (4 * nibble);
  };
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t i = 0; i < k; ++i) {
      const unsigned value = q[row][i];
      if (from == 0) put(row * (k / 8) + i / 8, i % 8, value);
      if (from == 1)
        for (std::size_t nibble = 0; nibble < 8; ++nibble)
          if (awq[nibble] == row % 8) put(i * (n / 8) + row / 8, nibble, value);
      if (from == 2) put(i / 8 * n + row, i % 8, value);
      // A signed nibble is the stored one less 8, in two's complement.
      if (from == 3) put(row * (k / 8) + i / 8, i % 8, (value - 8) & 15U);
    }
  }
  return p;
}

}  // namespace

TEST_CASE("The reference product of hiprtc is the oracle's on gfx90a and gfx1030", "[hip_kernels]") {
  for (const char* target : {"gfx90a", "gfx1030"}) {
    CAPTURE(target);
    const auto device = device_for(target);
    using oracle::Format;
    const oracle::Shape symmetric{
        .format = Format::bf16, .n = 21, .k = 96, .group = 32, .has_zero_points = false};
    const oracle::Shape packed{.format = Format::f16, .n = 24, .k = 80, .group = 16, .has_zero_points = true};
    run_whole(*device, target, {symmetric, 18});
    run_whole(*device, target, {packed, 3});
    run_split(*device, target, {packed, 5}, 3, 2);  // five groups: the last slice is short
  }
}

TEST_CASE("hiprtc's repacking gives the kernels' layout from each source layout", "[hip_kernels]") {
  const oracle::Shape shape{
      .format = oracle::Format::bf16, .n = 16, .k = 40, .group = 40, .has_zero_points = false};
  const oracle::Values values = oracle::random_values(9);
  Nibbles q(static_cast<std::size_t>(shape.n), std::vector<std::uint8_t>(static_cast<std::size_t>(shape.k)));
  for (std::size_t row = 0; row < q.size(); ++row) values.nibbles(static_cast<std::int64_t>(row), q[row]);
  const auto expected =
      stack(shape.n, [&](std::int64_t i) { return oracle::weight_row_exllama(shape, values, i); });
  for (const char* target : {"gfx90a", "gfx1030"}) {
    const auto device = device_for(target);
    for (int from = 0; from < 4; ++from) {
      CAPTURE(target, from);
      const auto object =
          compile_source("repack_weights.hip", target, {"WAVEJIT_FROM=" + std::to_string(from)});
      const Packed source = pack(q, from);
      const auto in = upload(*device, source.words);
      const auto out = must(device->allocate(expected.size() * 4));
      run(*device, object, "wavejit_repack_weights", {{1, 16, 1}, {256, 1, 1}, 0},
          Kernarg().wide({in, out, source.stride, 5}).narrow({16, 40}));
      CHECK(download<std::uint32_t>(*device, out, expected.size()) == expected);
    }
  }
}
