// SPDX-License-Identifier: MIT
// What a launch's arguments must satisfy, each rule at its boundary: the last value that passes and the first
// that does not. The layout is written by hand, so that every number below can be checked by counting.
#include <catch2/catch.hpp>
#include <cstring>

#include "runtime/engine/arguments.hpp"
#include "templates/kernel.hpp"

namespace wavejit::engine {
namespace {

using templates::Argument;
using templates::DataType;

Argument buffer(std::string name, std::uint32_t offset, DataType type, std::vector<std::int64_t> shape,
                std::int64_t stride_bytes, std::uint32_t alignment) {
  Argument a;
  a.name = std::move(name);
  a.offset = offset;
  a.dtype = type;
  a.shape = std::move(shape);
  a.strides = {stride_bytes, static_cast<std::int64_t>(templates::bytes(type))};
  if (a.shape.size() == 1) a.strides.erase(a.strides.begin());
  a.alignment = alignment;
  return a;
}

/// activations bf16 [M, 6] of stride 8, weights int32 [5, 3], output f32 [M, 5] of stride 7, 64 bytes of
/// workspace, M as an int32.
templates::Launch by_hand() {
  templates::Launch l;
  l.kernarg_size = 40;
  l.arguments = {
      buffer("activations", 0, DataType::bf16, {1, 6}, 16, 4),
      buffer("weights", 8, DataType::i32, {5, 3}, 12, 16), buffer("output", 16, DataType::f32, {1, 5}, 28, 4),
      buffer("workspace", 24, DataType::u8, {64}, 1, 32), buffer("m", 32, DataType::i32, {1}, 4, 1)};
  l.arguments[3].bytes = 64;
  l.arguments[4].kind = ir::ArgKind::scalar;
  l.arguments[4].size = 4;
  return l;
}

Tensor tensor(device::Address address, std::uint64_t bytes, DataType type, std::array<std::int64_t, 4> shape,
              std::array<std::int64_t, 4> strides = {}) {
  return {.address = address, .bytes = bytes, .type = type, .rank = 2, .shape = shape, .strides = strides};
}

/// Three rows, each tensor with exactly the bytes that it needs.
Arguments good() {
  Arguments a;
  a.activations = tensor(0x1000, 2 * (2 * 8 + 6), DataType::bf16, {3, 6}, {8, 1});
  a.weights = tensor(0x2000, 60, DataType::i32, {5, 3});
  a.output = tensor(0x3000, 4 * (2 * 7 + 5), DataType::f32, {3, 5}, {7, 1});
  a.workspace = 0x4000;
  a.workspace_bytes = 64;
  return a;
}

/// "" when bind takes it, else the field that it names.
std::string refused(const Arguments& a, std::int64_t m = 3, std::int64_t batch = 1) {
  const auto layout = make_layout(by_hand(), batch);
  REQUIRE(layout);
  std::array<std::byte, max_kernarg_bytes> kernarg{};
  const auto bound = engine::bind(*layout, a, m, kernarg);
  if (bound) return "";
  CHECK(bound.error().code == ErrorCode::invalid_argument);
  CHECK_FALSE(bound.error().given.empty());
  CHECK_FALSE(bound.error().allowed.empty());
  CHECK(kernarg == std::array<std::byte, max_kernarg_bytes>{});  // nothing written
  return bound.error().field;
}

template <class F>
std::string with(F&& change) {
  Arguments a = good();
  change(a);
  return refused(a);
}

std::uint64_t read(std::span<const std::byte> bytes, std::size_t offset, std::size_t size) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + offset, size);
  return value;
}

}  // namespace

TEST_CASE("Arguments are packed where the layout says", "[engine][arguments]") {
  const auto layout = make_layout(by_hand(), 1);
  REQUIRE(layout);
  CHECK(layout->kernarg_bytes == 40);
  CHECK(layout->workspace_bytes == 64);
  CHECK(layout->count == 5);
  for (const Role role : {Role::activations, Role::weights, Role::output, Role::workspace, Role::m})
    CHECK(layout->has(role));
  for (const Role role : {Role::scales, Role::zero_points, Role::bias, Role::group_rows, Role::constant})
    CHECK_FALSE(layout->has(role));
  std::array<std::byte, max_kernarg_bytes> kernarg{};
  kernarg.fill(std::byte{0xEE});
  REQUIRE(engine::bind(*layout, good(), 3, kernarg));
  const auto expected = [&](std::uint64_t activations, std::uint64_t output, std::uint64_t m) {
    CHECK(read(kernarg, 0, 8) == activations);
    CHECK(read(kernarg, 8, 8) == 0x2000);
    CHECK(read(kernarg, 16, 8) == output);
    CHECK(read(kernarg, 24, 8) == 0x4000);
    CHECK(read(kernarg, 32, 4) == m);
    CHECK(read(kernarg, 36, 4) == 0xEEEEEEEE);  // m has four bytes
  };
  expected(0x1000, 0x3000, 3);
  // Two rows from the second on: 8 elements of 2 bytes, 7 of 4.
  pack(*layout, good(), 1, 2, kernarg);
  expected(0x1010, 0x301C, 2);
}

TEST_CASE("Each tensor's type, shape, bytes and alignment at their boundaries", "[engine][arguments]") {
  CHECK(refused(good()).empty());
  using A = Arguments;
  CHECK(with([](A& a) { a.activations.type = DataType::f16; }) == "activations.type");
  CHECK(with([](A& a) { a.weights.type = DataType::f32; }) == "weights.type");
  CHECK(with([](A& a) { a.activations.shape[1] = 7; }) == "activations.shape");
  CHECK(with([](A& a) { a.activations.shape[1] = 5; }) == "activations.shape");
  CHECK(with([](A& a) { a.weights.shape[0] = 4; }) == "weights.shape");
  CHECK(with([](A& a) { a.output.shape[0] = 2; }) == "output.shape");
  CHECK(with([](A& a) { a.output.shape[0] = 4; }) == "output.shape");
  CHECK(with([](A& a) { --a.activations.bytes; }) == "activations.bytes");
  CHECK(with([](A& a) { ++a.activations.bytes; }).empty());
  CHECK(with([](A& a) { --a.weights.bytes; }) == "weights.bytes");
  CHECK(with([](A& a) { --a.output.bytes; }) == "output.bytes");
  CHECK(with([](A& a) { a.activations.address += 2; }) == "activations");
  CHECK(with([](A& a) { a.activations.address += 4; }).empty());
  CHECK(with([](A& a) { a.weights.address += 8; }) == "weights");
  CHECK(with([](A& a) { a.weights.address += 16; }).empty());
  CHECK(with([](A& a) { a.output.address = 0; }) == "output");
  CHECK(with([](A& a) { a.weights = {}; }) == "weights");
  // The last bytes that an address can have.
  CHECK(with([](A& a) { a.weights.address = 0 - std::uint64_t{64}; }).empty());
  CHECK(with([](A& a) { a.weights.address = 0 - std::uint64_t{48}; }) == "weights");
}

TEST_CASE("Ranks, extents and strides at their boundaries", "[engine][arguments]") {
  using A = Arguments;
  CHECK(with([](A& a) { a.weights.rank = 0; }) == "weights.rank");
  CHECK(with([](A& a) { a.weights.rank = 5; }) == "weights.rank");
  CHECK(with([](A& a) { a.weights.rank = 1; }) == "weights.shape");
  CHECK(with([](A& a) {
          a.weights.rank = 4;
          a.weights.shape = {1, 5, 1, 3};
        }).empty());
  CHECK(with([](A& a) { a.weights.shape[0] = -1; }) == "weights.shape");
  // Dense is the same as the strides of a dense tensor.
  CHECK(with([](A& a) { a.weights.strides = {3, 1}; }).empty());
  CHECK(with([](A& a) { a.weights.strides = {4, 1}; }) == "weights.strides");
  CHECK(with([](A& a) { a.weights.strides = {3, 2}; }) == "weights.strides");
  CHECK(with([](A& a) { a.activations.strides = {}; }) == "activations.strides");  // dense: 6, not 8
  CHECK(with([](A& a) { a.activations.strides = {9, 1}; }) == "activations.strides");
  // Three dimensions whose rows lie evenly apart, and two that do not.
  const auto three = [](std::int64_t outer) {
    Arguments a = good();
    a.activations.rank = a.output.rank = 3;
    a.activations.shape = {2, 2, 6};
    a.activations.strides = {outer, 8, 1};
    a.activations.bytes = 2 * (3 * 8 + 6);
    a.output.shape = {1, 4, 5};
    a.output.strides = {99, 7, 1};  // an extent of 1 has any stride
    a.output.bytes = 4 * (3 * 7 + 5);
    return a;
  };
  CHECK(refused(three(16), 4).empty());
  CHECK(refused(three(15), 4) == "activations.strides");
  CHECK(refused(three(17), 4) == "activations.strides");
  // One row: any stride between rows.
  Arguments one = good();
  one.activations.shape[0] = one.output.shape[0] = 1;
  one.activations.strides = {5, 1};
  CHECK(refused(one, 1).empty());
}

TEST_CASE("Rows of activations: products share them evenly, and they are fewer than 2^40",
          "[engine][arguments]") {
  Arguments a = good();
  CHECK(rows_of(a, 1) == 3);
  CHECK(rows_of(a, 3) == 1);
  CHECK(rows_of(a, 2).error().field == "activations.shape");
  a.activations.rank = 4;
  a.activations.strides = {};
  a.activations.shape = {1024, 1024, 1024, 6};
  CHECK(rows_of(a, 1) == std::int64_t{1} << 30);
  a.activations.shape = {1 << 20, 1 << 20, 1, 6};
  CHECK(rows_of(a, 1) == std::int64_t{1} << 40);
  a.activations.shape = {(1 << 20) + 1, 1 << 20, 1, 6};
  CHECK(rows_of(a, 1).error().field == "activations.shape");
  a.activations.shape = {1, 1, INT32_MAX, 6};
  CHECK(rows_of(a, 1) == INT32_MAX);
  a.activations.shape = {1, 1, std::int64_t{INT32_MAX} + 1, 6};
  CHECK(rows_of(a, 1).error().field == "activations.shape");
  a.activations.shape = {1, 0, INT32_MAX, 6};
  CHECK(rows_of(a, 1) == 0);
}

TEST_CASE("A batch has that many times the rows", "[engine][arguments]") {
  Arguments a = good();
  a.activations = tensor(0x1000, 2 * (5 * 8 + 6), DataType::bf16, {6, 6}, {8, 1});
  a.output = tensor(0x3000, 4 * (5 * 7 + 5), DataType::f32, {6, 5}, {7, 1});
  CHECK(refused(a, 3, 2).empty());
  CHECK(refused(a, 2, 3).empty());
  CHECK(refused(a, 3, 1) == "activations.shape");
  --a.output.bytes;
  CHECK(refused(a, 3, 2) == "output.bytes");
}

TEST_CASE("What is written lies apart from everything else, to the byte", "[engine][arguments]") {
  using A = Arguments;
  // The output: 76 bytes from 0x3000.
  CHECK(with([](A& a) { a.activations.address = 0x3000 + 76; }).empty());
  CHECK(with([](A& a) { a.activations.address = 0x3000 + 72; }) == "output");
  CHECK(with([](A& a) { a.activations.address = 0x3000 - 44; }).empty());
  CHECK(with([](A& a) { a.activations.address = 0x3000 - 40; }) == "output");
  // The workspace: 64 bytes from 0x4000, though more may be given.
  CHECK(with([](A& a) { a.weights.address = 0x4040; }).empty());
  CHECK(with([](A& a) { a.weights.address = 0x4030; }) == "workspace");
  CHECK(with([](A& a) { a.workspace_bytes = 1000, a.weights.address = 0x4040; }).empty());
  CHECK(with([](A& a) { a.output.address = 0x4000 - 76; }).empty());
  CHECK(with([](A& a) { a.output.address = 0x4000 - 72; }) == "output");
  // What is only read may overlap.
  CHECK(with([](A& a) { a.weights.address = 0x1000; }).empty());
}

TEST_CASE("A workspace is there, large enough, aligned and does not wrap", "[engine][arguments]") {
  using A = Arguments;
  CHECK(with([](A& a) { a.workspace = 0; }) == "workspace_bytes");
  CHECK(with([](A& a) { a.workspace_bytes = 63; }) == "workspace_bytes");
  CHECK(with([](A& a) { a.workspace += 16; }) == "workspace");
  CHECK(with([](A& a) { a.workspace += 32; }).empty());
  CHECK(with([](A& a) { a.workspace = 0 - std::uint64_t{96}; }).empty());
  CHECK(with([](A& a) { a.workspace = 0 - std::uint64_t{32}; }) == "workspace");
}

TEST_CASE("A tensor that nothing uses is refused, redundant zero points are not", "[engine][arguments]") {
  const Tensor any = tensor(0x8000, 100, DataType::i32, {5, 5});
  using A = Arguments;
  CHECK(with([&](A& a) { a.scales = any; }) == "scales");
  CHECK(with([&](A& a) { a.bias = any; }) == "bias");
  CHECK(with([&](A& a) { a.group_rows = any; }) == "group_rows");
  CHECK(with([&](A& a) { a.zero_points = any; }) == "zero_points");  // there are no scales either
  // A tensor of rank 0 at an address is given, too.
  CHECK(with([](A& a) { a.bias.address = 0x8000; }) == "bias");
  templates::Launch l = by_hand();
  l.kernarg_size = 48;
  l.arguments.push_back(buffer("scales", 40, DataType::bf16, {5}, 2, 2));
  const auto layout = make_layout(l, 1);
  REQUIRE(layout);
  Arguments a = good();
  a.scales = {.address = 0x9000, .bytes = 10, .type = DataType::bf16, .rank = 1, .shape = {5}};
  a.zero_points = any;
  std::array<std::byte, max_kernarg_bytes> kernarg{};
  CHECK(engine::bind(*layout, a, 3, kernarg));
  a.scales.bytes = 9;
  CHECK(engine::bind(*layout, a, 3, kernarg).error().field == "scales.bytes");
}

TEST_CASE("Without rows types and columns still hold", "[engine][arguments]") {
  const auto layout = make_layout(by_hand(), 1);
  REQUIRE(layout);
  Arguments a = good();
  a.activations = tensor(0, 0, DataType::bf16, {0, 6});
  a.output = tensor(0, 0, DataType::f32, {0, 5});
  CHECK(check_empty(*layout, a));
  Arguments bad = a;
  bad.output.type = DataType::bf16;
  CHECK(check_empty(*layout, bad).error().field == "output.type");
  bad = a;
  bad.activations.shape[1] = 5;
  CHECK(check_empty(*layout, bad).error().field == "activations.shape");
  bad = a;
  bad.output.shape[0] = 1;
  CHECK(check_empty(*layout, bad).error().field == "output.shape");
  bad = a;
  bad.output.rank = 0;
  CHECK(check_empty(*layout, bad).error().field == "output.rank");
}

TEST_CASE("A table that no launch can fill is our own error", "[engine][arguments]") {
  const auto made = [](auto&& change) {
    templates::Launch l = by_hand();
    change(l);
    const auto layout = make_layout(l, 1);
    if (!layout) CHECK(layout.error().code == ErrorCode::internal);
    return layout.has_value();
  };
  using L = templates::Launch;
  CHECK(made([](L&) {}));
  CHECK(made([](L& l) { l.kernarg_size = max_kernarg_bytes; }));
  CHECK_FALSE(made([](L& l) { l.kernarg_size = max_kernarg_bytes + 1; }));
  CHECK(made([](L& l) { l.arguments.resize(max_slots, l.arguments.back()); }));
  CHECK_FALSE(made([](L& l) { l.arguments.resize(max_slots + 1, l.arguments.back()); }));
  CHECK(made([](L& l) { l.kernarg_size = 36; }));  // where m ends
  CHECK_FALSE(made([](L& l) { l.kernarg_size = 35; }));
  CHECK(made([](L& l) { l.arguments.back().size = 8; }));
  CHECK_FALSE(made([](L& l) { l.arguments.back().size = 9, l.kernarg_size = 64; }));
  CHECK_FALSE(made([](L& l) { l.arguments.back().name = "n"; }));
}

}  // namespace wavejit::engine
