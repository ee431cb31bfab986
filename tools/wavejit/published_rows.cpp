// SPDX-License-Identifier: MIT
#include "tools/wavejit/published_rows.hpp"

#include <array>

namespace wavejit::tools {
namespace {

using enum PublishedTable;

constexpr std::array rows{
    PublishedRow{decode, 1, 1, 896, 5120, 8, 15.6, 170},
    PublishedRow{decode, 1, 16, 896, 5120, 8, 18.7, 197},
    PublishedRow{decode, 1, 64, 896, 5120, 8, 19.2, 366},
    PublishedRow{decode, 1, 128, 2048, 5120, 8, 30.0, 817},
    PublishedRow{decode, 1, 1, 8192, 3584, 8, 27.3, 625},
    PublishedRow{decode, 1, 16, 8192, 3584, 8, 32.0, 790},
    PublishedRow{decode, 1, 64, 8192, 3584, 8, 33.9, 1521},
    PublishedRow{decode, 1, 128, 7168, 8192, 4, 75.0, 884},
    PublishedRow{prefill, 1, 2048, 8192, 3584, 1, 0, 591.2},
    PublishedRow{prefill, 1, 2048, 7168, 8192, 1, 0, 619.9},
    PublishedRow{prefill, 1, 4096, 7168, 8192, 1, 0, 609.9},
    PublishedRow{grouped, 2, 64, 2048, 5120, 1, 112.7, 23.8},
    PublishedRow{grouped, 4, 64, 2048, 5120, 1, 140.3, 38.3},
    PublishedRow{grouped, 2, 128, 2048, 5120, 1, 117.0, 45.9},
    PublishedRow{grouped, 4, 128, 2048, 5120, 1, 141.5, 75.9},
    PublishedRow{grouped, 2, 128, 8192, 3584, 1, 159.2, 94.4},
    PublishedRow{grouped, 4, 128, 8192, 3584, 1, 321.0, 93.7},
    PublishedRow{grouped, 2, 2048, 7168, 8192, 1, 2327.4, 206.7},
    PublishedRow{grouped, 4, 2048, 7168, 8192, 1, 4522.8, 212.7},
    PublishedRow{batched, 2, 128, 2048, 5120, 8, 65.3, 82.2},
    PublishedRow{batched, 4, 128, 2048, 5120, 8, 127.2, 84.4},
    PublishedRow{batched, 2, 128, 8192, 3584, 1, 88.3, 170.2},
    PublishedRow{batched, 4, 128, 8192, 3584, 1, 173.0, 173.7},
    PublishedRow{batched, 2, 2048, 7168, 8192, 1, 818.5, 587.7},
    PublishedRow{batched, 4, 2048, 7168, 8192, 1, 1689.2, 569.5},
};

}  // namespace

std::string_view name(PublishedTable table) {
  switch (table) {
    case decode:
      return "decode";
    case prefill:
      return "prefill";
    case grouped:
      return "grouped";
    case batched:
      return "batched";
  }
  return "";
}

std::span<const PublishedRow> published_rows() { return rows; }

}  // namespace wavejit::tools
