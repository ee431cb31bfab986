// SPDX-License-Identifier: MIT
// A small generated W4A16 product with its tensors on some device, and the oracle's judgement of what came
// out. The kernel is asked to round weights to nearest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/device/device.hpp"
#include "templates/kernel.hpp"
#include "tests/oracle/compare.hpp"

namespace wavejit::test {

struct GemmJob {
  templates::GeneratedKernel kernel;
  templates::Launch launch;
  std::int64_t m = 0;
  std::uint64_t seed = 0;

  [[nodiscard]] std::span<const std::byte> code() const {
    return std::as_bytes(std::span(kernel.code_object));
  }
  [[nodiscard]] device::Geometry geometry() const {
    return {launch.grid, launch.block, launch.dynamic_lds_bytes};
  }
};

/// Fails the test when the kernel cannot be generated.
GemmJob make_job(std::string_view target = "gfx1151", std::int64_t m = 5, std::uint64_t seed = 1);

/// Inputs written, output filled with NaN.
struct Tensors {
  std::vector<device::Address> buffers;
  device::Address output = 0;
  std::vector<std::byte> kernarg;
};
Result<Tensors> upload(device::Device& device, const GemmJob& job);
Result<void> clear_output(device::Device& device, const GemmJob& job, const Tensors& tensors);
Result<std::vector<std::uint16_t>> download(device::Device& device, const GemmJob& job,
                                            const Tensors& tensors);
Result<void> release(device::Device& device, const Tensors& tensors);

/// Load, upload, launch, wait, download, release.
Result<std::vector<std::uint16_t>> run(device::Device& device, const GemmJob& job,
                                       device::Stream stream = nullptr);

oracle::Verdict judge(const GemmJob& job, const std::vector<std::uint16_t>& output);

/// Fails the test with the error's text.
template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace wavejit::test
