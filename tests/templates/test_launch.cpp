// SPDX-License-Identifier: MIT
// What a caller needs to launch: arguments in kernarg order, shapes, byte strides, extents, grid.
#include <array>
#include <catch2/catch.hpp>

#include "generator/lower/lower.hpp"
#include "templates/kernel.hpp"
#include "tests/harness/catch.hpp"

using namespace wavejit;

TEST_CASE("arguments describe every tensor to its last byte", "[w4a16]") {
  templates::Problem p;
  p.n = 72;
  p.k = 256;
  p.group = 32;
  p.activation_stride = 264;
  p.weight_stride = 40;
  p.scale_stride = 9;
  p.output_stride = 80;
  const auto launch = templates::launch(p, harness::tile(32, 32, 32, 2), *target::find("gfx1151"), 65);
  REQUIRE(launch);
  CHECK(launch->grid == std::array<std::uint32_t, 3>{3, 3, 1});
  CHECK(launch->block == std::array<std::uint32_t, 3>{64, 1, 1});
  struct Want {
    const char* name;
    std::vector<std::int64_t> shape, strides;
    std::int64_t bytes;
  };
  const Want wants[] = {{"activations", {65, 256}, {528, 2}, 64 * 528 + 512},
                        {"weights", {72, 32}, {160, 4}, 71 * 160 + 128},
                        {"scales", {72, 8}, {18, 2}, 71 * 18 + 16},
                        {"output", {65, 72}, {160, 2}, 64 * 160 + 144}};
  REQUIRE(launch->arguments.size() == 5);
  std::uint32_t end = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const templates::Argument& a = launch->arguments[i];
    CHECK(a.name == wants[i].name);
    CHECK(a.shape == wants[i].shape);
    CHECK(a.strides == wants[i].strides);
    CHECK(a.bytes == wants[i].bytes);
    CHECK(a.offset >= end);
    end = a.offset + a.size;
  }
  CHECK(launch->arguments[4].name == "m");
  CHECK(launch->arguments[4].kind == ir::ArgKind::scalar);
  CHECK(launch->arguments[4].value == 65);
  CHECK(launch->kernarg_size >= launch->arguments[4].offset + launch->arguments[4].size);
}

TEST_CASE("zero points and bias are arguments of the problems that have them", "[w4a16]") {
  templates::Problem p;
  p.n = 12;
  p.k = 256;
  p.group = 64;
  p.activation = templates::DataType::f16;
  const target::Target& target = *target::find("gfx1151");
  const auto arguments = [&] {
    const auto launch = templates::launch(p, harness::tile(32, 32, 32, 2), target, 5);
    REQUIRE(launch);
    std::uint32_t end = 0;
    std::vector<std::string> names;
    for (const templates::Argument& a : launch->arguments) {
      names.push_back(a.name);
      CHECK(a.offset == (end + a.size - 1) / a.size * a.size);  // natural alignment, no gaps
      end = a.offset + a.size;
    }
    CHECK(launch->kernarg_size == (end + 7) / 8 * 8);
    return std::pair{names, launch->arguments};
  };
  using Names = std::vector<std::string>;
  CHECK(arguments().first == Names{"activations", "weights", "scales", "output", "m"});
  p.bias = true;
  CHECK(arguments().first == Names{"activations", "weights", "scales", "bias", "output", "m"});
  p.zero_points = templates::ZeroPoints::packed;
  p.zero_point_stride = 6;
  const auto [names, all] = arguments();
  CHECK(names == Names{"activations", "weights", "scales", "zero_points", "bias", "output", "m"});
  const templates::Argument &zeros = all[3], &bias = all[4], &output = all[5];
  CHECK(zeros.dtype == templates::DataType::i32);
  CHECK(zeros.shape == std::vector<std::int64_t>{2, 4});  // 12 columns take two words
  CHECK(zeros.strides == std::vector<std::int64_t>{24, 4});
  CHECK(zeros.bytes == 24 + 16);
  CHECK(bias.dtype == templates::DataType::f16);
  CHECK(bias.shape == std::vector<std::int64_t>{12});
  CHECK(bias.bytes == 24);
  CHECK(output.dtype == templates::DataType::f16);
}

TEST_CASE("the object's metadata carries the same arguments, grid block and LDS", "[w4a16]") {
  templates::Problem p;
  p.n = 64;
  p.k = 256;
  p.group = 32;
  if (GENERATE(false, true)) {
    p.zero_points = templates::ZeroPoints::packed;
    p.bias = true;
  }
  const target::Target& target = *target::find("gfx1151");
  const auto config = harness::tile(64, 64, 32, 4);
  const auto kernel = templates::generate(p, config, target);
  REQUIRE(kernel);
  const auto launch = templates::launch(p, config, target, 64);
  REQUIRE(launch);
  const auto object = lower::decode(kernel->code_object);
  REQUIRE(object);
  REQUIRE(object->kernels.size() == 1);
  const lower::DecodedKernel& k = object->kernels[0];
  CHECK(k.name == kernel->name);
  CHECK(k.kernarg_segment_size == launch->kernarg_size);
  CHECK(k.max_flat_workgroup_size == launch->block[0]);
  CHECK(k.group_segment_size == kernel->ir.lds_bytes());
  CHECK(k.wavefront_size == target.wave_size);
  REQUIRE(k.args.size() == launch->arguments.size());
  for (std::size_t i = 0; i < k.args.size(); ++i) {
    CHECK(k.args[i].name == launch->arguments[i].name);
    CHECK(k.args[i].offset == launch->arguments[i].offset);
    CHECK(k.args[i].size == launch->arguments[i].size);
    CHECK((k.args[i].value_kind == "global_buffer") == (launch->arguments[i].kind == ir::ArgKind::buffer));
  }
}
