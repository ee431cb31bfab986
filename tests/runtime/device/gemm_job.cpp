// SPDX-License-Identifier: MIT
#include "tests/runtime/device/gemm_job.hpp"

#include <cstring>

#include "tests/oracle/pack.hpp"
#include "tests/oracle/product.hpp"

namespace wavejit::test {
namespace {

oracle::Shape shape_of(const GemmJob& job) {
  const templates::Problem& p = job.kernel.problem;
  return {.format = oracle::Format::bf16, .n = p.n, .k = p.k, .group = p.group, .has_zero_points = false};
}

oracle::Block block_of(const GemmJob& job) { return {0, job.m, 0, job.kernel.problem.n}; }

template <class Row>
void place(std::vector<std::byte>& tensor, std::int64_t stride, std::int64_t rows, const Row& row) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto values = row(i);
    const auto bytes = std::as_bytes(std::span(values));
    std::memcpy(tensor.data() + i * stride, bytes.data(), bytes.size());
  }
}

std::vector<std::byte> contents(const GemmJob& job, const templates::Argument& argument) {
  const oracle::Shape shape = shape_of(job);
  const oracle::Values values = oracle::random_values(job.seed);
  std::vector<std::byte> bytes(static_cast<std::size_t>(argument.bytes), std::byte{0xFF});
  const std::int64_t stride = argument.strides.front();
  if (argument.name == "activations")
    place(bytes, stride, job.m, [&](std::int64_t i) { return oracle::activation_row(shape, values, i); });
  if (argument.name == "weights")
    place(bytes, stride, shape.n,
          [&](std::int64_t i) { return oracle::weight_row_exllama(shape, values, i); });
  if (argument.name == "scales")
    place(bytes, stride, shape.n, [&](std::int64_t i) { return oracle::scale_row(shape, values, i); });
  return bytes;
}

const templates::Argument& output_of(const GemmJob& job) {
  for (const templates::Argument& argument : job.launch.arguments)
    if (argument.name == "output") return argument;
  throw std::logic_error("no output argument");
}

}  // namespace

GemmJob make_job(std::string_view target_name, std::int64_t m, std::uint64_t seed) {
  const target::Target* target = target::find(target_name);
  if (target == nullptr) throw std::logic_error("no such target");
  templates::Problem problem;
  problem.activation = templates::DataType::bf16;
  problem.rounding = templates::WeightRounding::nearest;
  problem.n = 64;
  problem.k = 128;
  problem.group = 64;
  problem.zero_points = templates::ZeroPoints::symmetric;
  GemmJob job;
  job.m = m;
  job.seed = seed;
  const auto config = must(templates::select_config(problem, *target, m));
  job.kernel = must(templates::generate(problem, config, *target));
  job.launch = must(templates::launch(job.kernel.problem, job.kernel.config, *target, m));
  return job;
}

Result<Tensors> upload(device::Device& device, const GemmJob& job) {
  Tensors tensors;
  tensors.kernarg.assign(job.launch.kernarg_size, std::byte{0});
  for (const templates::Argument& argument : job.launch.arguments) {
    auto value = static_cast<std::uint64_t>(argument.value);
    if (argument.kind == ir::ArgKind::buffer) {
      const auto address = device.allocate(static_cast<std::uint64_t>(argument.bytes));
      if (!address) return std::unexpected(address.error());
      tensors.buffers.push_back(value = *address);
      if (auto ok = device.copy_in(value, contents(job, argument)); !ok) return std::unexpected(ok.error());
      if (argument.name == "output") tensors.output = value;
    }
    std::memcpy(tensors.kernarg.data() + argument.offset, &value, argument.size);
  }
  return tensors;
}

Result<void> clear_output(device::Device& device, const GemmJob& job, const Tensors& tensors) {
  return device.fill(tensors.output, static_cast<std::uint64_t>(output_of(job).bytes), 0xFF);
}

Result<std::vector<std::uint16_t>> download(device::Device& device, const GemmJob& job,
                                            const Tensors& tensors) {
  std::vector<std::uint16_t> output(static_cast<std::size_t>(output_of(job).bytes) / 2);
  if (auto ok = device.copy_out(std::as_writable_bytes(std::span(output)), tensors.output); !ok)
    return std::unexpected(ok.error());
  return output;
}

Result<void> release(device::Device& device, const Tensors& tensors) {
  for (const device::Address address : tensors.buffers)
    if (auto ok = device.release(address); !ok) return ok;
  return {};
}

Result<std::vector<std::uint16_t>> run(device::Device& device, const GemmJob& job, device::Stream stream) {
  const auto module = device.load(job.code(), job.kernel.name);
  if (!module) return std::unexpected(module.error());
  const auto tensors = upload(device, job);
  if (!tensors) return std::unexpected(tensors.error());
  if (auto ok = device.launch(**module, job.geometry(), tensors->kernarg, stream); !ok)
    return std::unexpected(ok.error());
  if (auto ok = device.synchronise(stream); !ok) return std::unexpected(ok.error());
  auto output = download(device, job, *tensors);
  if (auto ok = release(device, *tensors); !ok) return std::unexpected(ok.error());
  return output;
}

oracle::Verdict judge(const GemmJob& job, const std::vector<std::uint16_t>& output) {
  const oracle::Shape shape = shape_of(job);
  const oracle::Block block = block_of(job);
  return oracle::compare(oracle::reference(shape, oracle::random_values(job.seed), block), output, block,
                         shape.format, oracle::WeightRounding::nearest);
}

}  // namespace wavejit::test
