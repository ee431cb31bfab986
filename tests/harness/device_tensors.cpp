// SPDX-License-Identifier: MIT
#include "tests/harness/device_tensors.hpp"

#include <cstring>

#include "tests/harness/tensors.hpp"
#include "tests/oracle/pack.hpp"
#include "tests/oracle/product.hpp"

namespace wavejit::harness {
namespace {

/// Rows `stride` elements apart, padding filled with 0xA5.
template <class Row>
std::vector<std::byte> rows(std::int64_t count, std::int64_t columns, std::int64_t stride, const Row& row) {
  using Element = typename decltype(row(std::int64_t{0}))::value_type;
  const auto size = sizeof(Element);
  std::vector<std::byte> bytes(static_cast<std::size_t>((count - 1) * stride + columns) * size,
                               std::byte{0xA5});
  for (std::int64_t i = 0; i < count; ++i) {
    const auto values = row(i);
    std::memcpy(bytes.data() + static_cast<std::size_t>(i * stride) * size, values.data(),
                static_cast<std::size_t>(columns) * size);
  }
  return bytes;
}

}  // namespace

Result<void> DeviceTensors::add(Tensor& tensor, templates::DataType type, std::int64_t row_count,
                                std::int64_t columns, std::int64_t stride,
                                const std::vector<std::byte>& bytes) {
  const auto address = device_->allocate(bytes.size());
  if (!address) return std::unexpected(address.error());
  owned_.push_back(*address);
  tensor = {.address = *address,
            .bytes = bytes.size(),
            .type = type,
            .rank = 2,
            .shape = {row_count, columns},
            .strides = {stride, 1}};
  return device_->copy_in(*address, bytes);
}

Result<DeviceTensors> DeviceTensors::create(std::shared_ptr<device::Device> device,
                                            const templates::Problem& p, std::int64_t m,
                                            const oracle::Values& values) {
  DeviceTensors t;
  t.device_ = std::move(device);
  t.problem_ = p;
  t.m_ = m;
  t.values_ = values;
  const oracle::Shape shape = oracle_shape(p);
  Arguments& a = t.arguments_;
  auto ok = t.add(a.activations, p.activation, m, p.k, p.activation_stride,
                  rows(m, p.k, p.activation_stride,
                       [&](std::int64_t i) { return oracle::activation_row(shape, values, i); }));
  if (ok)
    ok = t.add(a.weights, templates::DataType::i32, p.n, p.k / 8, p.weight_stride,
               rows(p.n, p.k / 8, p.weight_stride,
                    [&](std::int64_t i) { return oracle::weight_row_exllama(shape, values, i); }));
  const std::int64_t groups = p.k / p.group;
  if (ok)
    ok = t.add(a.scales, p.activation, p.n, groups, p.scale_stride,
               rows(p.n, groups, p.scale_stride,
                    [&](std::int64_t i) { return oracle::scale_row(shape, values, i); }));
  if (ok && shape.has_zero_points)
    ok = t.add(a.zero_points, templates::DataType::i32, (p.n + 7) / 8, groups, p.zero_point_stride,
               rows((p.n + 7) / 8, groups, p.zero_point_stride,
                    [&](std::int64_t i) { return oracle::zero_point_row(shape, values, i); }));
  if (ok && shape.has_bias)
    ok = t.add(a.bias, p.activation, 1, p.n, p.n, rows(1, p.n, p.n, [&](std::int64_t) {
                 std::vector<std::uint16_t> row;
                 row.reserve(static_cast<std::size_t>(p.n));
                 for (std::int64_t n = 0; n < p.n; ++n) row.push_back(oracle::bias_element(shape, values, n));
                 return row;
               }));
  if (ok)
    ok = t.add(a.output, p.activation, m, p.n, p.output_stride,
               std::vector<std::byte>(static_cast<std::size_t>((m - 1) * p.output_stride + p.n) * 2,
                                      std::byte{0xFF}));
  if (!ok) return std::unexpected(ok.error());
  return t;
}

DeviceTensors::~DeviceTensors() {
  // A release that fails at the end of a test has nobody to be told.
  for (const device::Address address : owned_) {
    [[maybe_unused]] const auto released = device_->release(address);
  }
}

Result<void> DeviceTensors::clear_output() {
  return device_->fill(arguments_.output.address, arguments_.output.bytes, 0xFF);
}

Result<std::vector<std::uint16_t>> DeviceTensors::output() const {
  std::vector<std::byte> bytes(arguments_.output.bytes);
  if (auto ok = device_->copy_out(bytes, arguments_.output.address); !ok) return std::unexpected(ok.error());
  std::vector<std::uint16_t> bits(static_cast<std::size_t>(m_ * problem_.n));
  for (std::int64_t i = 0; i < m_; ++i)
    std::memcpy(bits.data() + i * problem_.n, bytes.data() + i * problem_.output_stride * 2,
                static_cast<std::size_t>(problem_.n) * 2);
  return bits;
}

Result<oracle::Verdict> DeviceTensors::judge(oracle::WeightRounding rounding) const {
  const auto bits = output();
  if (!bits) return std::unexpected(bits.error());
  const oracle::Shape shape = oracle_shape(problem_);
  const oracle::Block all{0, m_, 0, problem_.n};
  return oracle::compare(oracle::product(shape, values_, all), *bits, all, shape.format, rounding);
}

}  // namespace wavejit::harness
