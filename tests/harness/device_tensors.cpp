// SPDX-License-Identifier: MIT
#include "tests/harness/device_tensors.hpp"

#include <cstring>
#include <span>
#include <utility>

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

/// Weights, scales, zero points and bias as the vLLM RDNA hybrid kernel has them.
Result<void> DeviceTensors::add_rowwise(const oracle::Shape& shape) {
  const templates::Problem& p = problem_;
  Arguments& a = arguments_;
  auto ok = add(a.weights, templates::DataType::i32, p.n, p.k / 8, p.weight_stride,
                rows(p.n, p.k / 8, p.weight_stride,
                     [&](std::int64_t i) { return oracle::weight_row_exllama(shape, values_, i); }));
  const std::int64_t groups = p.k / p.group;
  if (ok)
    ok = add(a.scales, p.activation, p.n, groups, p.scale_stride,
             rows(p.n, groups, p.scale_stride,
                  [&](std::int64_t i) { return oracle::scale_row(shape, values_, i); }));
  if (ok && shape.has_zero_points)
    ok = add(a.zero_points, templates::DataType::i32, (p.n + 7) / 8, groups, p.zero_point_stride,
             rows((p.n + 7) / 8, groups, p.zero_point_stride,
                  [&](std::int64_t i) { return oracle::zero_point_row(shape, values_, i); }));
  if (ok && shape.has_bias)
    ok = add(a.bias, p.activation, 1, p.n, p.n, rows(1, p.n, p.n, [&](std::int64_t) {
               std::vector<std::uint16_t> row;
               row.reserve(static_cast<std::size_t>(p.n));
               for (std::int64_t n = 0; n < p.n; ++n) row.push_back(oracle::bias_element(shape, values_, n));
               return row;
             }));
  return ok;
}

/// Those of the int4 products, set after set.
Result<void> DeviceTensors::add_int4(const oracle::Shape& shape,
                                     const std::vector<std::int64_t>& group_rows) {
  const templates::Problem& p = problem_;
  Arguments& a = arguments_;
  const bool grouped = p.op == templates::Operation::int4_grouped;
  const std::int64_t sets = grouped ? p.groups : p.batch, groups = p.k / p.group;
  auto ok = add(a.weights, templates::DataType::i32, sets * p.n, p.k / 8, p.weight_stride,
                rows(sets * p.n, p.k / 2, p.weight_stride * 4,
                     [&](std::int64_t i) { return oracle::weight_row_pairs(shape, values_, i); }));
  const auto by_group = [&](Tensor& tensor, const oracle::FloatRow& source) {
    std::vector<std::vector<std::byte>> all;
    for (std::int64_t set = 0; set < sets; ++set)
      for (auto& row : oracle::group_major(shape, source, set * p.n, (set + 1) * p.n))
        all.push_back(std::move(row));
    const std::int64_t size = templates::bytes(p.scale_type);
    return add(tensor, p.scale_type, sets * groups, p.n, p.scale_stride,
               rows(sets * groups, p.n * size, p.scale_stride * size,
                    [&](std::int64_t i) { return all[static_cast<std::size_t>(i)]; }));
  };
  if (ok) ok = by_group(a.scales, values_.scales);
  if (ok && shape.has_zero_points) ok = by_group(a.zero_points, values_.zeros);
  if (ok && grouped) {
    const auto bytes = std::as_bytes(std::span(group_rows));
    ok = add(a.group_rows, templates::DataType::i64, 1, sets, sets, {bytes.begin(), bytes.end()});
  }
  return ok;
}

Result<DeviceTensors> DeviceTensors::create(std::shared_ptr<device::Device> device,
                                            const templates::Problem& p, std::int64_t m,
                                            const oracle::Values& values,
                                            const std::vector<std::int64_t>& group_rows) {
  DeviceTensors t;
  t.device_ = std::move(device);
  t.problem_ = p;
  t.m_ = p.batch * m;
  t.products_ = products_of(p, m, group_rows);
  t.values_ = values;
  const oracle::Shape shape = oracle_shape(p);
  Arguments& a = t.arguments_;
  auto ok = t.add(a.activations, p.activation, t.m_, p.k, p.activation_stride,
                  rows(t.m_, p.k, p.activation_stride,
                       [&](std::int64_t i) { return oracle::activation_row(shape, t.values_, i); }));
  if (ok) ok = shape.signed_weights ? t.add_int4(shape, group_rows) : t.add_rowwise(shape);
  if (ok)
    ok = t.add(a.output, p.activation, t.m_, p.n, p.output_stride,
               std::vector<std::byte>(static_cast<std::size_t>((t.m_ - 1) * p.output_stride + p.n) * 2,
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

Result<void> DeviceTensors::add_workspace(std::uint64_t bytes) {
  if (bytes == 0) return {};
  const auto address = device_->allocate(bytes);
  if (!address) return std::unexpected(address.error());
  owned_.push_back(*address);
  arguments_.workspace = *address;
  arguments_.workspace_bytes = bytes;
  return device_->fill(*address, bytes, 0xFF);
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
  std::vector<oracle::Verdict> verdicts;
  for (const Product& p : products_) {
    const oracle::Block block{p.row_begin, p.row_end, 0, problem_.n, p.set};
    const auto part = std::span(*bits).subspan(static_cast<std::size_t>(p.row_begin * problem_.n),
                                               static_cast<std::size_t>(block.rows() * problem_.n));
    verdicts.push_back(
        oracle::compare(oracle::reference(shape, values_, block), part, block, shape.format, rounding));
  }
  return oracle::merge(verdicts);
}

}  // namespace wavejit::harness
