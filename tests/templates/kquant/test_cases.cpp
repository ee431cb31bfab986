// SPDX-License-Identifier: MIT
// Rows of shared/cases.md that concern decode with K-quants, each a failure that somebody published, and
// products whose exact value is known without an oracle.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "tests/harness/kquant.hpp"
#include "tests/harness/kquant_quantise.hpp"

using namespace wavejit;
using harness::kquant::Request;
using templates::kquant::Type;

namespace {

constexpr Type types[] = {Type::q4_k, Type::q5_k, Type::q6_k, Type::q8_0, Type::q4_0};
using Bytes = std::vector<std::uint8_t>;

constexpr std::uint16_t half_one = 0x3C00;

void put(Bytes& block, std::size_t at, std::uint16_t value) {
  block[at] = static_cast<std::uint8_t>(value);
  block[at + 1] = static_cast<std::uint8_t>(value >> 8);
}

/// Bytes of a block of 32 of Q8_0 or Q4_0.
std::size_t small_block(Type type) { return type == Type::q8_0 ? 34 : 18; }

/// A superblock with that d (and dmin) and every scale and minimum 1; all bytes of quants are 0.
Bytes plain_block(Type type, std::uint16_t d, std::uint16_t dmin) {
  Bytes block(static_cast<std::size_t>(templates::kquant::block_bytes(type)));
  if (type == Type::q8_0 || type == Type::q4_0) {
    for (std::size_t at = 0; at < block.size(); at += small_block(type)) put(block, at, d);
    return block;
  }
  if (type == Type::q6_k) {
    std::fill_n(block.begin() + 192, 16, std::uint8_t{1});
    put(block, 208, d);
    return block;
  }
  put(block, 0, d);
  put(block, 2, dmin);
  std::fill_n(block.begin() + 4, 8, std::uint8_t{1});      // s[0..7]: sc and m of sub-blocks 0..3
  std::fill_n(block.begin() + 12, 4, std::uint8_t{0x11});  // s[8..11]: low nibbles sc 4..7, high m 4..7
  return block;
}

Bytes repeated(const Bytes& block, std::int64_t count) {
  Bytes row;
  for (std::int64_t i = 0; i < count; ++i) row.insert(row.end(), block.begin(), block.end());
  return row;
}

harness::kquant::Report report_of(const Request& request) {
  auto result = harness::kquant::run(request);
  INFO((result ? std::string() : result.error().message));
  REQUIRE(result);
  INFO(result->reason());
  REQUIRE(result->run.clean());
  REQUIRE(result->checker.empty());
  REQUIRE(result->unwritten_bytes + result->stray_bytes == 0);
  return *std::move(result);
}

}  // namespace

// Row 4 (ROCm/legacy-rocm-build#6126, llvm#197997): bytes taken as unsigned.
TEST_CASE("signed activations meet unsigned quants", "[kquant][cases]") {
  // All q = 0, so each weight of Q6_K is -32; activations are -1: q8 = -127, d = 1/127.
  const auto q6 = report_of({.problem = {.type = Type::q6_k, .n = 1, .k = 256},
                             .weights = [](std::int64_t) { return plain_block(Type::q6_k, half_one, 0); },
                             .activations = [](std::int64_t, std::int64_t) { return -1.0F; }});
  CHECK(q6.at(0, 0) == Approx(32 * 256).epsilon(1e-6));
  const auto q4 = report_of({.problem = {.type = Type::q4_k, .n = 1, .k = 256},
                             .weights =
                                 [](std::int64_t) {
                                   Bytes block = plain_block(Type::q4_k, half_one, 0);
                                   std::fill(block.begin() + 16, block.end(), std::uint8_t{0xFF});
                                   return block;
                                 },
                             .activations = [](std::int64_t, std::int64_t) { return -1.0F; }});
  CHECK(q4.at(0, 0) == Approx(-15 * 256).epsilon(1e-6));
  // In the encoding: VOP3P's neg_lo is bits 63..61; 0x40 in the last byte is a signed second source.
  const auto& target = *target::find("gfx1151");
  const auto kernel = harness::kquant::generate({.type = Type::q6_k, .n = 1, .k = 256, .m = 1}, {}, target);
  REQUIRE(kernel);
  const auto object = lower::decode(kernel->code_object);
  REQUIRE(object);
  unsigned dots = 0, both = 0;
  for (const lower::DecodedInstruction& i : object->kernels.at(0).instructions) {
    if (i.inst.op != isa::Opcode::v_dot4_i32_iu8) continue;
    ++dots;
    CHECK((i.inst.mods.neg_lo & 2) == 2);
    both += i.inst.mods.neg_lo == 3 ? 1 : 0;
  }
  CHECK(dots > 0);
  CHECK(both * 2 == dots);  // the -32 is a signed byte, too
}

// Row 20 (llama.cpp#23539, #29025): more rows per wave than are left.
TEST_CASE("rows that do not divide by the rows of a wave", "[kquant][cases]") {
  for (const Type type : types)
    for (const unsigned rows : {1U, 2U, 4U})
      for (const std::int64_t n : {1, 5, 66, 67}) {
        INFO(name(type) << ", n " << n << ", " << rows << " rows per wave");
        const auto report = report_of({.problem = {.type = type, .n = n, .k = 256},
                                       .config = {.rows = rows, .pipeline_depth = 1, .waves_per_simd = 0}});
        CHECK(report.worst_model() <= 1);
      }
}

// Row 44 (llama.cpp#4075): Q6_K's second superblock starts at byte 210. The simulator reports any access of a
// dword that is not aligned.
TEST_CASE("superblocks that start in the middle of a dword", "[kquant][cases]") {
  for (const std::int64_t blocks : {1, 2, 3, 4, 5, 6, 7}) {
    INFO(blocks << " superblocks");
    CHECK(harness::kquant::passes({.problem = {.type = Type::q6_k, .n = 64, .k = 256 * blocks}}));
  }
}

// Row 47 (llama.cpp#21652): sums of activations beyond f16.
TEST_CASE("a sum of activations that f16 could not hold", "[kquant][cases]") {
  const auto report = report_of({.problem = {.type = Type::q4_k, .n = 1, .k = 256},
                                 .weights = [](std::int64_t) { return plain_block(Type::q4_k, 0, half_one); },
                                 .activations = [](std::int64_t, std::int64_t) { return 2048.0F; }});
  CHECK(report.at(0, 0) == -524288.0F);
}

// Row 48 (llama.cpp#22571): blocks of zeros, and a scale beyond f16.
TEST_CASE("activations all zero or huge", "[kquant][cases]") {
  for (const Type type : types) {
    INFO(name(type));
    const auto zero = report_of({.problem = {.type = type, .n = 3, .k = 512},
                                 .activations = [](std::int64_t, std::int64_t) { return 0.0F; }});
    for (const float value : zero.output) CHECK(value == 0.0F);
    CHECK(harness::kquant::passes(
        {.problem = {.type = type, .n = 64, .k = 512},
         .activations = [](std::int64_t, std::int64_t k) { return k < 32 ? 1e7F : 0.0F; }}));
  }
}

// Row 58 (vllm#40827): a reduction that took the wave for 64 lanes. Weights and activations 1.
TEST_CASE("every lane's part arrives once", "[kquant][cases]") {
  const auto ones = [](Type type) {
    Bytes block = plain_block(type, half_one, 0);
    if (type == Type::q8_0 || type == Type::q4_0) {
      for (std::size_t at = 0; at < block.size(); at += small_block(type))  // 9 - 8 of Q4_0
        std::fill_n(block.begin() + static_cast<std::ptrdiff_t>(at + 2), small_block(type) - 2,
                    type == Type::q8_0 ? std::uint8_t{1} : std::uint8_t{0x99});
    } else if (type == Type::q6_k) {  // 33 - 32: low nibbles 1, upper bits 2
      std::fill_n(block.begin(), 128, std::uint8_t{0x11});
      std::fill_n(block.begin() + 128, 64, std::uint8_t{0xAA});
    } else {
      std::fill(block.end() - 128, block.end(), std::uint8_t{0x11});
    }
    return block;
  };
  for (const Type type : types) {
    const auto report = report_of({.problem = {.type = type, .n = 4, .k = 5120},
                                   .weights = [&](std::int64_t) { return repeated(ones(type), 20); },
                                   .activations = [](std::int64_t, std::int64_t) { return 127.0F; }});
    // 127 quantises to 127 with d = 1: everything is an integer that f32 holds.
    for (const float value : report.output) CHECK(value == 5120.0F * 127.0F);
  }
}

// Element order: a single weight and a single activation that are not zero meet in exactly one place.
TEST_CASE("each element meets its own activation", "[kquant][cases]") {
  // Row n of the weights is zero but for element n of superblock 1. The three tokens' activations name the
  // place within a sub-block of 32 (twice) and the sub-block; d is 1 as each sub-block has a 127.
  const auto x = [](std::int64_t m, std::int64_t k) {
    const std::int64_t place = k % 32, anchor = m == 1 ? 0 : 31;
    return place == anchor ? 127.0F : static_cast<float>(m == 2 ? k / 32 : place);
  };
  for (const Type type : types) {
    const auto row = [type](std::int64_t n) {
      Bytes bytes = repeated(plain_block(type, 0, 0), 2);
      const auto e = static_cast<std::size_t>(n);
      const auto base = static_cast<std::size_t>(templates::kquant::block_bytes(type));
      std::uint8_t* b = bytes.data() + base;
      const std::size_t j = e / 32, l = e % 32;
      if (type == Type::q8_0) {
        put(bytes, base + 34 * j, half_one);
        b[34 * j + 2 + l] = 1;
      } else if (type == Type::q4_0) {
        put(bytes, base + 18 * j, half_one);
        std::fill_n(b + 18 * j + 2, 16, std::uint8_t{0x88});  // 8 is zero, 9 one
        b[18 * j + 2 + l % 16] = l < 16 ? 0x89 : 0x98;
      } else if (type == Type::q6_k) {
        put(bytes, base + 208, half_one);
        // All quants 32, which is zero, but this one 32 + 1.
        std::fill_n(b + 128, 64, std::uint8_t{0xAA});
        b[64 * (e / 128) + 32 * (j % 2) + l] = e % 128 < 64 ? 1 : 16;
      } else {
        put(bytes, base, half_one);
        b[(type == Type::q4_k ? 16 : 48) + 32 * (j / 2) + l] = j % 2 == 0 ? 1 : 16;
      }
      return bytes;
    };
    const auto report =
        report_of({.problem = {.type = type, .n = 256, .k = 512, .m = 3}, .weights = row, .activations = x});
    for (std::int64_t n = 0; n < 256; ++n) {
      INFO(name(type) << " element " << n);
      for (std::int64_t m = 0; m < 3; ++m) CHECK(report.at(m, n) == x(m, 256 + n));
    }
  }
}

/// The quantiser's output for these activations, and the product with it.
harness::kquant::Report both_stages(Type type, std::int64_t k, unsigned m, const char* target,
                                    const std::function<float(std::int64_t, std::int64_t)>& x) {
  auto quantised = harness::kquant::quantise(
      {.problem = {.input = templates::DataType::f32, .k = k, .m = m}, .target = target, .input = x});
  REQUIRE(quantised);
  INFO(quantised->reason());
  REQUIRE(quantised->reason().empty());
  return report_of({.problem = {.type = type, .n = 33, .k = k, .m = m},
                    .target = target,
                    .activations = x,
                    .quantised = quantised->bytes});
}

// The right values are the oracle's, in double. Random weights reach 2^-6 * 63 * 31, so a row's result is
// finite where 3e38 meets few of them: here every 37th activation is huge, and its neighbours are not.
TEST_CASE("activations near the end of f32, tiny ones and none", "[kquant][cases]") {
  const auto at = [](double size) {
    return [size](std::int64_t m, std::int64_t k) {
      const double x = std::sin(static_cast<double>(k * 7 + m));
      return static_cast<float>(m == 1 ? x : size * x);
    };
  };
  for (const char* target : {"gfx1151", "gfx942"})
    for (const Type type : types)
      for (const double size : {3.4e38, 1e37, 1e-29, 1e-31, 1e-38, 1e-44, 0.0, -0.0}) {
        INFO(target << " " << name(type) << " of size " << size);
        const auto report = both_stages(type, 512, 2, target, at(size));
        const auto plain = both_stages(type, 512, 2, target, at(1));
        std::size_t finite = 0;
        for (std::int64_t row = 0; row < 33; ++row) {
          CHECK_FALSE(std::isnan(report.at(0, row)));
          finite += std::isfinite(report.at(0, row)) ? 1 : 0;
          CHECK(report.at(1, row) == plain.at(1, row));
        }
        if (size < 1e37) CHECK(finite == 33);
      }
}

TEST_CASE("huge activations against small weights have finite products", "[kquant][cases]") {
  // d = 2^-10 and every quant one: each row's result is 2^-10 times the sum of its activations, 256 of 3e38
  // and 255 of -3e38, whatever the order.
  const auto x = [](std::int64_t m, std::int64_t k) { return (k + m) % 2 == 0 || k == 511 ? 3e38F : -3e38F; };
  const auto row = [](std::int64_t) {
    Bytes bytes(16 * 34);
    for (std::size_t block = 0; block < 16; ++block) {
      put(bytes, block * 34, 0x1400);
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(block * 34 + 2), 32, std::uint8_t{1});
    }
    return bytes;
  };
  for (const char* target : {"gfx1151", "gfx942"}) {
    const auto report = report_of({.problem = {.type = Type::q8_0, .n = 3, .k = 512, .m = 2},
                                   .target = target,
                                   .weights = row,
                                   .activations = x});
    for (unsigned m = 0; m < 2; ++m)
      CHECK(report.at(m, 0) == Approx(m == 0 ? 2 * 3e38 / 1024 : 0).epsilon(1e-6));
  }
}

TEST_CASE("what is not finite stays in its row", "[kquant][cases]") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const char* target : {"gfx1151", "gfx942"})
    for (const Type type : types)
      for (const float bad : {infinity, -infinity, std::nanf("")}) {
        const auto x = [&](float special) {
          return [special](std::int64_t m, std::int64_t k) {
            return m == 1 && k == 77 ? special : std::cos(static_cast<float>(k + 3 * m));
          };
        };
        INFO(target << " " << name(type) << " " << bad);
        const auto report = both_stages(type, 256, 3, target, x(bad));
        const auto plain = both_stages(type, 256, 3, target, x(1));
        for (std::int64_t row = 0; row < 33; ++row) {
          CHECK(std::isnan(report.at(1, row)));
          CHECK(report.at(0, row) == plain.at(0, row));
          CHECK(report.at(2, row) == plain.at(2, row));
        }
      }
}

// Verdicts of few elements: whether the squares of one or two results happen to be small must not matter, and
// a single quant that is off by one must, in rows as long as a model's. Right and wrong are known here: the
// kernel's output is the same in both, the oracle is told of other weights.
TEST_CASE("no right result is called wrong, and one quant off by one is", "[kquant][cases]") {
  std::mt19937_64 random(11);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  std::size_t caught = 0, changed = 0;
  constexpr std::size_t problems = 60;
  for (std::size_t i = 0; i < problems; ++i) {
    const Type type = types[i % 5];
    const std::int64_t block = templates::kquant::block_elements(type);
    const std::int64_t k =
        block * static_cast<std::int64_t>(1 + below(static_cast<std::uint64_t>(7680 / block)));
    const std::int64_t n = i % 3 == 0 ? 1 : 1 + static_cast<std::int64_t>(below(9));
    const unsigned m = i % 2 == 0 ? 1 : 1 + static_cast<unsigned>(below(8));
    const std::uint64_t seed = random();
    const char* target = i % 7 == 0 ? "gfx942" : "gfx1151";
    INFO(name(type) << " n " << n << " k " << k << " m " << m << " seed " << seed);
    const auto x = [&](std::int64_t row, std::int64_t at) {
      std::mt19937_64 own(seed + static_cast<std::uint64_t>(row * k + at));
      return std::normal_distribution<float>()(own);
    };
    auto quantised = harness::kquant::quantise(
        {.problem = {.input = i % 4 == 0 ? templates::DataType::f32 : templates::DataType::bf16,
                     .k = k,
                     .m = m},
         .target = target,
         .input = x});
    REQUIRE(quantised);
    INFO(quantised->reason());
    CHECK(quantised->reason().empty());
    const auto seen = [&](std::int64_t row, std::int64_t at) {
      return quantised->input[static_cast<std::size_t>(row * k + at)];
    };
    const Request request{.problem = {.type = type, .n = n, .k = k, .m = m},
                          .target = target,
                          .seed = seed,
                          .activations = seen,
                          .quantised = quantised->bytes};
    const auto report = report_of(request);
    // Of row 0, one bit in the middle of the quants of the block in the middle.
    auto row = oracle::kquant::random_row(harness::kquant::oracle_type(type), k, seed, 0);
    row[row.size() / 2 / 144 * 144 + 60 < row.size() ? row.size() / 2 / 144 * 144 + 60 : row.size() - 1] ^= 1;
    const auto used = harness::kquant::unpack_activations(quantised->bytes, k);
    for (unsigned t = 0; t < m; ++t) {
      std::vector<float> own;
      for (std::int64_t at = 0; at < k; ++at) own.push_back(seen(t, at));
      const auto blocks = static_cast<std::size_t>(k / 32);
      const auto other = oracle::kquant::reference(harness::kquant::oracle_type(type), row, own,
                                                   std::span(used).subspan(t * blocks, blocks));
      ++changed;
      if (oracle::kquant::of_bound(report.at(t, 0), other.model, other.model_bound) > 1) ++caught;
    }
  }
  INFO(caught << " of " << changed);
  CHECK(caught * 10 >= changed * 8);
}

// Row 59 (ROCm/vllm#1246): fewer rows than compute units. Row 74 (llama.cpp#3921): rows on a grid axis of
// 65535.
TEST_CASE("few rows and very many", "[kquant][cases]") {
  const target::Target& target = *target::find("gfx1151");
  const auto launch_of = [&](const templates::kquant::Problem& p) {
    return templates::launch(common_problem(p), common_config(p, {}), target, p.m,
                             harness::kquant::product_stage);
  };
  const auto few = launch_of({.type = Type::q4_k, .n = 8, .k = 1024, .m = 1});
  REQUIRE(few);
  CHECK(few->grid == std::array<std::uint32_t, 3>{8, 1, 1});
  CHECK(harness::kquant::passes({.problem = {.type = Type::q4_k, .n = 8, .k = 1024}}));

  const templates::kquant::Problem many{.type = Type::q6_k, .n = 250880, .k = 256, .m = 1};
  const auto launch = launch_of(many);
  REQUIRE(launch);
  CHECK(launch->grid[1] == 1);
  CHECK(launch->grid[0] > 65535);
  const std::uint64_t last = launch->grid[0] - 1U;
  const auto report = report_of({.problem = many, .workgroups = {0, 65534, 65535, 65536, last}});
  CHECK(report.rows.back() == many.n - 1);
  CHECK(report.worst_model() <= 1);
}

// Row 75 (llama.cpp#6491): a row beyond 2^31 and one beyond 2^32 bytes; the tensor ends with its last row.
TEST_CASE("rows beyond 2 and 4 GiB", "[kquant][cases]") {
  for (const Type type : types) {
    INFO(name(type));
    const templates::kquant::Problem problem{.type = type, .n = 1000001, .k = 8192, .m = 1};
    const std::uint64_t beyond_2g = 0x80000000ULL / static_cast<std::uint64_t>(row_bytes(problem)) + 1;
    const auto report = report_of({.problem = problem,
                                   .config = {.rows = 1, .pipeline_depth = 1, .waves_per_simd = 0},
                                   .workgroups = {0, beyond_2g, 2 * beyond_2g, 1000000}});
    CHECK(report.rows.size() == 4);
    CHECK(report.worst_model() <= 1);
  }
}

TEST_CASE("refusals say what would be right", "[kquant][cases]") {
  const target::Target& target = *target::find("gfx1151");
  const auto refused = [&](const templates::kquant::Problem& p, const templates::kquant::Config& c,
                           const target::Target& on, std::string_view field) {
    const auto kernel = harness::kquant::generate(p, c, on);
    REQUIRE_FALSE(kernel);
    CHECK(kernel.error().field == field);
    CHECK_FALSE(kernel.error().allowed.empty());
  };
  const templates::kquant::Problem good{.type = Type::q4_k, .n = 8, .k = 256, .m = 1};
  const auto with = [&](auto change) {
    templates::kquant::Problem p = good;
    change(p);
    return p;
  };
  refused(with([](auto& p) { p.n = 0; }), {}, target, "n");
  refused(with([](auto& p) { p.n = 1LL << 31; }), {}, target, "n");
  refused(with([](auto& p) { p.k = 128; }), {}, target, "k");
  refused(with([](auto& p) { p.k = 300; }), {}, target, "k");
  refused(with([](auto& p) { p.k = 288; }), {}, target, "k");
  for (const std::int64_t k : {0, 16, 300}) {
    refused(with([&](auto& p) { p.type = Type::q8_0, p.k = k; }), {}, target, "k");
    refused(with([&](auto& p) { p.type = Type::q4_0, p.k = k; }), {}, target, "k");
  }
  refused(with([](auto& p) { p.k = 1LL << 40; }), {}, target, "k");
  refused(with([](auto& p) { p.m = 0; }), {}, target, "tokens");
  refused(with([](auto& p) { p.m = 9; }), {}, target, "tokens");
  refused(with([](auto& p) { p.type = static_cast<Type>(7); }), {}, target, "weight_type");
  refused(good, {.rows = 3, .pipeline_depth = 1, .waves_per_simd = 0}, target, "rows");
  refused(good, {.rows = 1, .pipeline_depth = 3, .waves_per_simd = 0}, target, "pipeline_depth");
  refused(good, {.rows = 1, .pipeline_depth = 1, .waves_per_simd = 99}, target, "waves_per_simd");
}
