// SPDX-License-Identifier: MIT
// Records: round trip, hostile bytes, agreement with the launch, and with what the code object says of
// itself.
#include <catch2/catch.hpp>

#include "generator/lower/lower.hpp"
#include "runtime/cache/record.hpp"
#include "tests/runtime/cache/kernels.hpp"
#include "tests/runtime/cache/scratch.hpp"

using namespace wavejit;
using namespace wavejit::test;
using cache::Record;

TEST_CASE("a record says of a kernel what its code object says", "[cache]") {
  const SmallKernel s = small_kernel();
  const Record r = cache::make_record(s.kernel);
  const auto object = lower::decode(r.code_object);
  REQUIRE(object);
  const lower::DecodedKernel& decoded = object->kernels.at(0);
  CHECK(r.kernel == decoded.name);
  CHECK(r.target == object->target->name);
  CHECK(r.workgroup_size == decoded.max_flat_workgroup_size);
  CHECK(r.kernarg_size == decoded.kernarg_segment_size);
  CHECK(r.lds_bytes == decoded.group_segment_size);
  CHECK(r.vgprs == decoded.vgpr_count);
  CHECK(r.instructions == decoded.instructions.size());
  CHECK(r.sgprs == s.kernel.ir.sgprs_used);
  CHECK(r.agprs == s.kernel.ir.agprs_used);
  CHECK(r.waves_per_simd == s.kernel.config.waves_per_simd);
  REQUIRE(r.arguments.size() == decoded.args.size());
  for (std::size_t i = 0; i < r.arguments.size(); ++i) {
    CHECK(r.arguments[i].name == decoded.args[i].name);
    CHECK(r.arguments[i].offset == decoded.args[i].offset);
    CHECK(r.arguments[i].size == decoded.args[i].size);
  }
}

TEST_CASE("a record comes back as it went in, and equal kernels make equal bytes", "[cache]") {
  const Record r = cache::make_record(small_kernel().kernel);
  const cache::Bytes bytes = serialise(r);
  const auto back = cache::parse_record(bytes);
  REQUIRE(back);
  CHECK(*back == r);
  CHECK(serialise(cache::make_record(small_kernel().kernel)) == bytes);
}

TEST_CASE("a record cut short or grown is refused, and flipped bytes never read beyond", "[cache]") {
  Record r = cache::make_record(small_kernel().kernel);
  r.code_object.resize(40);
  const cache::Bytes good = serialise(r);
  for (std::size_t size = 0; size < good.size(); ++size)
    CHECK_FALSE(cache::parse_record(std::span(good).first(size)).has_value());
  cache::Bytes longer = good;
  longer.push_back(0);
  CHECK_FALSE(cache::parse_record(longer).has_value());
  for (std::size_t i = 0; i < good.size(); ++i)
    for (const std::uint8_t value : {0x00, 0x7F, 0xFF}) {
      cache::Bytes bad = good;
      bad[i] = value;
      const auto parsed = cache::parse_record(bad);  // under sanitizers: no access outside
      if (parsed) CHECK(serialise(*parsed) == bad);
    }
}

TEST_CASE("a record is used only with the layout that it was made for", "[cache]") {
  const SmallKernel s = small_kernel();
  const Record good = cache::make_record(s.kernel);
  CHECK(cache::agrees(good, s.launch, *s.target).has_value());
  const auto refusal = [&](const auto& change) {
    Record r = good;
    change(r);
    const auto result = cache::agrees(r, s.launch, *s.target);
    return result ? std::string("accepted") : result.error().field;
  };
  CHECK(refusal([](Record& r) { r.target = "gfx1150"; }) == "target");
  CHECK(refusal([](Record& r) { r.workgroup_size *= 2; }) == "workgroup size");
  CHECK(refusal([](Record& r) { r.kernarg_size += 8; }) == "kernarg size");
  CHECK(refusal([](Record& r) { r.lds_bytes = 1 << 20; }) == "LDS");
  CHECK(refusal([](Record& r) { r.arguments.pop_back(); }) == "number of arguments");
  CHECK(refusal([](Record& r) { r.arguments[2].offset = 24; }) == "argument 2");
  CHECK(refusal([](Record& r) { r.arguments[4].size = 8; }) == "argument 4");
  CHECK(refusal([](Record& r) { r.arguments[0].name = "weights"; }) == "argument 0");
  CHECK(refusal([](Record& r) { r.arguments[3].access = ir::Access::read; }) == "argument 3");
}
