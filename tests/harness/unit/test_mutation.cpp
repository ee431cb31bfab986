// SPDX-License-Identifier: MIT
// The judges judged: a sample of the mutants of every kind of kernel, and what makes a mutant. The whole
// list is `wavejit mutate`.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "tests/harness/catch.hpp"
#include "tests/harness/mutation.hpp"

using namespace wavejit;
using harness::MutationKind;

TEST_CASE("mutants change one line each", "[harness][mutation]") {
  const std::string text =
      "\ts_waitcnt vmcnt(2) lgkmcnt(0)\n\ts_barrier\n\tds_load_b128 v[0:3], v4 offset:16\n"
      "\tv_lshrrev_b32 v0, 12, v1\n\tv_dot2_bf16_bf16 v0, v3, v4, 0\n"
      "\tv_pk_mul_f16 v0, v1, v2 op_sel_hi:[1,0]\n\tv_pk_fma_f16 v0, v1, s2, v3 op_sel:[0,0,1]\n"
      "\tv_bfe_u32 v0, v1, v2, 4  ; zero point of the column\n\tv_bfe_u32 v0, v1, 16, 1\n"
      "\tv_wmma_f32_16x16x16_bf16 v[0:7], v[8:15], v[16:23], v[0:7]\n"
      "\ts_add_u32 s4, s4, 0x100 ; bytes of a row of weights\n";
  const auto all = harness::mutants(text);
  const auto count = [&](MutationKind k) { return std::ranges::count(all, k, &harness::Mutant::kind); };
  CHECK(count(MutationKind::wait_dropped) == 1);
  CHECK(count(MutationKind::wait_raised) == 2);
  CHECK(count(MutationKind::barrier_dropped) == 1);
  CHECK(count(MutationKind::lds_offset) == 2);
  CHECK(count(MutationKind::shift_swapped) == 1);
  CHECK(count(MutationKind::op_sel) == 3);
  CHECK(count(MutationKind::field_width) == 1);
  CHECK(count(MutationKind::matrix_operand) == 2);
  CHECK(count(MutationKind::records_grown) == 1);
  CHECK(count(MutationKind::records_shrunk) == 1);
  for (const harness::Mutant& m : all) CHECK(m.text != text);
  const auto grown = std::ranges::find(all, MutationKind::records_grown, &harness::Mutant::kind);
  CHECK(grown->after.find("260") != std::string::npos);  // 0x100 and one 4-byte word
}

TEST_CASE("checker, simulator and oracle catch a sample of every kind of kernel's mutants",
          "[harness][mutation][slow]") {
  constexpr std::size_t every = 151;
  harness::MutationScore score;
  std::set<std::string> kinds;
  std::size_t first = 0;
  for (const harness::Request& request : harness::standard_problems()) {
    const auto subjects = harness::subjects(request);
    REQUIRE(subjects);
    for (const harness::Subject& subject : *subjects) {
      kinds.insert(subject.kind.substr(0, subject.kind.rfind(' ')));
      INFO(subject.kind << ": " << subject.config);
      const auto one = harness::mutation_score(subject, first, every);
      INFO((one ? std::string() : one.error().message));
      REQUIRE(one);
      score.add(*one);
      first = (first + 40) % every;  // another place of every kernel
    }
  }
  CHECK(kinds == std::set<std::string>{"tile", "skinny", "K-quant", "quantiser", "mfma", "batched mfma",
                                       "grouped mfma", "reduce", "decode", "batched decode",
                                       "grouped decode"});
  CHECK(score.total > 80);
  for (const harness::Survivor& s : score.survivors)
    UNSCOPED_INFO(s.kind << " " << name(s.mutant.kind) << " line " << s.mutant.line << ": " << s.mutant.before
                         << " -> " << s.mutant.after);
  CHECK(score.score() >= 0.97);
}
