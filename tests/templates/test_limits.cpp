// SPDX-License-Identifier: MIT
// Where sizes end: the last that is taken and the first that is not. A workgroup's own part of a tensor stays
// below 2 GiB, since offsets have 31 bits; a grid's second and third axes hold 65535 workgroups, and its
// first fewer than 2^32 work-items (HIP's limits, as for CUDA's grids).
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>

#include "templates/kernel.hpp"

using namespace wavejit;
using templates::Config;
using templates::Operation;
using templates::Path;
using templates::Problem;

namespace {

const target::Target& rdna() { return *target::find("gfx1151"); }
const target::Target& cdna() { return *target::find("gfx942"); }

/// "" when the Config is taken, else the field that is refused.
std::string refused(const Problem& p, const Config& c, const target::Target& target) {
  const auto problem = templates::normalise(p, target);
  INFO((problem ? std::string() : problem.error().message));
  REQUIRE(problem);
  const auto config = templates::normalise(c, *problem, target);
  return config ? std::string() : config.error().field;
}

using Stride = std::int64_t Problem::*;
struct Tensor {
  const char* field;
  Stride stride;
  std::int64_t rows;   ///< that a workgroup reaches
  std::int64_t bytes;  ///< of an element
  std::int64_t step;   ///< that a stride must be a multiple of, and the last 16 bytes are not used
};

void check(const Problem& base, const Config& config, const target::Target& target,
           const std::vector<Tensor>& tensors) {
  CHECK(refused(base, config, target).empty());
  for (const Tensor& t : tensors) {
    CAPTURE(t.field, target.name);
    Problem p = base;
    const std::int64_t first_refused = (std::int64_t{1} << 31) / (t.rows * t.bytes);
    p.*t.stride = first_refused;
    CHECK(refused(p, config, target) == t.field);
    p.*t.stride = first_refused - t.step;
    CHECK(refused(p, config, target).empty());
  }
}

std::string launch_refused(const Problem& p, const Config& c, const target::Target& target, std::int64_t m) {
  const auto problem = templates::normalise(p, target);
  REQUIRE(problem);
  const auto config = templates::normalise(c, *problem, target);
  INFO((config ? std::string() : config.error().message));
  REQUIRE(config);
  const auto launch = templates::launch(*problem, *config, target, m);
  return launch ? std::string() : launch.error().field;
}

}  // namespace

TEST_CASE("a tile's rows of each tensor stay below 2 GiB", "[limits]") {
  const Problem p{.n = 256, .k = 256, .group = 32, .zero_points = templates::ZeroPoints::packed};
  check(p, {.bm = 64, .bn = 32, .bk = 32, .waves = 2, .techniques = {}}, rdna(),
        {{"activation_stride", &Problem::activation_stride, 64, 2, 8},
         {"weight_stride", &Problem::weight_stride, 32, 4, 1},
         {"scale_stride", &Problem::scale_stride, 32, 2, 1},
         {"zero_point_stride", &Problem::zero_point_stride, 4, 4, 1},
         {"output_stride", &Problem::output_stride, 64, 2, 1}});
}

TEST_CASE("a skinny workgroup's rows of each tensor stay below 2 GiB", "[limits][skinny]") {
  const Problem p{.n = 256, .k = 1024, .group = 32, .zero_points = templates::ZeroPoints::packed};
  check(p, {.path = Path::skinny, .bm = 4, .bn = 8, .waves = 1, .techniques = {}}, rdna(),
        {{"activation_stride", &Problem::activation_stride, 4, 2, 8},
         {"weight_stride", &Problem::weight_stride, 8, 4, 4},
         {"scale_stride", &Problem::scale_stride, 8, 2, 1},
         {"zero_point_stride", &Problem::zero_point_stride, 1, 4, 4},
         {"output_stride", &Problem::output_stride, 4, 2, 2}});
}

TEST_CASE("a CDNA workgroup's rows of each tensor stay below 2 GiB", "[limits][cdna]") {
  const Problem w4a16{.n = 256, .k = 256, .group = 64, .zero_points = templates::ZeroPoints::packed};
  const Config tile{.path = Path::mfma, .bm = 64, .bn = 64, .bk = 64, .waves = 4, .techniques = {}};
  check(w4a16, tile, cdna(),
        {{"activation_stride", &Problem::activation_stride, 64, 2, 8},
         {"weight_stride", &Problem::weight_stride, 64, 4, 4},
         {"scale_stride", &Problem::scale_stride, 64, 2, 1},
         {"output_stride", &Problem::output_stride, 64, 2, 1}});
  Problem gemm = w4a16;
  gemm.op = Operation::int4_gemm;
  gemm.layout = templates::WeightLayout::row_major_signed;
  gemm.zero_points = templates::ZeroPoints::additive;
  gemm.scale_type = templates::DataType::f32;
  check(gemm, tile, cdna(),
        {{"activation_stride", &Problem::activation_stride, 64, 2, 8},
         {"weight_stride", &Problem::weight_stride, 64, 4, 4},
         {"scale_stride", &Problem::scale_stride, 256 / 64, 4, 1},  // [K / group, N]
         {"output_stride", &Problem::output_stride, 64, 2, 1}});
}

TEST_CASE("one descriptor of a whole tensor covers less than 2 GiB", "[limits]") {
  Config plain{.bm = 64, .bn = 32, .bk = 32, .waves = 2, .techniques = {}};
  plain.techniques.exact_descriptors = false;
  Problem p{.n = 1 << 16, .k = 256, .group = 32};
  const auto with = [&](Stride stride, std::int64_t value) {
    Problem changed = p;
    changed.*stride = value;
    return refused(changed, plain, rdna());
  };
  CHECK(with(&Problem::weight_stride, (1 << 13) - 1).empty());
  CHECK(with(&Problem::weight_stride, 1 << 13) == "techniques");
  CHECK(with(&Problem::scale_stride, (1 << 14) - 1).empty());
  CHECK(with(&Problem::scale_stride, 1 << 14) == "techniques");
  p.zero_points = templates::ZeroPoints::packed;
  CHECK(with(&Problem::zero_point_stride, (1 << 16) - 1).empty());
  CHECK(with(&Problem::zero_point_stride, 1 << 16) == "techniques");
}

TEST_CASE("grids: 65535 tiles of columns and products, fewer than 2^32 work-items of rows", "[limits]") {
  const Config tile{.bm = 16, .bn = 16, .bk = 32, .waves = 1, .techniques = {}};
  const Problem p{.n = 65535 * 16, .k = 32, .group = 32};
  CHECK(launch_refused(p, tile, rdna(), 1).empty());
  Problem more = p;
  ++more.n;
  CHECK(launch_refused(more, tile, rdna(), 1) == "grid.y");
  // 2^27 tiles of rows times 32 lanes.
  const std::int64_t most = ((std::int64_t{1} << 27) - 1) * 16;
  CHECK(launch_refused({.n = 16, .k = 32, .group = 32}, tile, rdna(), most).empty());
  CHECK(launch_refused({.n = 16, .k = 32, .group = 32}, tile, rdna(), most + 1) == "grid.x * block.x");

  const Config mfma{.path = Path::mfma, .bm = 16, .bn = 128, .bk = 128, .waves = 4, .techniques = {}};
  Problem gemm{.op = Operation::int4_gemm,
               .n = 65535 * 128,
               .k = 128,
               .group = 128,
               .layout = templates::WeightLayout::row_major_signed};
  // Tiles of dense products on CDNA are numbered along x alone.
  CHECK(launch_refused(gemm, mfma, cdna(), 1).empty());
  ++gemm.n;
  CHECK(launch_refused(gemm, mfma, cdna(), 1).empty());
  gemm.n = 32;
  gemm.batch = 65536;
  CHECK(launch_refused(gemm, mfma, cdna(), 1).empty());
  gemm.batch = 1;
  const std::int64_t rows = ((std::int64_t{1} << 24) - 1) * 16;  // 4 waves of 64 lanes
  CHECK(launch_refused(gemm, mfma, cdna(), rows).empty());
  CHECK(launch_refused(gemm, mfma, cdna(), rows + 1) == "grid.x * block.x");

  // Decode kernels say so of their Configs.
  const Config decode{.path = Path::decode, .bm = 4, .bn = 16, .bk = 512, .waves = 1, .techniques = {}};
  gemm.k = 1024;
  gemm.batch = 65535;
  CHECK(refused(gemm, decode, cdna()).empty());
  gemm.batch = 65536;
  CHECK(refused(gemm, decode, cdna()) == "path");
  gemm.batch = 1;
  gemm.n = 65535 * 16;
  CHECK(refused(gemm, decode, cdna()).empty());
  ++gemm.n;
  CHECK(refused(gemm, decode, cdna()) == "bn");
  const auto grid = [&](std::int64_t n, std::int64_t batch) {
    gemm.n = n;
    gemm.batch = batch;
    const auto problem = templates::normalise(gemm, cdna());
    REQUIRE(problem);
    const auto config = templates::normalise(decode, *problem, cdna());
    REQUIRE(config);
    const auto made = templates::launch(*problem, *config, cdna(), 1);
    REQUIRE(made);
    return made->grid;
  };
  CHECK(grid(65535 * 16, 1) == std::array<std::uint32_t, 3>{1, 65535, 1});
  CHECK(grid(64, 65535) == std::array<std::uint32_t, 3>{1, 4, 65535});
}

TEST_CASE("K-quants: fewer than 2^27 waves of 32 lanes", "[limits][kquant]") {
  const Problem most{.op = Operation::kquant, .n = (1 << 27) - 1, .k = 256};
  Problem more = most;
  ++more.n;
  const auto with = [](unsigned rows) { return Config{.path = Path::gemv, .techniques = {}, .rows = rows}; };
  CHECK(refused(most, with(1), rdna()).empty());
  CHECK_FALSE(refused(more, with(1), rdna()).empty());
  CHECK(refused(more, with(2), rdna()).empty());
  more.n = (1 << 28) - 1;
  CHECK_FALSE(refused(more, with(2), rdna()).empty());
  more.n = (1 << 28) - 2;
  CHECK(refused(more, with(2), rdna()).empty());
}
