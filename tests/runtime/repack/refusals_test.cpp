// SPDX-License-Identifier: MIT
// Everything that plan() and run() refuse: each error names its field, what was given and what is allowed,
// and no output byte changes.
#include <catch2/catch.hpp>
#include <functional>
#include <limits>

#include "tests/harness/checkpoint.hpp"

using namespace wavejit;
using namespace wavejit::repack;
using namespace wavejit::repack::test;

namespace {

struct Request {
  Source source;
  Destination destination;
};

using Damage = std::function<void(Request&)>;

Error refusal(const Checkpoint& c, const Damage& damage) {
  Request request{c.source(), destination_of(c)};
  REQUIRE(plan(request.source, request.destination));
  damage(request);
  const auto p = plan(request.source, request.destination);
  REQUIRE_FALSE(p);
  CHECK_FALSE(p.error().given.empty());
  CHECK_FALSE(p.error().allowed.empty());
  CHECK(p.error().message.find(p.error().field) == 0);
  return p.error();
}

std::string field(const Checkpoint& c, const Damage& damage) { return refusal(c, damage).field; }

Checkpoint sample(Format format, std::int64_t n = 24, std::int64_t k = 64) {
  return random_checkpoint(format, n, k, 32, {.zero_points = true, .scale_type = Dtype::bf16}, 1);
}

}  // namespace

TEST_CASE("destinations are checked", "[repack][refusals]") {
  const Checkpoint c = sample(Format::compressed_tensors);
  using Field = std::int64_t Destination::*;
  const auto with = [&](Field f, std::int64_t value) {
    return field(c, [&](Request& r) { r.destination.*f = value; });
  };
  CHECK(with(&Destination::n, 0) == "destination.n");
  CHECK(with(&Destination::n, -8) == "destination.n");
  CHECK(with(&Destination::n, std::int64_t{1} << 31) == "destination.n");
  CHECK(with(&Destination::k, 0) == "destination.k");
  CHECK(with(&Destination::k, std::numeric_limits<std::int64_t>::max()) == "destination.k");
  CHECK(with(&Destination::group, 0) == "destination.group");
  CHECK(with(&Destination::group, -2) == "destination.group");
  CHECK(with(&Destination::group, 48) == "destination.k");
  CHECK(with(&Destination::group, 128) == "destination.k");
  CHECK(with(&Destination::weight_stride, 7) == "destination.weight_stride");
  CHECK(with(&Destination::weight_stride, -8) == "destination.weight_stride");
  CHECK(with(&Destination::scale_stride, 1) == "destination.scale_stride");
  CHECK(with(&Destination::zero_point_stride, 1) == "destination.zero_point_stride");
  CHECK(with(&Destination::zero_point_stride, std::int64_t{1} << 62) == "destination.zero_point_stride");
  CHECK(field(c, [](Request& r) { r.destination.scales = Dtype::f32; }) == "destination.scales");
  CHECK(field(c, [](Request& r) {
          r.destination.n = (std::int64_t{1} << 31) - 1;
          r.destination.k = std::int64_t{1} << 30;
        }) == "destination.n * k");
}

TEST_CASE("tensors are checked in every format", "[repack][refusals]") {
  for (const Format format : {Format::awq, Format::gptq_v1, Format::gptq_v2, Format::compressed_tensors,
                              Format::row_major, Format::mslk}) {
    const Checkpoint c = sample(format);
    INFO(name(format));
    const auto tensors = {
        std::pair{"weights", +[](Request& r) -> Tensor& { return r.source.weights; }},
        std::pair{"scales", +[](Request& r) -> Tensor& { return r.source.scales; }},
        std::pair{"zero_points", +[](Request& r) -> Tensor& { return *r.source.zero_points; }}};
    for (const auto& [tensor_name, of] : tensors) {
      const std::string prefix = tensor_name;
      const auto damaged = [&, of = of](const std::function<void(Tensor&)>& damage) {
        return field(c, [&](Request& r) { damage(of(r)); });
      };
      CHECK(damaged([](Tensor& t) { t.dtype = Dtype::i64; }) == prefix + ".dtype");
      CHECK(damaged([](Tensor& t) { t.dtype = static_cast<Dtype>(99); }) == prefix + ".dtype");
      CHECK(damaged([](Tensor& t) { std::swap(t.shape[0], t.shape[1]); }) == prefix + ".shape");
      CHECK(damaged([](Tensor& t) { t.shape.push_back(1); }) == prefix + ".shape");
      CHECK(damaged([](Tensor& t) { t.shape.clear(); }) == prefix + ".shape");
      CHECK(damaged([](Tensor& t) { t.strides.pop_back(); }) == prefix + ".strides");
      CHECK(damaged([](Tensor& t) { t.strides[1] *= 2; }) == prefix + ".strides[1]");
      CHECK(damaged([](Tensor& t) { t.strides[0] -= 4; }) == prefix + ".strides[0]");
      CHECK(damaged([](Tensor& t) { t.strides[0] = 0; }) == prefix + ".strides[0]");
      CHECK(damaged([](Tensor& t) { t.strides[0] = std::int64_t{1} << 62; }) == prefix + ".strides[0]");
      CHECK(damaged([](Tensor& t) { t.strides[0] += 4; }) == prefix + ".data");  // now longer than its memory
      CHECK(damaged([](Tensor& t) { t.data = t.data.first(t.data.size() - 1); }) == prefix + ".data");
      CHECK(damaged([](Tensor& t) { t.data = {}; }) == prefix + ".data");
      if (c.weights.type == Dtype::i32 && prefix == "weights") {
        CHECK(damaged([](Tensor& t) { t.strides[0] += 2; }) == prefix + ".strides[0]");
        CHECK(damaged([](Tensor& t) { t.data = {t.data.data() + 1, t.data.size()}; }) == prefix + ".data");
      }
    }
    CHECK(field(c, [](Request& r) { r.source.zero_points.reset(); }) == "zero_points");
  }
}

TEST_CASE("formats ask for their multiples and their tensors", "[repack][refusals]") {
  const Matrix k_groups(Dtype::i32, 1, 64), wrong_length(Dtype::i32, 1, 63), sizes(Dtype::i64, 1, 2);
  CHECK(field(sample(Format::awq), [](Request& r) { r.destination.n = 12; }) == "destination.n");
  CHECK(field(sample(Format::gptq_v1), [](Request& r) { r.destination.n = 12; }) == "destination.n");
  CHECK(field(sample(Format::gptq_v2), [](Request& r) { r.destination.k = r.destination.group = 36; }) ==
        "destination.k");
  CHECK(field(sample(Format::mslk), [](Request& r) { r.destination.k = r.destination.group = 33; }) ==
        "destination.k");
  for (const Format format : {Format::awq, Format::compressed_tensors, Format::row_major, Format::mslk})
    CHECK(field(sample(format), [&](Request& r) { r.source.g_idx = k_groups.vector_tensor(); }) == "g_idx");
  CHECK(field(sample(Format::gptq_v1), [&](Request& r) { r.source.g_idx = wrong_length.vector_tensor(); }) ==
        "g_idx.shape");
  CHECK(field(sample(Format::gptq_v1), [&](Request& r) {
          r.source.g_idx = k_groups.vector_tensor();
          r.source.g_idx->dtype = Dtype::i64;
        }) == "g_idx.dtype");
  CHECK(field(sample(Format::awq), [&](Request& r) { r.source.weight_shape = sizes.vector_tensor(); }) ==
        "weight_shape");
  CHECK(field(sample(Format::compressed_tensors),
              [&](Request& r) { r.source.weight_shape = sizes.vector_tensor(); }) == "weight_shape");
  CHECK(field(sample(Format::awq), [](Request& r) { r.source.format = static_cast<Format>(6); }) == "format");
  // f16 is no type of MSLK's.
  CHECK(field(sample(Format::mslk), [](Request& r) { r.source.scales.dtype = Dtype::f16; }) ==
        "scales.dtype");
}

TEST_CASE("weight_shape must say N and K", "[repack][refusals]") {
  Checkpoint c = sample(Format::compressed_tensors);
  c.weight_shape = Matrix(Dtype::i64, 1, 2);
  c.weight_shape->set(0, 0, 24);
  c.weight_shape->set(0, 1, 64);
  CHECK(plan(c.source(), destination_of(c)));
  c.weight_shape->set(0, 1, 61);
  const auto p = plan(c.source(), destination_of(c));
  REQUIRE_FALSE(p);
  CHECK(p.error().given == "{24, 61}");
}

TEST_CASE("MSLK zero points that no integer expresses are refused by place", "[repack][refusals]") {
  Checkpoint c = blank_checkpoint(Format::mslk, 16, 64, 32, {.zero_points = true, .scale_type = Dtype::bf16});
  const auto refused = [&](double s, double z) {
    c.scales.set_number(1, 9, s);
    c.zero_points->set_number(1, 9, z);
    const auto p = plan(c.source(), destination_of(c));
    if (p) return false;
    CHECK(p.error().code == ErrorCode::unsupported);
    CHECK(p.error().field == "zero_points[group 1, column 9]");
    return true;
  };
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(refused(1, 0.5));
  CHECK(refused(1, 9));
  CHECK(refused(1, -8));
  CHECK(refused(0, 1));
  CHECK(refused(1, infinity));
  CHECK(refused(infinity, infinity));
  CHECK(refused(1, std::numeric_limits<double>::quiet_NaN()));
  CHECK(refused(0.1, 0.3));  // bf16(0.1) * 3 is not f32(0.3)
  CHECK_FALSE(refused(1, -7));
  CHECK_FALSE(refused(1, 8));
  CHECK_FALSE(refused(0, 0));
  CHECK_FALSE(refused(1, -0.0));
}

TEST_CASE("u8 zero points above 15 are refused by place", "[repack][refusals]") {
  Checkpoint c =
      blank_checkpoint(Format::row_major, 11, 64, 32, {.zero_points = true, .zero_point_type = Dtype::u8});
  c.zero_points->set(10, 1, 16);
  const auto p = plan(c.source(), destination_of(c));
  REQUIRE_FALSE(p);
  CHECK(p.error().field == "zero_points[group 1, row 10]");
  CHECK(p.error().given == "16");
}

TEST_CASE("outputs are checked before any is written", "[repack][refusals]") {
  const Checkpoint c = sample(Format::gptq_v1);
  const auto p = plan(c.source(), destination_of(c));
  REQUIRE(p);
  const auto refused = [&](const std::function<void(Outputs&)>& damage) {
    Repacked memory(*p);
    Outputs outputs = memory.outputs();
    damage(outputs);
    const auto ok = run(*p, outputs, 2);
    REQUIRE_FALSE(ok);
    CHECK(memory.untouched());
    return ok.error().field;
  };
  const auto bytes = static_cast<std::size_t>(p->zero_points.bytes);
  CHECK(refused([](Outputs& o) { o.weights = {}; }) == "outputs.weights");
  CHECK(refused([](Outputs& o) { o.scales = o.scales.first(95); }) == "outputs.scales");
  CHECK(refused([&](Outputs& o) { o.zero_points = o.zero_points.first(bytes - 1); }) ==
        "outputs.zero_points");
  CHECK(refused([](Outputs& o) { o.weights = o.weights.subspan(2); }) == "outputs.weights");
  CHECK(refused([](Outputs& o) { o.scales = o.scales.subspan(1); }) == "outputs.scales");
  CHECK(refused([](Outputs& o) { o.zero_points = o.weights.subspan(764); }) == "outputs.weights");
  CHECK(refused([](Outputs& o) { o.scales = o.zero_points; }) == "outputs.scales");

  Checkpoint symmetric = c;
  symmetric.declared = ZeroPoints::symmetric;
  symmetric.zero_points.reset();
  const auto without = plan(symmetric.source(), destination_of(symmetric));
  REQUIRE(without);
  Repacked memory(*p);
  CHECK(run(*without, memory.outputs(), 1).error().field == "outputs.zero_points");
  CHECK(memory.untouched());
}

TEST_CASE("outputs may not overlap the source", "[repack][refusals]") {
  Checkpoint c = sample(Format::awq);
  const Checkpoint before = c;
  const auto p = plan(c.source(), destination_of(c));
  REQUIRE(p);
  Repacked memory(*p);
  const auto refused = [&](const std::function<void(Outputs&)>& damage) {
    Outputs outputs = memory.outputs();
    damage(outputs);
    const auto ok = run(*p, outputs, 1);
    REQUIRE_FALSE(ok);
    CHECK(memory.untouched());
    return ok.error().field;
  };
  CHECK(refused([&](Outputs& o) { o.weights = c.weights.memory(); }) == "outputs.weights");
  CHECK(refused([&](Outputs& o) { o.scales = c.scales.memory(); }) == "outputs.scales");
  CHECK(refused([&](Outputs& o) { o.zero_points = c.weights.memory().subspan(16); }) ==
        "outputs.zero_points");
  for (std::int64_t k = 0; k < c.k; ++k)
    for (std::int64_t j = 0; j < 3; ++j) CHECK(c.weights.get(k, j) == before.weights.get(k, j));
}
