// SPDX-License-Identifier: MIT
// `wavejit sweep`: that its problems are all that it promises, that shards are the whole, that a problem
// without a kernel fails it. A larger share runs in tools/check.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <sstream>

#include "templates/kernel.hpp"
#include "tests/tools/cli.hpp"
#include "tools/wavejit/sweep_kernels.hpp"
#include "tools/wavejit/sweep_problems.hpp"
#include "tools/wavejit/sweep_trial.hpp"

namespace wavejit::test {
namespace {

using templates::Operation;
using templates::Problem;
using tools::Cell;

tools::Scope everything() {
  tools::Scope scope;
  for (std::size_t i = 0; i < templates::operations; ++i)
    scope.operations.push_back(static_cast<Operation>(i));
  for (const target::Target& t : target::all()) scope.targets.push_back(&t);
  return scope;
}

const tools::Grid& whole() {
  static const tools::Grid grid = make_grid(everything());
  return grid;
}

std::vector<nlohmann::json> lines_of(const std::string& text) {
  std::vector<nlohmann::json> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(nlohmann::json::parse(line));
  return all;
}

using Level = std::pair<int, std::int64_t>;  // option, value

/// The options of a problem as it was asked for, and their values.
std::vector<Level> levels(const Problem& p) {
  std::vector<Level> all{{0, static_cast<int>(p.activation)},
                         {1, static_cast<int>(p.zero_points)},
                         {2, static_cast<int>(p.rounding)},
                         {3, p.bias ? 1 : 0},
                         {4, p.group},
                         {5, static_cast<int>(p.scale_type)},
                         {6, p.batch}};
  if (p.op == Operation::kquant)
    all = {{0, static_cast<int>(p.activation)}, {1, static_cast<int>(p.weight_type)}};
  return all;
}

}  // namespace

// The numbers of values are those of the public enumerations and of the groups that checkpoints have.
TEST_CASE("every two option values meet for every layer and target of a sweep", "[sweep]") {
  struct Key {
    Operation op;
    std::int64_t n, k;
    const target::Target* target;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, std::set<std::pair<Level, Level>>> met;
  std::map<Key, std::set<Level>> values;
  std::set<std::pair<Operation, const target::Target*>> served;
  for (const Cell& cell : whole().cells)
    for (const tools::Trial& trial : cell.trials)
      for (const target::Target* t : trial.targets) {
        const auto normal = templates::normalise(trial.problem, *t);
        const Key key{trial.problem.op, trial.problem.n, trial.problem.k, t};
        served.insert({trial.problem.op, t});
        if (!normal) continue;  // the sweep itself will say so
        // Problems that differ in rounding alone may be one: both values are met then.
        for (const bool fastest : {true, false}) {
          Problem p = trial.problem;
          p.rounding = fastest ? templates::WeightRounding::fastest : templates::WeightRounding::nearest;
          const auto same = templates::normalise(p, *t);
          if (!same || templates::canonical(*same) != templates::canonical(*normal)) continue;
          const std::vector<Level> has = levels(p);
          for (const Level& a : has) {
            values[key].insert(a);
            for (const Level& b : has) met[key].insert({a, b});
          }
        }
      }
  // 12 RDNA and 2 CDNA targets serve W4A16 and GGUF weights, CDNA the int4 products.
  CHECK(served.size() == 14 + 14 + 2 + 2);
  std::size_t pairs = 0;
  for (const auto& [key, has] : values)
    for (const Level& a : has)
      for (const Level& b : has) {
        if (a.first >= b.first) continue;
        ++pairs;
        if (!met[key].contains({a, b}))
          FAIL(templates::name(key.op)
               << " n " << key.n << " k " << key.k << " " << key.target->name << ": option " << a.first
               << " = " << a.second << " never meets option " << b.first << " = " << b.second);
      }
  CHECK(pairs > 100000);
  // Of a layer whose K all groups divide, everything is there: Qwen2.5-1.5B's gate_up on RDNA.
  const auto gate_up = values.find({Operation::w4a16, 17920, 1536, target::find("gfx1151")});
  REQUIRE(gate_up != values.end());
  CHECK(gate_up->second.size() == 2 + 2 + 2 + 2 + 5 + 1 + 1);
}

TEST_CASE("shards are disjoint, balanced and together the whole", "[sweep]") {
  const tools::Grid again = make_grid(everything());
  REQUIRE(again.cells.size() == whole().cells.size());
  for (const std::size_t count : {1, 2, 7, 1000}) {
    std::set<const Cell*> met;
    std::size_t least = whole().cells.size(), most = 0;
    for (std::size_t i = 1; i <= count; ++i) {
      const auto cells = shard(whole(), i, count);
      least = std::min(least, cells.size());
      most = std::max(most, cells.size());
      for (const Cell* c : cells) CHECK(met.insert(c).second);
    }
    CHECK(met.size() == whole().cells.size());
    CHECK(most - least <= 1);
  }
  for (std::size_t i = 0; i < again.cells.size(); i += 97)
    CHECK(templates::canonical(again.cells[i].trials.front().problem) ==
          templates::canonical(whole().cells[i].trials.front().problem));
}

TEST_CASE("targets whose tables are alike get the same kernels", "[sweep]") {
  // But for the waits for transcendental results, which GGUF's quantiser has, and the hints that count them.
  const auto text_without = [](const templates::GeneratedKernel& k) {
    std::string out;
    std::istringstream in(k.assembly);
    for (std::string line; std::getline(in, line);)
      if (line.find("amdgcn") == std::string::npos && line.find("s_delay_alu") == std::string::npos &&
          line.find("s_waitcnt_depctr") == std::string::npos &&
          line.find("code_object_version") == std::string::npos &&
          line.find("amdhsa.version") == std::string::npos && line.find("hazard") == std::string::npos)
        out += line.substr(0, line.find(';')) + "\n";
    return out;
  };
  std::size_t alike = 0;
  for (const target::Target& t : target::all()) {
    const target::Target& first = tools::same_code(t);
    if (&first == &t) continue;
    ++alike;
    for (const Operation op : {Operation::w4a16, Operation::kquant})
      for (const std::int64_t m : {1, 8, 100}) {
        Problem p;
        p.op = op;
        p.n = 200;
        p.k = 1024;
        const std::int64_t rows = std::min(m, templates::most_rows(p));
        const auto config = templates::select_config(p, first, rows);
        REQUIRE(config);
        for (unsigned stage = 0; stage < templates::stages(p, *config); ++stage) {
          templates::GenerateOptions options;
          options.stage = stage;
          options.assemble = false;
          const auto here = templates::generate(p, *config, t, options);
          const auto there = templates::generate(p, *config, first, options);
          REQUIRE((here && there));
          CAPTURE(t.name, first.name, templates::canonical(*config), stage);
          CHECK(text_without(*here) == text_without(*there));
        }
      }
  }
  CHECK(alike >= 5);
}

TEST_CASE("requests with one key get one kernel of a GGUF product", "[sweep]") {
  // What the other activation type, and the other weights and N, may not change: the instructions.
  Problem p;
  p.op = Operation::kquant;
  p.n = 64;
  p.k = 2048;
  Problem other = p;
  other.activation = templates::DataType::f32;
  Problem another = p;
  another.n = 128;
  another.weight_type = templates::GgufType::q6_k;
  // A last block that is not full.
  Problem tail = p, other_tail = p;
  tail.k = other_tail.k = 2080;
  tail.weight_type = templates::GgufType::q8_0;
  other_tail.weight_type = templates::GgufType::q4_0;
  const target::Target& target = *target::find("gfx1151");
  const auto config = templates::select_config(p, target, 4);
  REQUIRE(config);
  const auto code = [&](const Problem& q, unsigned stage) {
    templates::GenerateOptions options;
    options.stage = stage;
    const auto kernel = templates::generate(q, *config, target, options);
    REQUIRE(kernel);
    std::string out;
    for (const ir::Block& b : kernel->ir.blocks)
      for (const auto& inst : b.insts) out += isa::to_text(inst.mi, target) + "\n";
    return out;
  };
  for (const unsigned stage : {0U, 1U})
    for (const auto& [a, b] : {std::pair(p, other), std::pair(p, another), std::pair(tail, other_tail)}) {
      const auto n = *templates::normalise(a, target), o = *templates::normalise(b, target);
      const bool one_key =
          tools::kernel_key(n, *config, stage, target) == tools::kernel_key(o, *config, stage, target);
      CHECK(one_key == (code(a, stage) == code(b, stage)));
    }
}

TEST_CASE("a problem that finds no kernel is a failure with its text", "[sweep]") {
  // K = 100 is no multiple of 32: a refusal, which must not pass for nothing to do.
  tools::SweptKernels kernels;
  const target::Target& target = *target::find("gfx1151");
  Problem p;
  p.n = 64;
  p.k = 100;
  p.group = 32;
  CHECK_FALSE(tools::is_legal(p, target));
  const auto refused = to_json(tools::choose_and_generate(p, target, {1, 100}, kernels));
  CHECK(refused.at("result") == "failed");
  CHECK(refused.at("problem").get<std::string>().find("n64 k100 g32") != std::string::npos);
  CHECK(refused.at("failures").at(0).at("m") == nlohmann::json{1, 100});
  CHECK(refused.at("failures").at(0).at("error").at("message").get<std::string>().find("100") !=
        std::string::npos);

  p.k = 128;
  CHECK(tools::is_legal(p, target));
  const auto served = tools::choose_and_generate(p, target, {1, 100}, kernels);
  CHECK(served.failures.empty());
  CHECK(served.kernels >= 1);
  CHECK(served.shared == 0);
  const auto again = tools::choose_and_generate(p, target, {1, 100}, kernels);
  CHECK(again.kernels == 0);
  CHECK(again.shared == served.kernels);
  // The error of a kernel is told to everybody who wants it: no Config has 17 stages.
  const auto config = *templates::select_config(p, target, 100);
  const Problem normal = *templates::normalise(p, target);
  CHECK(kernels.get(normal, config, 17, target).error.has_value());
  const auto second = kernels.get(normal, config, 17, target);
  CHECK(second.error.has_value());
  CHECK_FALSE(second.compiled);
}

TEST_CASE("a shard of the sweep says what it tried, line by line", "[cli][sweep]") {
  const Folder folder;
  const Ran ran = folder.wavejit("sweep --shard 5/6000 --jsonl lines.jsonl --json");
  INFO(ran.out << ran.err);
  REQUIRE(ran.code == 0);
  const auto sums = ran.json().at("summary");
  CHECK(sums.at("models").get<int>() >= 40);
  CHECK(sums.at("layers").get<int>() >= 500);
  CHECK(sums.at("failures") == 0);
  CHECK(sums.at("illegal").get<int>() > 0);
  CHECK(sums.at("all_problems") == whole().trials);
  const auto lines = lines_of(read_text(folder.file("lines.jsonl")));
  std::size_t problems = 0, kernels = 0;
  for (const auto& line : lines) {
    if (line.contains("summary")) continue;
    ++problems;
    kernels += line.at("kernels").get<std::size_t>();
    CHECK(line.at("result") == "ok");
    CHECK_FALSE(line.at("m").empty());
    CHECK(line.at("kernels").get<int>() + line.at("shared").get<int>() >= 1);
    CHECK(target::find(line.at("target").get<std::string>()) != nullptr);
  }
  CHECK(lines.back().at("summary").at("problems") == problems);
  CHECK(sums.at("problems") == problems);
  CHECK(sums.at("kernels") == kernels);
  CHECK(problems >= 3);
}

TEST_CASE("an engine prepares layers for all rows in a sweep", "[cli][sweep]") {
  const Folder folder;
  const Ran ran = folder.wavejit("sweep --prepare --target gfx1201 --op kquant --shard 3/150 --json");
  INFO(ran.out << ran.err);
  REQUIRE(ran.code == 0);
  const auto sums = ran.json().at("summary");
  CHECK(sums.at("problems").get<int>() >= 1);
  CHECK(sums.at("kernels").get<int>() >= 9 * sums.at("problems").get<int>());
}

TEST_CASE("sweep takes targets, operations and rows, and names what it does not know", "[cli][sweep]") {
  const Folder folder;
  const Ran ran =
      folder.wavejit("sweep --target gfx12-generic --op w4a16 --rows 1,333 --shard 2/3000 --jsonl -");
  INFO(ran.out << ran.err);
  REQUIRE(ran.code == 0);
  const auto lines = lines_of(ran.out);
  REQUIRE(lines.size() >= 2);
  for (const auto& line : lines) {
    if (line.contains("summary")) continue;
    CHECK(line.at("target") == "gfx12-generic");
    CHECK(line.at("op") == "w4a16");
    CHECK(line.at("m") == nlohmann::json{1, 333});
  }
  const auto refused = [&folder](const std::string& arguments, const std::string& named) {
    const Ran bad = folder.wavejit("sweep " + arguments);
    CAPTURE(arguments, bad.err);
    CHECK(bad.code == 2);
    CHECK(bad.err.find(named) != std::string::npos);
  };
  refused("--target gfx7", "gfx7");
  refused("--target gfx1151 --op int4_gemm", "gfx1151");
  refused("--op w4a17", "w4a17");
  for (const char* shard : {"0/4", "5/4", "1", "1/", "/4", "1/4x", "-1/4", "1/99999999999999999999", "1/0"})
    refused(std::string("--shard ") + shard, shard);
  refused("--shard 1/2000 --op kquant --target gfx942 --jsonl /nowhere/x", "/nowhere/x");
}

}  // namespace wavejit::test
