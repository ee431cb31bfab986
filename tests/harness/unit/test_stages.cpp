// SPDX-License-Identifier: MIT
// Tensors that several stages share: one allocation a name, the workspace between them nobody's yet.
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "tests/harness/run.hpp"
#include "tests/harness/tensors.hpp"

using namespace wavejit;

namespace {

templates::Argument buffer(std::string name, std::uint32_t offset, ir::Access access, std::int64_t rows,
                           std::int64_t columns, templates::DataType type = templates::DataType::bf16) {
  const std::int64_t size = templates::bytes(type);
  return {.name = std::move(name),
          .offset = offset,
          .access = access,
          .dtype = type,
          .shape = {rows, columns},
          .strides = {columns * size, size},
          .bytes = rows * columns * size,
          .alignment = 16};
}

/// What a product of two stages would launch: partial sums, then their reduction.
std::vector<templates::Launch> two_launches(std::int64_t slices_written, std::int64_t slices_read) {
  using enum templates::DataType;
  templates::Launch partial, reduce;
  partial.arguments = {buffer("activations", 0, ir::Access::read, 3, 64),
                       buffer("workspace", 8, ir::Access::write, 3 * slices_written, 16, f32)};
  partial.kernarg_size = 16;
  reduce.arguments = {buffer("workspace", 0, ir::Access::read, 3 * slices_read, 16, f32),
                      buffer("output", 8, ir::Access::write, 3, 16)};
  reduce.kernarg_size = 24;
  return {partial, reduce};
}

Result<harness::Tensors> tensors(const std::vector<templates::Launch>& launches) {
  templates::Problem problem;
  problem.n = 16;
  problem.k = 64;
  problem.group = 32;
  const std::vector<harness::Tile> tiles{{.workgroup = 0, .block = {0, 3, 0, 16}}};
  return harness::Tensors::create(problem, launches, tiles, oracle::random_values(1), {});
}

std::uint64_t address_at(const std::vector<std::byte>& kernarg, std::size_t offset) {
  std::uint64_t address = 0;
  std::memcpy(&address, kernarg.data() + offset, sizeof address);
  return address;
}

}  // namespace

TEST_CASE("stages share a tensor by its name, the workspace as long as the longest", "[harness]") {
  auto t = tensors(two_launches(2, 4));
  REQUIRE(t);
  REQUIRE(t->addresses(0).size() == 2);
  CHECK(t->addresses(0)[1] == t->addresses(1)[0]);
  CHECK(t->addresses(0)[0] != t->addresses(1)[1]);
  CHECK(address_at(t->kernarg(0), 8) == t->addresses(0)[1]);
  CHECK(address_at(t->kernarg(1), 0) == t->addresses(0)[1]);
  CHECK(t->kernarg(1)[20] == std::byte{0xA5});
  CHECK(t->memory().find(t->addresses(1)[0])->size == 4 * 3 * 16 * 4);
}

TEST_CASE("the workspace is undefined NaNs and writable, inputs are neither", "[harness]") {
  auto t = tensors(two_launches(2, 2));
  REQUIRE(t);
  const std::uint64_t workspace = t->addresses(1)[0], bytes = 2 * 3 * 16 * 4;
  CHECK(t->memory().undefined_bytes(workspace, bytes) == bytes);
  std::uint32_t word = 0;
  REQUIRE(t->memory().read(workspace + bytes - 4, std::as_writable_bytes(std::span(&word, 1))));
  CHECK(word == 0xFFFFFFFF);
  CHECK_FALSE(t->memory().find(workspace)->read_only);
  CHECK(t->memory().find(t->addresses(0)[0])->read_only);
  CHECK(t->memory().undefined_bytes(t->addresses(0)[0], 3 * 64 * 2) == 0U);
}

TEST_CASE("stages that see one output in two sizes are refused", "[harness]") {
  std::vector<templates::Launch> launches = two_launches(2, 2);
  launches[0].arguments.push_back(buffer("output", 16, ir::Access::write, 3, 24));
  launches[0].kernarg_size = 24;
  const auto t = tensors(launches);
  REQUIRE_FALSE(t);
  CHECK(t.error().field == "output");
}

TEST_CASE("every stage's faults are a reason", "[harness]") {
  harness::Report report;
  report.later.resize(1);
  CHECK(report.ok());
  report.later[0].run.faults.resize(1);
  report.later[0].run.distinct_faults = 1;
  CHECK_FALSE(report.ok());
  CHECK(report.reason().starts_with("stage 1: "));
}
