// SPDX-License-Identifier: MIT
// The recorded vectors against the simulator. Each test prints a table: entries in the file, used, passed,
// and why each of the others did not pass or could not be used. Alone:
//   build/release/tests/runtime/tests_runtime "[hw_vectors]"
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "tests/runtime/sim/hw_vectors.hpp"

namespace wavejit::test {
namespace {

using Kind = VectorOutcome::Kind;

/// Recorded results that the simulator does not share, and why it is right not to.
std::string_view why_different(const VectorOutcome& o, std::string_view target) {
  // None of these is marked as compared with hardware.
  static constexpr std::string_view vcc =
      "the ISA manual's pseudo-code sets VCC only where it scales by exponent difference or for "
      "a denormal quotient; the recorder's emulator sets it in more cases";
  static const std::map<std::string, std::string_view> table{
      {"test_vop3.TestDivScale.test_div_scale_f32_denorm_denom V_DIV_SCALE_F32", vcc},
      {"test_vop3.TestDivScale.test_div_scale_f32_tiny_numer_exp_le_23 V_DIV_SCALE_F32", vcc},
      {"test_vop3.TestDivScale.test_div_scale_f32_zero_denom_gives_nan V_DIV_SCALE_F32", vcc},
      {"test_vop3.TestDivScale.test_div_scale_f32_zero_numer_gives_nan V_DIV_SCALE_F32", vcc},
  };
  if (target == "gfx942" && o.op.starts_with("V_CVT_PK_") && o.op.find("8_F32") != std::string::npos)
    return "recorded for gfx950, whose 8-bit floats are the OCP forms; gfx942's have a bias one greater and "
           "no "
           "infinities (CDNA3 ISA manual), so 1.0 is 0x40 there";
  const auto it = table.find(o.key);
  return it == table.end() || o.compared_with_hardware ? std::string_view{} : it->second;
}

/// Why an entry cannot be used; empty when it should be.
std::string_view why_unusable(const VectorOutcome& o) {
  if (o.kind == Kind::high_half)
    return "in 16-bit short encodings register 128 + n names the high half of n (ISA manual); the recorder "
           "noted VGPR 128 + n, which the instruction does not touch";
  if (o.kind == Kind::lacks_input) return "a source that the instruction reads is not recorded";
  if (o.op.find("F64") != std::string::npos)
    return "double precision: outside the scope (no kernel of ours or of the peers' has it)";
  if (o.op == "V_DUAL_MOV_B32_V_DUAL_ADD_NC_U32" && o.detail.find("no instruction") != std::string::npos)
    return "no valid encoding: v_dual_mov has no VSRCX1, the bytes hold v2 there, and LLVM refuses them";
  return {};
}

struct Score {
  unsigned in_file = 0, used = 0, passed = 0;
  std::map<std::string, std::map<std::string, unsigned>> reasons;  ///< why -> opcode -> entries
  std::string unexplained;
};

Score score(std::string_view file, std::string_view target) {
  Score s;
  for (const auto& v : load_vectors(file)) {
    const VectorOutcome o = run_vector(v, target);
    ++s.in_file;
    const bool used = o.kind == Kind::passed || o.kind == Kind::differs;
    s.used += used ? 1 : 0;
    if (o.kind == Kind::passed) {
      ++s.passed;
      continue;
    }
    const std::string_view why = used ? why_different(o, target) : why_unusable(o);
    if (why.empty()) {
      s.unexplained += fmt::format("{}: {}\n", o.key, o.detail);
      continue;
    }
    ++s.reasons[fmt::format("{}: {}", used ? "differs" : "not used", why)][o.op];
  }
  return s;
}

std::string table(std::string_view file, std::string_view target, const Score& s) {
  std::string text = fmt::format("{} on {}: {} in the file, {} used, {} passed\n", file, target, s.in_file,
                                 s.used, s.passed);
  for (const auto& [reason, ops] : s.reasons) {
    unsigned all = 0;
    std::string names;
    for (const auto& [op, n] : ops) {
      all += n;
      names += fmt::format("{}{}{}", names.empty() ? "" : ", ", op, n > 1 ? fmt::format(" ({})", n) : "");
    }
    text += fmt::format("{:4} {}\n     {}\n", all, reason, names);
  }
  return text;
}

Score check(std::string_view file, std::string_view target) {
  const Score s = score(file, target);
  WARN(table(file, target, s));
  INFO("neither right nor explained:\n" << s.unexplained);
  CHECK(s.unexplained.empty());
  return s;
}

TEST_CASE("Recorded RDNA3 instruction vectors", "[sim][hw_vectors]") {
  const Score s = check("rdna3_vectors.json", "gfx1151");
  CHECK(s.in_file == 676);
  CHECK(s.passed == 576);
}

TEST_CASE("Recorded RDNA4 instruction vectors", "[sim][hw_vectors]") {
  for (const char* target : {"gfx1200", "gfx1201"}) {
    const Score s = check("rdna4_vectors.json", target);
    CHECK(s.in_file == 3);
    CHECK(s.passed == 3);
  }
}

TEST_CASE("Recorded CDNA instruction vectors", "[sim][hw_vectors]") {
  const Score s = check("cdna_vectors.json", "gfx950");
  CHECK(s.in_file == 7);
  CHECK(s.passed == 7);
  CHECK(check("cdna_vectors.json", "gfx942").passed == 3);
}

}  // namespace
}  // namespace wavejit::test
