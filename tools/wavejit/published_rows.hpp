// SPDX-License-Identifier: MIT
// What was measured by others on MI350X for bf16 x int4 products: MSLK#420, "after" figures, as
// shared/published.md (section gfx950) has them. Whole calls: launch and, with split-K, the reduction are in
// them. That pull request's GB/s count every tensor, the split-K workspace written and read: for each of the
// eight rows its figure times its microseconds is N K / 2 + 4 N K / 64 (scales and zero points) + 2 M K + 2 M
// N
// + 8 split_k M N bytes, to the digits given.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace wavejit::tools {

enum class PublishedTable : std::uint8_t { decode, prefill, grouped, batched };
std::string_view name(PublishedTable table);
inline constexpr std::string_view published_gpu = "gfx950";  ///< MI350X
inline constexpr double published_peak_tflops = 2300;        ///< bf16, as stated there
inline constexpr double published_peak_gigabytes = 8000;     ///< GB/s of DRAM, as stated there

struct PublishedRow {
  PublishedTable table = PublishedTable::decode;
  std::int64_t sets = 1;  ///< groups or batches
  std::int64_t m = 0;     ///< rows of each
  std::int64_t n = 0, k = 0;
  unsigned split_k = 1;  ///< of the kernel that was measured
  double us = 0;         ///< 0 where only TFLOP/s are given
  double rate = 0;       ///< GB/s of decode, else TFLOP/s

  [[nodiscard]] double flop() const {
    return 2 * static_cast<double>(sets * m) * static_cast<double>(n) * static_cast<double>(k);
  }
  /// Stated, or what the TFLOP/s come to.
  [[nodiscard]] double microseconds() const { return us > 0 ? us : flop() / rate * 1e-6; }
};

std::span<const PublishedRow> published_rows();

}  // namespace wavejit::tools
