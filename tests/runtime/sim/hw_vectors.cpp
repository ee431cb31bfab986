// SPDX-License-Identifier: MIT
#include "tests/runtime/sim/hw_vectors.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <charconv>
#include <fstream>

#include "tests/runtime/sim/asm_kernel.hpp"

namespace wavejit::test {
namespace {

using Json = nlohmann::json;

/// "0a0b0c0d" -> a .long line: bytes of whole words, the lowest first.
std::string word_line(const std::string& hex) {
  std::string line = "\t.long ";
  for (std::size_t i = 0; i + 7 < hex.size(); i += 8) {
    const auto byte = [&](std::size_t n) { return hex.substr(i + 2 * n, 2); };
    line += fmt::format("{}0x{}{}{}{}", i == 0 ? "" : ",", byte(3), byte(2), byte(1), byte(0));
  }
  return line;
}

/// v3 -> VGPR 3; s3, enc106 -> scalar number; constants (enc >= 128) and the rest -> nothing.
struct Register {
  bool vector = false;
  int number = -1;
};
Register parse_register(const std::string& name) {
  const bool raw = name.starts_with("enc");
  int number = -1;
  const char* first = name.data() + (raw ? 3 : 1);
  std::from_chars(first, name.data() + name.size(), number);
  if (name.front() == 'v') return {true, number};
  return {false, raw && number >= 128 ? -1 : number};
}

void set_register(sim::Probe& p, const std::string& name, const Json& values) {
  const Register r = parse_register(name);
  if (r.number < 0) return;
  for (unsigned i = 0; i < values.size(); ++i) {
    if (!r.vector) {
      p.set_sgpr(static_cast<unsigned>(r.number) + i, values[i].get<std::uint32_t>());
      continue;
    }
    for (unsigned lane = 0; lane < values[i].size(); ++lane) {
      p.set_vgpr(static_cast<unsigned>(r.number) + i, lane, values[i][lane].get<std::uint32_t>());
    }
  }
}

bool nan32(std::uint32_t x) { return (x & 0x7FFFFFFF) > 0x7F800000; }
bool nan16(std::uint32_t x) { return (x & 0x7FFF) > 0x7C00; }

/// Any NaN equals any NaN of the operation's format.
bool same(const std::string& op, std::uint32_t got, std::uint32_t want) {
  if (got == want) return true;
  if (op.find("F32") != std::string::npos && nan32(got) && nan32(want)) return true;
  if (op.find("F16") == std::string::npos) return false;
  const bool low = (got & 0xFFFF) == (want & 0xFFFF) || (nan16(got) && nan16(want));
  const bool high = got >> 16 == want >> 16 || (nan16(got >> 16) && nan16(want >> 16));
  return low && high;
}

/// Differences from the recorded state; empty when the vector passes.
std::string difference(const sim::Probe& p, const Json& v) {
  const std::string op = v["op"];
  std::string text;
  for (const auto& [name, dst] : v["dst"].items()) {
    const Register r = parse_register(dst["reg"]);
    if (r.number < 0 || (!r.vector && r.number == static_cast<int>(isa::sreg::null))) continue;
    const Json& after = dst["after"];
    for (unsigned i = 0; i < after.size(); ++i) {
      const auto reg = static_cast<unsigned>(r.number) + i;
      if (!r.vector) {
        const auto want = after[i].get<std::uint32_t>();
        if (p.sgpr(reg) != want)
          text += fmt::format(" s{}: 0x{:08x}, recorded 0x{:08x}", reg, p.sgpr(reg), want);
        continue;
      }
      for (unsigned lane = 0; lane < after[i].size(); ++lane) {
        const auto want = after[i][lane].get<std::uint32_t>();
        const std::uint32_t got = p.vgpr(reg, lane);
        if (!same(op, got, want))
          text += fmt::format(" v{}[{}]: 0x{:08x}, recorded 0x{:08x}", reg, lane, got, want);
      }
    }
  }
  const auto vcc = v["vcc"][1].get<std::uint32_t>();
  if (p.sgpr(isa::sreg::vcc_lo) != vcc) {
    text += fmt::format(" vcc: 0x{:08x}, recorded 0x{:08x}", p.sgpr(isa::sreg::vcc_lo), vcc);
  }
  return text;
}

/// In 16-bit VOP1/2/C encodings register 128 + n is the high half of n. The recorder noted register 128 + n,
/// whose contents say nothing of what the instruction read or wrote.
bool records_high_half(const Json& v) {
  if (v["op"].get<std::string>().find("16") == std::string::npos) return false;
  for (const char* side : {"src", "dst"}) {
    for (const auto& [name, operand] : v[side].items()) {
      const Register r = parse_register(operand["reg"]);
      if (r.vector && r.number >= 128) return true;
    }
  }
  return false;
}

/// The registers as recorded, the rest undefined.
void set_up(sim::Probe& probe, const Json& v) {
  probe.forget();
  for (const auto& [name, dst] : v["dst"].items()) set_register(probe, dst["reg"], dst["before"]);
  for (const auto& [name, src] : v["src"].items()) set_register(probe, src["reg"], src["val"]);
  // v255 is where tinygrad's tests keep the lane number.
  for (unsigned lane = 0; lane < 32; ++lane) probe.set_vgpr(255, lane, lane);
  probe.set_sgpr(isa::sreg::vcc_lo, v["vcc"][0].get<std::uint32_t>());
  probe.set_sgpr(isa::sreg::exec_lo, v["exec"].get<std::uint32_t>());
  probe.set_sgpr(isa::sreg::exec_hi, 0);
  probe.set_mode(0x3C0);  // as these tests ran: nearest even, f32 denormals flushed, IEEE, DX10_CLAMP
}

}  // namespace

Json load_vectors(std::string_view file) {
  std::ifstream in(fmt::format("{}/sim/{}", WAVEJIT_TEST_DATA, file));
  REQUIRE(in);
  return Json::parse(in)["vectors"];
}

VectorOutcome run_vector(const Json& v, std::string_view target) {
  using Kind = VectorOutcome::Kind;
  VectorOutcome out;
  out.op = v["op"];
  out.key = v["test"].get<std::string>() + " " + out.op;
  out.compared_with_hardware = v.value("compared_with_hw", false);
  if (records_high_half(v)) {
    out.kind = Kind::high_half;
    return out;
  }
  const std::string body = word_line(v["bytes"]);
  const auto program = try_program({.body = body, .target = target, .vgprs = 256, .sgprs = 100});
  if (!program) {
    out.kind = Kind::refused;
    out.detail = program.error().message;
    return out;
  }
  sim::Memory memory;
  sim::LaunchParams launch;
  auto probe = sim::Probe::start(*program, memory, launch);
  REQUIRE(probe);
  set_up(*probe, v);
  probe->run();
  for (const sim::Fault& f : probe->faults()) {
    if (f.kind != sim::FaultKind::undefined_value) continue;
    out.kind = Kind::lacks_input;
    out.detail = f.detail;
    return out;
  }
  out.detail = difference(*probe, v);
  if (!out.detail.empty()) out.kind = Kind::differs;
  return out;
}

}  // namespace wavejit::test
