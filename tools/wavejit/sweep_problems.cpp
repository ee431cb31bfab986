// SPDX-License-Identifier: MIT
#include "tools/wavejit/sweep_problems.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "tests/harness/pairwise.hpp"

namespace wavejit::tools {
namespace {

using templates::DataType;
using templates::GgufType;
using templates::Operation;
using templates::Problem;
using templates::ZeroPoints;

constexpr std::array<std::int64_t, 5> groups{32, 64, 96, 128, -1};
constexpr std::array<DataType, 3> activations{DataType::bf16, DataType::f16, DataType::f32};
constexpr std::array<DataType, 3> scale_types{DataType::bf16, DataType::f16, DataType::f32};
constexpr std::array<GgufType, 5> gguf_types{GgufType::q4_k, GgufType::q5_k, GgufType::q6_k, GgufType::q8_0,
                                             GgufType::q4_0};

bool is_int4(Operation op) { return op == Operation::int4_gemm || op == Operation::int4_grouped; }

Problem plain(Operation op) {
  Problem p;
  p.op = op;
  if (is_int4(op)) p.layout = templates::WeightLayout::row_major_signed;
  return p;
}

/// The options of W4A16 and of the int4 products, as levels; `length` is a level of a list of its own.
enum Factor : std::uint8_t { type, zeros, rounding, bias_or_batch, length, scale };

Problem with_options(Problem p, const harness::Row& row, const std::vector<std::int64_t>& lengths) {
  p.activation = activations[static_cast<std::size_t>(row[type])];
  p.rounding = row[rounding] == 0 ? templates::WeightRounding::fastest : templates::WeightRounding::nearest;
  p.group = lengths[static_cast<std::size_t>(row[length])];
  if (row[zeros] == 1) p.zero_points = is_int4(p.op) ? ZeroPoints::additive : ZeroPoints::packed;
  if (p.op == Operation::w4a16) p.bias = row[bias_or_batch] == 1;
  if (p.op == Operation::int4_gemm && row[bias_or_batch] == 1) p.batch = 3;
  if (is_int4(p.op)) p.scale_type = scale_types[static_cast<std::size_t>(row[scale])];
  return p;
}

/// Rows of a covering array: the same for every layer with as many lengths of groups.
const std::vector<harness::Row>& rows_of(Operation op, std::size_t lengths) {
  static std::map<std::pair<Operation, std::size_t>, std::vector<harness::Row>> known;
  auto& rows = known[{op, lengths}];
  if (rows.empty())
    rows = harness::pairwise({2, 2, 2, op == Operation::int4_grouped ? 1 : 2, static_cast<int>(lengths),
                              is_int4(op) ? static_cast<int>(scale_types.size()) : 1},
                             [](const harness::Row&) { return true; });
  return rows;
}

/// Splitmix64 of a count: an order that has nothing to do with models or options, so that shards cost alike.
std::uint64_t scatter(std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

class Maker {
 public:
  explicit Maker(const Scope& scope) : scope_(scope) {}

  Grid make() {
    const std::vector<harness::Layer> layers = harness::distinct_layers(scope_.ways);
    for (const Operation op : scope_.operations) {
      std::vector<const target::Target*> targets;
      std::ranges::copy_if(scope_.targets, std::back_inserter(targets),
                           [op](const target::Target* t) { return serves(*t, op); });
      for (std::size_t i = 0; i < layers.size(); ++i) {
        const harness::Layer& l = layers[i];
        Problem p = plain(op);
        p.n = l.n;
        p.k = l.k;
        if (op == Operation::int4_grouped) {
          if (l.experts == 0) continue;
          p.groups = l.experts;
        } else if (i > 0 && layers[i - 1].n == l.n && layers[i - 1].k == l.k) {
          continue;  // only the number of experts differs
        }
        op == Operation::kquant ? add_gguf(p, targets) : add_groups(p, targets);
      }
    }
    for (std::size_t i = 0; i < layers.size(); ++i)
      grid_.layers += i == 0 || layers[i - 1].n != layers[i].n || layers[i - 1].k != layers[i].k ? 1 : 0;
    return scattered();
  }

 private:
  void add_gguf(Problem p, const std::vector<const target::Target*>& targets) {
    for (const GgufType weights : gguf_types) {
      p.weight_type = weights;
      const std::vector<const target::Target*> served = admitting(p, targets);
      Cell cell;
      for (const DataType input : activations) {
        p.activation = input;
        if (!served.empty() && (scope_.all_options || cell.trials.empty()))
          cell.trials.push_back({p, served});
      }
      add(std::move(cell));
      if (!scope_.all_options) break;
    }
  }

  /// Targets that admit the same groups share the rows of their covering array, and its kernels.
  void add_groups(const Problem& p, const std::vector<const target::Target*>& targets) {
    std::map<std::vector<std::int64_t>, std::vector<const target::Target*>> by_lengths;
    for (const target::Target* t : targets) {
      std::vector<std::int64_t> lengths;
      for (const std::int64_t group : groups) {
        Problem q = p;
        q.group = group;
        // A group of all K is not told from one of that length.
        if (!admitting(q, {t}).empty() && group != p.k) lengths.push_back(group);
      }
      if (!lengths.empty()) by_lengths[lengths].push_back(t);
    }
    for (auto& [lengths, served] : by_lengths) {
      if (scope_.all_options) {
        add_rows(p, lengths, served);
      } else {
        // What most checkpoints have, or the nearest that divides K.
        Problem usual = p;
        const auto has = [&l = lengths](std::int64_t g) { return std::ranges::find(l, g) != l.end(); };
        usual.group = has(128) ? 128 : has(64) ? 64 : lengths.front();
        add({{{usual, served}}});
      }
    }
  }

  void add_rows(const Problem& p, const std::vector<std::int64_t>& lengths,
                const std::vector<const target::Target*>& targets) {
    std::set<std::pair<const target::Target*, std::string>> met;
    for (const harness::Row& row : rows_of(p.op, lengths.size())) {
      Trial trial{with_options(p, row, lengths), {}};
      for (const target::Target* t : targets) {
        // Options that mean nothing together are one problem: f16 weights are rounded in one way only.
        const auto same = templates::normalise(trial.problem, *t);
        if (same && !met.insert({t, templates::canonical(*same)}).second) continue;
        trial.targets.push_back(t);
      }
      if (!trial.targets.empty()) add({{std::move(trial)}});
    }
  }

  std::vector<const target::Target*> admitting(const Problem& p,
                                               const std::vector<const target::Target*>& targets) {
    std::vector<const target::Target*> some;
    std::ranges::copy_if(targets, std::back_inserter(some),
                         [&p](const target::Target* t) { return is_legal(p, *t); });
    grid_.illegal += targets.size() - some.size();
    return some;
  }

  void add(Cell cell) {
    if (cell.trials.empty()) return;
    for (Trial& trial : cell.trials) {
      grid_.trials += trial.targets.size();
      // Of targets that share kernels another one comes first each time, and so compiles for all.
      std::ranges::rotate(
          trial.targets,
          trial.targets.begin() + static_cast<std::ptrdiff_t>(grid_.cells.size() % trial.targets.size()));
    }
    grid_.cells.push_back(std::move(cell));
  }

  Grid scattered() {
    std::vector<std::pair<std::uint64_t, std::size_t>> order;
    for (std::size_t i = 0; i < grid_.cells.size(); ++i) order.emplace_back(scatter(i), i);
    std::ranges::sort(order);
    std::vector<Cell> cells;
    for (const auto& [key, i] : order) cells.push_back(std::move(grid_.cells[i]));
    grid_.cells = std::move(cells);
    return std::move(grid_);
  }

  const Scope& scope_;
  Grid grid_;
};

}  // namespace

bool is_legal(const Problem& p, const target::Target& target) {
  if (p.op == Operation::kquant) {
    const bool small = p.weight_type == GgufType::q8_0 || p.weight_type == GgufType::q4_0;
    return p.k % (small ? 32 : 256) == 0;
  }
  const bool cdna = target.generation == target::Generation::gfx9;
  const std::int64_t group = p.group == -1 ? p.k : p.group;
  if (p.k % group != 0 || group % (is_int4(p.op) ? 64 : 32) != 0) return false;
  return !cdna || (p.k % 64 == 0 && (group == 32 || group % 64 == 0));
}

bool serves(const target::Target& target, Operation op) {
  Problem p = plain(op);
  p.n = p.k = 256;
  if (op == Operation::int4_grouped) p.groups = 2;
  return templates::normalise(p, target).has_value();
}

Grid make_grid(const Scope& scope) { return Maker(scope).make(); }

std::vector<const Cell*> shard(const Grid& grid, std::size_t index, std::size_t count) {
  std::vector<const Cell*> some;
  for (std::size_t i = index - 1; i < grid.cells.size(); i += count) some.push_back(&grid.cells[i]);
  return some;
}

}  // namespace wavejit::tools
