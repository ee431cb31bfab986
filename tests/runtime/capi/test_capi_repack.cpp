// SPDX-License-Identifier: MIT
// Repacking through C: each field of a request reaches the library. What must come out is written by hand:
// the ExLlama layout (templates/problem.hpp), whose nibbles hold K offsets 0 2 4 6 1 3 5 7. The source is
// GPTQ with its second kind of zero points, which are stored as they are.
#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "runtime/capi/wavejit.h"

namespace {

constexpr std::int64_t n = 8, k = 64, group = 32;

int code(std::int64_t row, std::int64_t column) { return static_cast<int>((row * 5 + column * 3) % 16); }

struct Source {
  std::vector<std::int32_t> weights;  ///< GPTQ: [K / 8, N], eight rows of K in a word
  std::vector<std::uint16_t> scales;  ///< f16 [K / group, N]
  std::vector<std::int32_t> zeros;    ///< [K / group, ceil(N / 8)]
  std::vector<std::int32_t> g_idx;

  Source() : weights(k / 8 * n), scales(k / group * n), zeros(k / group), g_idx(k) {
    for (std::int64_t at = 0; at < k; ++at) {
      g_idx[static_cast<std::size_t>(at)] = static_cast<std::int32_t>(at / group);
      for (std::int64_t row = 0; row < n; ++row)
        weights[static_cast<std::size_t>(at / 8 * n + row)] |=
            static_cast<std::int32_t>(static_cast<std::uint32_t>(code(row, at)) << (4 * (at % 8)));
    }
    for (std::size_t i = 0; i < scales.size(); ++i)
      scales[i] = static_cast<std::uint16_t>(0x3C00 + i);  // 1 and up
    for (std::size_t g = 0; g < zeros.size(); ++g) zeros[g] = static_cast<std::int32_t>(0x76543210 + g);
  }
  wavejit_repack_request request() {
    wavejit_repack_request r = {};
    r.struct_size = sizeof r;
    r.format = WAVEJIT_GPTQ_V2;  // zero points as they are
    r.declared = WAVEJIT_PACKED;
    r.weights = {weights.data(), 4 * weights.size(), WAVEJIT_HOST_I32, 2, {k / 8, n}, {}};
    r.scales = {scales.data(), 2 * scales.size(), WAVEJIT_HOST_F16, 2, {k / group, n}, {}};
    r.zero_points = {zeros.data(), 4 * zeros.size(), WAVEJIT_HOST_I32, 2, {k / group, 1}, {}};
    r.n = n;
    r.k = k;
    r.group = group;
    r.scale_type = WAVEJIT_F16;
    r.zero_points_wanted = WAVEJIT_PACKED;
    r.threads = 1;
    return r;
  }
};

std::uint32_t exllama(std::int64_t row, std::int64_t word) {
  constexpr std::array<int, 8> offsets{0, 2, 4, 6, 1, 3, 5, 7};
  std::uint32_t all = 0;
  for (unsigned i = 0; i < 8; ++i)
    all |= static_cast<std::uint32_t>(code(row, 8 * word + offsets[i])) << (4 * i);
  return all;
}

std::string refused(const wavejit_repack_request& r) {
  wavejit_repack_sizes sizes = {};
  sizes.struct_size = sizeof sizes;
  if (wavejit_repack_plan(&r, &sizes) == WAVEJIT_OK) return "";
  return wavejit_last_error_field();
}

}  // namespace

TEST_CASE("Repacking through C: sizes, outputs and strides", "[capi][repack]") {
  Source source;
  wavejit_repack_request r = source.request();
  wavejit_repack_sizes sizes = {};
  sizes.struct_size = sizeof sizes;
  REQUIRE(wavejit_repack_plan(&r, &sizes) == WAVEJIT_OK);
  CHECK(sizes.struct_size == sizeof sizes);
  CHECK(sizes.weight_bytes == n * k / 2);
  CHECK(sizes.scale_bytes == 2 * n * (k / group));
  CHECK(sizes.zero_point_bytes == 4 * (k / group));
  CHECK(sizes.scales_exact == 1);
  CHECK(sizes.permutation_count == 0);
  CHECK(sizes.weights_in_place == 0);  // GPTQ's words run along K
  r.weight_stride = 12;
  r.scale_stride = 5;
  r.zero_point_stride = 7;
  REQUIRE(wavejit_repack_plan(&r, &sizes) == WAVEJIT_OK);
  CHECK(sizes.weight_bytes == 4 * ((n - 1) * 12 + k / 8));
  CHECK(sizes.scale_bytes == 2 * ((n - 1) * 5 + k / group));
  CHECK(sizes.zero_point_bytes == 4 * (k / group));  // one row of words holds eight rows of zero points

  std::vector<std::uint32_t> weights(sizes.weight_bytes / 4, 0xEEEEEEEE), zeros(sizes.zero_point_bytes / 4);
  std::vector<std::uint16_t> scales(sizes.scale_bytes / 2, 0xEEEE);
  REQUIRE(wavejit_repack(&r, weights.data(), sizes.weight_bytes, scales.data(), sizes.scale_bytes,
                         zeros.data(), sizes.zero_point_bytes, nullptr, 0) == WAVEJIT_OK);
  for (std::int64_t row = 0; row < n; ++row) {
    for (std::int64_t word = 0; word < k / 8; ++word)
      CHECK(weights[static_cast<std::size_t>(row * 12 + word)] == exllama(row, word));
    for (std::int64_t g = 0; g < k / group; ++g)
      CHECK(scales[static_cast<std::size_t>(row * 5 + g)] == 0x3C00 + g * n + row);
  }
  CHECK(zeros[0] == 0x76543210);
  CHECK(zeros[1] == 0x76543211);
}

TEST_CASE("Repacking through C: every field is looked at", "[capi][repack]") {
  Source source;
  const auto with = [&](auto&& change) {
    wavejit_repack_request r = source.request();
    change(r);
    return refused(r);
  };
  using R = wavejit_repack_request;
  CHECK(with([](R&) {}).empty());
  CHECK(with([](R& r) { r.n = n + 1; }) != "");
  CHECK(with([](R& r) { r.k = k + 8; }) != "");
  CHECK(with([](R& r) { r.group = 64; }) != "");
  CHECK(with([](R& r) { r.weights.data = nullptr; }) == "weights.data");
  CHECK(with([](R& r) { r.scales.data = nullptr; }) == "scales.data");
  CHECK(with([](R& r) { r.weights.rank = 0; }) == "weights.rank");
  CHECK(with([](R& r) { r.weights.rank = 5; }) == "weights.rank");
  CHECK(with([](R& r) { r.scales.type = static_cast<wavejit_host_type>(7); }) == "scales.type");
  CHECK(with([](R& r) { r.format = static_cast<wavejit_format>(6); }) == "format");
  CHECK(with([](R& r) { r.declared = WAVEJIT_ADDITIVE; }) == "declared");
  CHECK(with([](R& r) { r.zero_points_wanted = WAVEJIT_ADDITIVE; }) == "zero_points_wanted");
  CHECK(with([](R& r) { r.scale_type = WAVEJIT_F32; }) == "scale_type");
  CHECK(with([](R& r) { r.weights.bytes -= 4; }) != "");
  CHECK(with([](R& r) { r.scales.bytes -= 2; }) != "");
  CHECK(with([](R& r) { r.zero_points.bytes -= 4; }) != "");
  CHECK(with([](R& r) { r.zero_points.data = nullptr; }) != "");  // declared, but not there
  CHECK(with([](R& r) { r.weight_stride = k / 8 - 1; }) == "destination.weight_stride");
  CHECK(with([](R& r) { r.scale_stride = 1; }) == "destination.scale_stride");
  CHECK(with([](R& r) { r.zero_point_stride = 1; }) == "destination.zero_point_stride");
  CHECK(with([](R& r) { r.struct_size = 4; }) == "struct_size");
  wavejit_repack_request r = source.request();
  CHECK(wavejit_repack_plan(&r, nullptr) == WAVEJIT_INVALID_ARGUMENT);
  CHECK(std::string(wavejit_last_error_field()) == "sizes");
  CHECK(wavejit_repack(nullptr, nullptr, 0, nullptr, 0, nullptr, 0, nullptr, 0) == WAVEJIT_INVALID_ARGUMENT);
  CHECK(std::string(wavejit_last_error_field()) == "request");
  // Outputs a byte too short, or none.
  std::vector<std::uint32_t> weights(n * k / 8), zeros(2);
  std::vector<std::uint16_t> scales(n * 2);
  const auto run = [&](std::uint64_t w, std::uint64_t s, std::uint64_t z) {
    return wavejit_repack(&r, w == 0 ? nullptr : weights.data(), w, scales.data(), s, zeros.data(), z,
                          nullptr, 0);
  };
  CHECK(run(4 * weights.size(), 2 * scales.size(), 8) == WAVEJIT_OK);
  CHECK(run(4 * weights.size() - 1, 2 * scales.size(), 8) != WAVEJIT_OK);
  CHECK(run(4 * weights.size(), 2 * scales.size() - 1, 8) != WAVEJIT_OK);
  CHECK(run(4 * weights.size(), 2 * scales.size(), 7) != WAVEJIT_OK);
  CHECK(run(0, 2 * scales.size(), 8) != WAVEJIT_OK);
}

TEST_CASE("Repacking through C: act-order gives its permutation", "[capi][repack]") {
  Source source;
  // Columns of the two groups in turn.
  for (std::int64_t at = 0; at < k; ++at)
    source.g_idx[static_cast<std::size_t>(at)] = static_cast<std::int32_t>(at % 2);
  wavejit_repack_request r = source.request();
  r.g_idx = {source.g_idx.data(), 4 * source.g_idx.size(), WAVEJIT_HOST_I32, 1, {k}, {}};
  CHECK_FALSE(refused(r).empty());  // the caller does not say that it gathers
  r.gathers_activations = 1;
  wavejit_repack_sizes sizes = {};
  sizes.struct_size = sizeof sizes;
  REQUIRE(wavejit_repack_plan(&r, &sizes) == WAVEJIT_OK);
  REQUIRE(sizes.permutation_count == k);
  std::vector<std::uint32_t> weights(n * k / 8), zeros(2);
  std::vector<std::uint16_t> scales(n * 2);
  std::vector<std::int32_t> permutation(k);
  const auto run = [&](std::int32_t* to, std::uint64_t count) {
    return wavejit_repack(&r, weights.data(), 4 * weights.size(), scales.data(), 2 * scales.size(),
                          zeros.data(), 8, to, count);
  };
  CHECK(run(nullptr, k) == WAVEJIT_INVALID_ARGUMENT);
  CHECK(std::string(wavejit_last_error_field()) == "permutation_count");
  CHECK(run(permutation.data(), k - 1) == WAVEJIT_INVALID_ARGUMENT);
  REQUIRE(run(permutation.data(), k) == WAVEJIT_OK);
  for (std::int64_t at = 0; at < k; ++at)
    CHECK(permutation[static_cast<std::size_t>(at)] == (at < k / 2 ? 2 * at : 2 * (at - k / 2) + 1));
}
