// SPDX-License-Identifier: MIT
// The kernels that this project generates are clean; with any wait taken away or made weaker by one they
// are not. The mutants are made by editing the printed `.s`, so nothing of the passes takes part.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <charconv>
#include <sstream>

#include "templates/kernel.hpp"
#include "templates/kquant/kquant.hpp"
#include "tests/runtime/check/check_kernel.hpp"

using namespace wavejit;
using check::Kind;

namespace {

struct Generated {
  const target::Target* target;
  std::vector<std::string> lines;
};

/// Every kind of argument in one: f16, zero points and a bias; bf16 without either.
enum class Variant : std::uint8_t { plain, full };

Generated generate(const std::string& target_name, const templates::Config& config,
                   Variant variant = Variant::plain) {
  templates::Problem problem;
  problem.n = problem.k = 256;
  problem.group = 32;
  if (variant == Variant::full) {
    problem.activation = templates::DataType::f16;
    problem.zero_points = templates::ZeroPoints::packed;
    problem.bias = true;
    problem.n = 250;
  }
  const target::Target& target = test::table(target_name);
  const auto kernel = templates::generate(problem, config, target, {.assemble = false, .observer = {}});
  INFO((kernel ? std::string() : kernel.error().message));
  REQUIRE(kernel);
  Generated result{&target, {}};
  std::istringstream stream(kernel->assembly);
  for (std::string line; std::getline(stream, line);) result.lines.push_back(line);
  return result;
}

check::Report checked(const Generated& g) {
  std::string text;
  for (const std::string& line : g.lines) text += line + "\n";
  const auto object = lower::assemble(text, *g.target);
  INFO((object ? std::string() : object.error().message));
  REQUIRE(object);
  const auto linked = lower::link(*object);
  REQUIRE(linked);
  const auto decoded = lower::decode(*linked);
  REQUIRE(decoded);
  REQUIRE(decoded->kernels.size() == 1);
  return check::check(decoded->kernels[0], *g.target);
}

/// Lines whose instruction starts with `mnemonic`.
std::vector<std::size_t> find(const Generated& g, std::string_view mnemonic) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < g.lines.size(); ++i) {
    const std::size_t at = g.lines[i].find_first_not_of(" \t");
    if (at != std::string::npos && std::string_view(g.lines[i]).substr(at).starts_with(mnemonic))
      found.push_back(i);
  }
  return found;
}

check::Report without_line(Generated g, std::size_t line) {
  g.lines[line].clear();
  return checked(g);
}

/// The waits of a line with one counter raised by one: "vmcnt(2) lgkmcnt(0)" gives two lines.
std::vector<std::string> raised(const std::string& line) {
  std::vector<std::string> result;
  for (std::size_t at = line.find("cnt("); at != std::string::npos; at = line.find("cnt(", at + 1)) {
    const std::size_t digits = at + 4;
    const std::size_t end = line.find(')', digits);
    unsigned n = 0;
    REQUIRE(std::from_chars(line.data() + digits, line.data() + end, n).ec == std::errc{});
    result.push_back(fmt::format("{}{}{}", line.substr(0, digits), n + 1, line.substr(end)));
  }
  return result;
}

std::vector<templates::Config> configs() {
  std::vector<templates::Config> all;
  for (const unsigned depth : {0U, 1U, 2U}) {
    for (const unsigned buffers : {1U, 2U}) {
      templates::Config c;
      c.pipeline_depth = depth;
      c.lds_buffers = buffers;
      all.push_back(c);
    }
  }
  return all;
}

}  // namespace

TEST_CASE("generated kernels have no findings", "[check][generated]") {
  const Variant variant = GENERATE(Variant::plain, Variant::full);
  for (const std::string target : {"gfx1151", "gfx1100"}) {
    for (const templates::Config& config : configs()) {
      const check::Report report = checked(generate(target, config, variant));
      INFO(target << ", depth " << config.pipeline_depth << ", LDS buffers " << config.lds_buffers << "\n"
                  << to_string(report));
      CHECK(report.findings.empty());
    }
  }
}

// Nearly all are errors. Where a load from a single LDS buffer is still in flight at the barrier before the
// next stores, whether they meet is not known here: that is lds-order-at-barrier, a warning.
TEST_CASE("no wait of a generated kernel can be dropped or weakened unseen", "[check][generated]") {
  const Variant variant = GENERATE(Variant::plain, Variant::full);
  unsigned mutants = 0;
  for (const templates::Config& config : configs()) {
    const Generated g = generate("gfx1151", config, variant);
    for (const std::size_t line : find(g, "s_waitcnt ")) {
      INFO("depth " << config.pipeline_depth << ", LDS buffers " << config.lds_buffers << ", line "
                    << line + 1 << ": " << g.lines[line]);
      ++mutants;
      CHECK_FALSE(without_line(g, line).findings.empty());
      for (const std::string& weaker : raised(g.lines[line])) {
        ++mutants;
        Generated mutant = g;
        mutant.lines[line] = weaker;
        CHECK_FALSE(checked(mutant).findings.empty());
      }
    }
  }
  CHECK(mutants >= 100);
}

TEST_CASE("the first barrier of a generated kernel cannot be dropped unseen", "[check][generated]") {
  // Later ones only the simulator can judge: whether a load meets a store depends on addresses.
  for (const templates::Config& config : configs()) {
    const Generated g = generate("gfx1151", config);
    const auto barriers = find(g, "s_barrier");
    REQUIRE_FALSE(barriers.empty());
    INFO("depth " << config.pipeline_depth << ", LDS buffers " << config.lds_buffers);
    CHECK(without_line(g, barriers.front()).has(Kind::lds_without_barrier));
  }
}

TEST_CASE("the s_nop before dealloc_vgprs cannot be dropped unseen", "[check][generated]") {
  const Generated g = generate("gfx1151", {});
  const auto message = find(g, "s_sendmsg");
  REQUIRE(message.size() == 1);
  REQUIRE(find(g, "s_nop") == std::vector<std::size_t>{message[0] - 1});
  CHECK(without_line(g, message[0] - 1).has(Kind::dealloc));
}

TEST_CASE("K-quant kernels keep the soft clauses of gfx942 and gfx950", "[check][generated][xnack]") {
  // Their loads take turns with few address registers; without the pass's breaks each type has such clauses.
  const std::string_view name = GENERATE("gfx942", "gfx950");
  const auto type = GENERATE(templates::GgufType::q4_k, templates::GgufType::q5_k, templates::GgufType::q6_k);
  const target::Target& target = test::table(name);
  for (unsigned rows : {1U, 2U}) {
    const templates::kquant::Problem problem{.type = type, .n = 4096, .k = 5120, .m = 1};
    const auto kernel = templates::generate(
        templates::kquant::common_problem(problem),
        templates::kquant::common_config(problem, {.rows = rows, .pipeline_depth = 1}), target);
    INFO((kernel ? std::string() : kernel.error().message));
    REQUIRE(kernel);
    const auto object = lower::decode(kernel->code_object);
    REQUIRE(object);
    for (const check::Report& report : check::check(*object)) {
      INFO(check::to_string(report));
      CHECK(report.ok());
    }
  }
}
