// SPDX-License-Identifier: MIT
// What a decode kernel is judged by (issue 7): lanes idle over the run, weight bytes fetched for those
// needed, whole runs per read. Counted in the simulator by harness/weight_traffic from addresses and EXEC;
// needed bytes are the format's. The published kernel, one lane per superblock, has 12 of 32 lanes idle at 20
// superblocks, 8 at 24 and 16 at 16, and reads 32 places 144 bytes apart at once (vllm.cpp#1910).
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <map>

#include "tests/harness/kquant.hpp"

using namespace wavejit;
using templates::kquant::Type;

namespace {

constexpr Type types[] = {Type::q4_k, Type::q5_k, Type::q6_k, Type::q8_0, Type::q4_0};

harness::WeightTraffic traffic_of(Type type, std::int64_t blocks, const char* target = "gfx1151") {
  auto outcome = harness::kquant::passes({.problem = {.type = type, .n = 33, .k = 256 * blocks, .m = 1},
                                          .config = {.rows = 1, .pipeline_depth = 1, .waves_per_simd = 0},
                                          .target = target,
                                          .traffic = true});
  INFO(outcome.text);
  REQUIRE(outcome);
  REQUIRE(outcome.report->traffic);
  return *std::move(outcome.report->traffic);
}

}  // namespace

TEST_CASE("no idle lanes, no byte fetched in vain", "[kquant]") {
  fmt::print("{:6} {:>4} {:>8} {:>10} {:>9} {:>8}\n", "type", "nsb", "idle", "idle loads", "fetched/",
             "fetches");
  fmt::print("{:6} {:>4} {:>8} {:>10} {:>9} {:>8}\n", "", "", "lanes", "", "needed", "per byte");
  for (const Type type : types)
    for (const std::int64_t blocks : {16, 20, 24, 68, 5, 23}) {
      INFO(name(type) << ", " << blocks << " superblocks");
      const harness::WeightTraffic t = traffic_of(type, blocks);
      const auto needed = static_cast<std::uint64_t>(blocks * templates::kquant::block_bytes(type));
      const double fetched = static_cast<double>(t.segments * 64) / static_cast<double>(needed);
      fmt::print("{:6} {:>4} {:>7.3f}% {:>9.3f}% {:>9.4f} {:>8}\n", name(type), blocks, 100 * t.idle(),
                 100 * t.idle_loads(), fetched, t.most_fetches);
      CHECK(t.bytes == needed);
      CHECK(t.idle_loads() == 0);
      CHECK(t.idle() <= 0.02);
      // No segment but those that the row lies in; of a short row a part of a segment at each end is much.
      CHECK(t.segments == (needed + 63) / 64);
      if (blocks >= 16) CHECK(fetched <= 1.05);
      // Each byte by one load instruction; of the types whose runs may start within a dword, a run's last
      // dword is read twice.
      CHECK(t.most_fetches <= (type == Type::q4_k || type == Type::q5_k ? 1U : 2U));
    }
}

// Of an odd number of superblocks half of the lanes of one pass have nothing to do, which the bar leaves out.
TEST_CASE("no idle lanes in waves of 64 either", "[kquant][cdna]") {
  for (const Type type : types)
    for (const std::int64_t blocks : {16, 20, 24, 68}) {
      INFO(name(type) << ", " << blocks << " superblocks");
      const harness::WeightTraffic t = traffic_of(type, blocks, "gfx942");
      const auto needed = static_cast<std::uint64_t>(blocks * templates::kquant::block_bytes(type));
      fmt::print("gfx942 {:6} {:>4} idle {:>6.3f} %, {} of {} bytes\n", name(type), blocks, 100 * t.idle(),
                 t.segments * 64, needed);
      CHECK(t.bytes == needed);
      CHECK(t.idle_loads() == 0);
      CHECK(t.idle() <= 0.02);
      CHECK(t.segments == (needed + 63) / 64);
    }
}

TEST_CASE("a read of quants covers neighbouring superblocks, with no gap but their headers", "[kquant]") {
  for (const Type type : {Type::q4_k, Type::q5_k}) {
    const std::uint64_t header = type == Type::q4_k ? 16 : 48;
    for (const std::int64_t blocks : {20, 21, 22, 23}) {
      INFO(name(type) << ", " << blocks << " superblocks");
      std::map<std::uint64_t, std::int64_t> reads;  // by superblocks covered
      for (const harness::TensorLoad& load : traffic_of(type, blocks).loads) {
        if (load.bytes < load.lanes * std::uint64_t{load.lane_bytes}) continue;  // lanes share it: headers
        CHECK(load.bytes % 128 == 0);
        const std::uint64_t superblocks = load.bytes / 128;
        CHECK(load.gaps == std::vector<std::uint64_t>(superblocks - 1, header));
        ++reads[superblocks];
      }
      // 512 bytes a read; a pair left over 256, a single one its own 128, which is all there is of it.
      std::map<std::uint64_t, std::int64_t> expected{{4, blocks / 4}};
      if (blocks % 4 >= 2) expected[2] = 1;
      if (blocks % 2 == 1) expected[1] = 1;
      CHECK(reads == expected);
    }
  }
}
