// SPDX-License-Identifier: MIT
#include "tests/harness/kquant_device.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include "tests/harness/kquant.hpp"
#include "tests/oracle/format.hpp"

namespace wavejit::harness::kquant {
namespace {

using templates::DataType;
namespace oracle_kquant = wavejit::oracle::kquant;

/// Appends the value in the type's bits; gives back what they hold.
float append(std::vector<std::byte>& bytes, float value, DataType type) {
  const auto put = [&bytes](const auto& bits) {
    const std::size_t at = bytes.size();
    bytes.resize(at + sizeof bits);
    std::memcpy(bytes.data() + at, &bits, sizeof bits);
  };
  if (type == DataType::f32) {
    put(value);
    return value;
  }
  const auto format = type == DataType::f16 ? wavejit::oracle::Format::f16 : wavejit::oracle::Format::bf16;
  const std::uint16_t bits = wavejit::oracle::encode(static_cast<double>(value), format);
  put(bits);
  return static_cast<float>(wavejit::oracle::decode(bits, format));
}

}  // namespace

Result<device::Address> DeviceTensors::upload(std::span<const std::byte> bytes) {
  const auto address = device_->allocate(bytes.size());
  if (!address) return address;
  owned_.push_back(*address);
  if (auto ok = device_->copy_in(*address, bytes); !ok) return std::unexpected(ok.error());
  return address;
}

Result<void> DeviceTensors::add(Tensor& tensor, DataType type, std::int64_t rows, std::int64_t columns,
                                std::span<const std::byte> bytes) {
  const auto address = upload(bytes);
  if (!address) return std::unexpected(address.error());
  tensor = {.address = *address,
            .bytes = bytes.size(),
            .type = type,
            .rank = 2,
            .shape = {rows, columns},
            .strides = {}};
  return {};
}

Result<DeviceTensors> DeviceTensors::create(std::shared_ptr<device::Device> device,
                                            const DeviceRequest& request) {
  DeviceTensors t;
  t.device_ = std::move(device);
  t.request_ = request;
  const templates::Problem& p = request.problem;
  std::vector<std::byte> x, w;
  for (std::int64_t m = 0; m < request.m; ++m) {
    std::mt19937_64 random(request.seed * 1000003 + static_cast<std::uint64_t>(m));
    std::normal_distribution<float> normal;
    std::vector<float>& row = t.x_.emplace_back();
    for (std::int64_t k = 0; k < p.k; ++k)
      row.push_back(
          append(x, request.activations ? request.activations(m, k) : normal(random), p.activation));
  }
  for (std::int64_t n = 0; n < p.n; ++n) {
    t.weights_.push_back(request.weights
                             ? request.weights(n)
                             : oracle_kquant::random_row(oracle_type(p.weight_type), p.k, request.seed, n));
    const auto bytes = std::as_bytes(std::span(t.weights_.back()));
    w.insert(w.end(), bytes.begin(), bytes.end());
  }
  Arguments& a = t.arguments_;
  const auto row_bytes = static_cast<std::int64_t>(t.weights_.front().size());
  auto ok = t.add(a.activations, p.activation, request.m, p.k, x);
  if (ok) ok = t.add(a.weights, DataType::u8, p.n, row_bytes, w);
  const std::vector<std::byte> nothing(static_cast<std::size_t>(request.m * p.n) * 4, std::byte{0xFF});
  if (ok) ok = t.add(a.output, DataType::f32, request.m, p.n, nothing);
  if (!ok) return std::unexpected(ok.error());
  a.workspace_bytes = request.workspace_bytes;
  if (a.workspace_bytes == 0) return t;
  const auto workspace = t.device_->allocate(a.workspace_bytes);
  if (!workspace) return std::unexpected(workspace.error());
  t.owned_.push_back(*workspace);
  a.workspace = *workspace;
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

Result<std::vector<float>> DeviceTensors::output() const {
  std::vector<float> values(static_cast<std::size_t>(request_.m * request_.problem.n));
  if (auto ok = device_->copy_out(std::as_writable_bytes(std::span(values)), arguments_.output.address); !ok)
    return std::unexpected(ok.error());
  return values;
}

Result<Distance> DeviceTensors::judge() const {
  const auto got = output();
  if (!got) return std::unexpected(got.error());
  const auto type = oracle_type(request_.problem.weight_type);
  std::vector<double> exact, model;
  Distance distance;
  for (const std::vector<float>& x : x_) {
    const auto quantised = oracle_kquant::quantise_row_q8_1(x);
    for (const std::vector<std::uint8_t>& row : weights_) {
      const auto want = oracle_kquant::reference(type, row, x, quantised);
      const float value = (*got)[exact.size()];
      distance.worst_exact =
          std::max(distance.worst_exact, oracle_kquant::of_bound(value, want.exact, want.exact_bound));
      distance.worst_model =
          std::max(distance.worst_model,
                   oracle_kquant::of_bound(value, want.model, want.model_bound + want.quantiser_slack));
      exact.push_back(want.exact);
      model.push_back(want.model);
    }
  }
  distance.exact = oracle_kquant::nmse(*got, exact);
  distance.model = oracle_kquant::nmse(*got, model);
  return distance;
}

}  // namespace wavejit::harness::kquant
