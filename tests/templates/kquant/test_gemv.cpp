// SPDX-License-Identifier: MIT
// K-quant products on the simulator against oracle/kquant, which dequantises by the format's definition.
// Every run is also clean of simulator faults and of the static checker's warnings. N is odd throughout, so
// the last wave has a row too many, and tensors end at the last byte that belongs to them.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <catch2/catch.hpp>

#include "tests/harness/kquant.hpp"

using namespace wavejit;
using harness::kquant::Request;
using templates::kquant::Type;

namespace {

constexpr Type types[] = {Type::q4_k, Type::q5_k, Type::q6_k, Type::q8_0, Type::q4_0};

harness::kquant::Report report_of(const Request& request) {
  auto outcome = harness::kquant::passes(request);
  INFO(outcome.text);
  REQUIRE(outcome);
  return *std::move(outcome.report);
}

std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> all;
  for (const float v : values) all.push_back(std::bit_cast<std::uint32_t>(v));
  return all;
}

}  // namespace

TEST_CASE("any number of superblocks", "[kquant]") {
  for (const Type type : types)
    for (const std::int64_t blocks : {1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 20, 21, 24, 68}) {
      INFO(name(type) << ", " << blocks << " superblocks");
      const unsigned rows = blocks % 2 == 0 ? 2 : 1;
      CHECK(harness::kquant::passes({.problem = {.type = type, .n = 33, .k = 256 * blocks},
                                     .config = {.rows = rows, .pipeline_depth = 1, .waves_per_simd = 0}}));
    }
}

TEST_CASE("one to eight tokens; a row's bits do not depend on how many", "[kquant]") {
  for (const Type type : types)
    for (const std::int64_t blocks : {3, 20, 23}) {
      const auto request = [&](unsigned m, unsigned rows) {
        return Request{.problem = {.type = type, .n = 17, .k = 256 * blocks, .m = m},
                       .config = {.rows = rows, .pipeline_depth = 1, .waves_per_simd = 0}};
      };
      const auto one = report_of(request(1, 1));
      for (unsigned m = 1; m <= 8; ++m) {
        INFO(name(type) << ", " << m << " tokens");
        const auto report = report_of(request(m, 0));
        for (std::int64_t row = 0; row < 17; ++row)
          CHECK(std::bit_cast<std::uint32_t>(report.at(0, row)) ==
                std::bit_cast<std::uint32_t>(one.at(0, row)));
      }
    }
}

TEST_CASE("bits are the same from run to run and for every Config", "[kquant]") {
  for (const Type type : types) {
    const Request base{.problem = {.type = type, .n = 9, .k = 256 * 13, .m = 2}};
    const auto expected = bits(report_of(base).output);
    CHECK(bits(report_of(base).output) == expected);
    for (const unsigned rows : {1U, 2U, 4U})
      for (const unsigned depth : {0U, 1U, 2U}) {
        if (rows * depth > 4) continue;  // more than 256 registers
        INFO(name(type) << " rows " << rows << " depth " << depth);
        Request request = base;
        request.config = {.rows = rows, .pipeline_depth = depth, .waves_per_simd = 0};
        CHECK(bits(report_of(request).output) == expected);
      }
  }
}

// Rows of 32 elements and more: gpt-oss has 2880, Qwen2.5-0.5B 896, Falcon-7B 4544. Tensors end at the last
// byte of the last row, which every other time lies in the middle of a dword, and the quantiser's blocks are
// the oracle's, so what a kernel reads beyond a row is a fault.
TEST_CASE("blocks of 32: rows of any multiple of 32, on waves of 32 and 64", "[kquant]") {
  std::size_t turn = 0;
  for (const char* target : {"gfx1151", "gfx1201", "gfx942", "gfx950", "gfx11-generic", "gfx12-generic"})
    for (const std::int64_t k :
         {32, 64, 96, 128, 160, 224, 256, 288, 480, 576, 896, 1000 * 32, 2816, 2880, 4544}) {
      const Type type = turn % 2 == 0 ? Type::q8_0 : Type::q4_0;
      const std::int64_t n = std::array{1, 7, 16, 33}[turn % 4];
      const unsigned m = std::array{1U, 2U, 5U, 8U}[turn / 4 % 4],
                     rows = std::array{0U, 1U, 2U, 4U}[turn % 4];
      ++turn;
      INFO(target << " " << name(type) << " n " << n << " k " << k << " m " << m);
      const Request request{.problem = {.type = type, .n = n, .k = k, .m = m},
                            .config = {.rows = m < 3 ? rows : 0, .pipeline_depth = 1, .waves_per_simd = 0},
                            .target = target};
      const auto report = report_of(request);
      Request one = request;
      one.problem.m = 1;
      one.config.rows = 1;
      const auto alone = report_of(one);
      for (std::int64_t row = 0; row < n; ++row)
        CHECK(std::bit_cast<std::uint32_t>(report.at(0, row)) ==
              std::bit_cast<std::uint32_t>(alone.at(0, row)));
    }
}

TEST_CASE("every target", "[kquant]") {
  for (const char* target : {"gfx1100", "gfx1151", "gfx1201", "gfx942", "gfx950"})
    for (const Type type : types) {
      INFO(target << " " << name(type));
      CHECK(harness::kquant::passes(
          {.problem = {.type = type, .n = 21, .k = 256 * 11, .m = 3}, .target = target}));
    }
}

TEST_CASE("waves of 64 lanes: any number of superblocks, the same bits for any number of tokens",
          "[kquant][cdna]") {
  for (const Type type : types)
    for (const std::int64_t blocks : {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 20, 23, 24}) {
      const auto request = [&](unsigned m, unsigned rows) {
        return Request{.problem = {.type = type, .n = 9, .k = 256 * blocks, .m = m},
                       .config = {.rows = rows, .pipeline_depth = 1, .waves_per_simd = 0},
                       .target = "gfx942"};
      };
      INFO(name(type) << ", " << blocks << " superblocks");
      const auto one = report_of(request(1, 1));
      const auto more = report_of(request(blocks % 2 == 0 ? 2 : 5, blocks % 3 == 0 ? 4 : 2));
      for (std::int64_t row = 0; row < 9; ++row)
        CHECK(std::bit_cast<std::uint32_t>(more.at(0, row)) == std::bit_cast<std::uint32_t>(one.at(0, row)));
    }
}
