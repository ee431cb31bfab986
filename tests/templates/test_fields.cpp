// SPDX-License-Identifier: MIT
// Every field of every operation set in turn. Which field means what to which operation is written out here
// again, from the comments of templates/problem.hpp and the tensors that docs/kernels/ lists.
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "templates/fields.hpp"

using namespace wavejit;
using templates::Operation;
using templates::Problem;

namespace {

struct Case {
  Operation op;
  const char* target;
  std::set<std::string> fields;  ///< that mean something to it
};

const std::set<std::string> dense{"op",           "act", "n", "k", "activation_stride", "weight_stride",
                                  "output_stride"};

std::set<std::string> with(std::set<std::string> all, const std::set<std::string>& more) {
  all.insert(more.begin(), more.end());
  return all;
}

std::vector<Case> cases() {
  const auto grouped = with(dense, {"group", "zero_points", "layout", "rounding", "scale_stride"});
  const auto w4a16 = with(grouped, {"bias", "zero_point_stride"});
  return {{Operation::w4a16, "gfx1151", w4a16},
          {Operation::w4a16, "gfx942", w4a16},
          {Operation::kquant, "gfx1151", with(dense, {"weight_type"})},
          {Operation::int4_gemm, "gfx942", with(grouped, {"scale_type", "batch"})},
          {Operation::int4_grouped, "gfx942", with(grouped, {"scale_type", "groups"})}};
}

Problem base(Operation op) {
  Problem p;
  p.op = op;
  p.n = 96;
  p.k = 512;
  if (op == Operation::int4_gemm || op == Operation::int4_grouped)
    p.layout = templates::WeightLayout::row_major_signed;
  if (op == Operation::int4_grouped) p.groups = 3;
  if (op == Operation::w4a16) p.zero_points = templates::ZeroPoints::packed;
  return p;
}

/// Values of all kinds: out of any range, the least, usual ones, those of a dense tensor and beside it.
std::vector<std::int64_t> values(const templates::Field& field) {
  if (field.name == "bias") return {0, 1};
  std::vector<std::int64_t> all{0, 1, 2, 3, 4, 5, 6, 7, 9, 31, 64, 96, 97, 128, 144, 255};
  if (field.values.empty())  // an enumeration of 8 bits holds no others
    for (const std::int64_t more :
         {-2LL, -1LL, 256LL, 288LL, 512LL, 520LL, 1LL << 31, 1LL << 33, (1LL << 62)})
      all.push_back(more);
  return all;
}

}  // namespace

TEST_CASE("A field that means nothing to an operation is refused by name, whatever it holds", "[fields]") {
  for (const Case& c : cases()) {
    const target::Target& target = *target::find(c.target);
    const auto usual = templates::words(base(c.op));
    for (std::size_t i = 1; i < templates::problem_fields; ++i) {
      const templates::Field& field = templates::fields()[i];
      const std::string name(field.name);
      for (const std::int64_t value : values(field)) {
        auto words = usual;
        words[i] = value;
        const Problem problem = templates::of_words(words);
        REQUIRE(templates::words(problem) == words);
        const auto normal = templates::normalise(problem, target);
        CAPTURE(templates::name(c.op), c.target, name, value);
        if (c.fields.contains(name)) continue;
        CHECK(normal.has_value() == (value == usual[i]));
        if (normal) continue;
        CHECK(normal.error().field == name);
        CHECK(normal.error().message.starts_with(name + " is "));
        CHECK_FALSE(normal.error().allowed.empty());
      }
    }
  }
}

TEST_CASE("Problems that differ in any field differ in their canonical texts, which say all", "[fields]") {
  for (const Case& c : cases()) {
    const target::Target& target = *target::find(c.target);
    std::map<std::string, templates::Words> texts;
    std::set<std::string> changed;
    const auto usual = templates::words(base(c.op));
    const auto unchanged = templates::normalise(base(c.op), target);
    REQUIRE(unchanged.has_value());
    for (std::size_t i = 1; i < templates::problem_fields; ++i) {
      const templates::Field& field = templates::fields()[i];
      for (const std::int64_t value : values(field)) {
        auto words = usual;
        words[i] = value;
        const auto normal = templates::normalise(templates::of_words(words), target);
        CAPTURE(templates::name(c.op), c.target, field.name, value);
        if (!normal) {
          // A length refused as it does not suit another names one of the two.
          CHECK((normal.error().field == field.name || normal.error().field == "k" ||
                 normal.error().field == "group" || normal.error().field == "zero_point_stride"));
          continue;
        }
        const std::string text = templates::canonical(*normal);
        const auto all = templates::words(*normal);
        if (all != templates::words(*unchanged)) changed.emplace(field.name);
        CHECK(texts.try_emplace(text, all).first->second == all);
        CHECK((text == templates::canonical(*unchanged)) == (all == templates::words(*unchanged)));
        const auto read = templates::parse_problem(text);
        REQUIRE(read.has_value());
        CHECK(templates::words(*read) == all);
        const auto again = templates::normalise(*normal, target);
        REQUIRE(again.has_value());
        CHECK(templates::words(*again) == all);
      }
    }
    // Each field that means something can be set: but for those of one value, and of dense tensors.
    auto free = c.fields;
    for (const char* one : {"op", "layout"}) free.erase(one);
    if (c.op == Operation::kquant)
      for (const char* one : {"activation_stride", "weight_stride", "output_stride"}) free.erase(one);
    if (target.has_cvt_pk_bf16_f32) free.erase("rounding");
    CHECK(changed == free);
  }
}

TEST_CASE("The public cases of fields that were ignored", "[fields]") {
  const auto refusal = [](const char* target, Problem p) {
    const auto normal = templates::normalise(p, *target::find(target));
    return normal ? std::string("accepted") : normal.error().message;
  };
  for (const char* target : {"gfx1151", "gfx942"}) {
    Problem p{.n = 96, .k = 512};
    CHECK(refusal(target, p) == "accepted");
    p.zero_points = templates::ZeroPoints::additive;
    CHECK(refusal(target, p) ==
          "zero_points is additive, but must be symmetric or packed for w4a16; additive is of int4_gemm and "
          "int4_grouped");
    p = {.n = 96, .k = 512, .batch = 4};
    CHECK(refusal(target, p).starts_with("batch is 4, but must be left out: it is of int4_gemm"));
    p.batch = 0;
    CHECK(refusal(target, p).starts_with("batch is 0"));
    p = {.n = 96, .k = 512, .zero_point_stride = 4};
    CHECK(refusal(target, p).starts_with("zero_point_stride is 4, but must be left out"));
    p = {.op = static_cast<Operation>(200), .n = 96, .k = 512};
    CHECK(refusal(target, p).starts_with("op is 200, but must be w4a16, kquant, int4_gemm or int4_grouped"));
  }
}

TEST_CASE("Texts that are not canonical are no problems", "[fields]") {
  const std::string right = "w4a16 bf16 symmetric n96 k512 g128 round-fastest sa512 sw64 ss4 so96";
  CHECK(templates::canonical(*templates::normalise({.n = 96, .k = 512}, *target::find("gfx1151"))) == right);
  CHECK(templates::parse_problem(right).has_value());
  for (const std::string& wrong :
       {std::string(), std::string("w4a16"), right + " ", right + " batch4", " " + right,
        right + " bias-false", "gemm" + right.substr(5), right + " sz4",
        std::string("kquant q4_k bf16 n8 k256 g32"), right + right})
    CHECK_FALSE(templates::parse_problem(wrong).has_value());
}
