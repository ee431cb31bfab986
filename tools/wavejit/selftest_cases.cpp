// SPDX-License-Identifier: MIT
#include "tools/wavejit/selftest_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "templates/fields.hpp"

namespace wavejit::tools {
namespace {

using templates::DataType;
using templates::GgufType;
using templates::Operation;
using templates::Path;
using templates::Problem;
using templates::ZeroPoints;

constexpr std::array half_types{DataType::bf16, DataType::f16};
constexpr std::array float_types{DataType::bf16, DataType::f16, DataType::f32};
constexpr std::array gguf_types{GgufType::q4_k, GgufType::q5_k, GgufType::q6_k, GgufType::q8_0,
                                GgufType::q4_0};
constexpr std::array paths{Path::tile, Path::gemv, Path::skinny, Path::mfma, Path::decode};

struct Size {
  std::int64_t n, k, group;
};
/// Layers of models, for a GPU.
constexpr std::array<Size, 3> layers{{{2560, 2560, 32}, {19456, 2560, 32}, {2560, 9728, 128}}};
/// Where each kind of kernel is looked for, the smallest first.
constexpr std::array<Size, 5> probes{
    {{200, 256, 64}, {200, 1024, 128}, {200, 4096, 128}, {1024, 4096, 128}, {2560, 9728, 128}}};
constexpr std::array<std::int64_t, 10> probe_rows{1, 2, 5, 8, 16, 17, 40, 70, 130, 512};

Problem sized(Problem p, const Size& s) {
  p.n = s.n;
  p.k = s.k;
  if (p.op != Operation::kquant) p.group = s.group;
  return p;
}

Problem plain(Operation op) {
  Problem p = templates::blank(op);
  if (op == Operation::int4_grouped) p.groups = 3;
  return sized(p, probes[0]);
}

/// A group of no rows, one of few, and what is left.
SelftestCase with_rows(const Problem& p, std::int64_t m) {
  SelftestCase c{p, m};
  if (p.op == Operation::int4_grouped) c.group_rows = {m / 4, 0, m - m / 4};
  return c;
}

class Maker {
 public:
  Maker(const target::Target& target, bool gpu) : target_(target), gpu_(gpu) {}

  SelftestPlan make() {
    for (std::size_t i = 0; i < templates::operations; ++i) {
      const auto op = static_cast<Operation>(i);
      if (const auto served = templates::normalise(plain(op), target_); !served) {
        plan_.not_run.push_back({std::string(templates::name(op)), served.error().message});
        continue;
      }
      op == Operation::kquant ? kquant_forms() : op == Operation::w4a16 ? w4a16_forms() : int4_forms(op);
      every_kind(op);
    }
    if (!gpu_) plan_.not_run.push_back({"shapes of real layers", "they take the simulator too long"});
    return std::move(plan_);
  }

 private:
  /// Each with a shape that tails both ways.
  void w4a16_forms() {
    for (const DataType type : half_types)
      for (const ZeroPoints zeros : {ZeroPoints::symmetric, ZeroPoints::packed})
        for (const bool bias : {false, true}) {
          Problem p = plain(Operation::w4a16);
          p.activation = type;
          p.zero_points = zeros;
          p.bias = bias;
          p.group = 32;
          for (const std::int64_t m : {1, 17, 70, 130}) add(p, m);
          if (!bias) add_layers(p, {16, 128, 1322});
        }
  }

  void int4_forms(Operation op) {
    std::size_t turn = 0;
    for (const DataType type : half_types)
      for (const ZeroPoints zeros : {ZeroPoints::symmetric, ZeroPoints::additive})
        for (const DataType scales : float_types) {
          Problem p = plain(op);
          p.activation = type;
          p.zero_points = zeros;
          p.scale_type = scales;
          if (op == Operation::int4_gemm && ++turn % 2 == 0) p.batch = 3;
          for (const std::int64_t m : {1, 40}) add(p, m);
          if (scales == DataType::bf16) add_layers(p, {16, 128, 1322});
        }
  }

  /// 9 rows are two launches.
  void kquant_forms() {
    for (const GgufType weights : gguf_types) {
      Problem p = plain(Operation::kquant);
      p.weight_type = weights;
      p.n = 67;
      // Blocks of 32 need not fill 256.
      p.k = weights == GgufType::q8_0 || weights == GgufType::q4_0 ? 1824 : 1792;
      for (const DataType type : float_types) {
        p.activation = type;
        for (const std::int64_t m : {1, 2, 9})
          if (m != 2 || type == DataType::bf16) add(p, m);
      }
      if (!gpu_) continue;
      p.n = 5120;
      p.k = 17408;
      for (const std::int64_t m : {1, 8}) add(p, m);
    }
  }

  void add_layers(const Problem& p, std::initializer_list<std::int64_t> rows) {
    if (!gpu_) return;
    for (Size s : layers) {
      s.group = std::max(s.group, p.group);  // the int4 products' groups are of 64 at least
      for (const std::int64_t m : rows) add(sized(p, s), m);
    }
  }

  void add(const Problem& p, std::int64_t m) {
    const auto normal = templates::normalise(p, target_);
    if (normal) {
      plan_.cases.push_back(with_rows(p, m));
    } else {
      plan_.not_run.push_back({templates::canonical(p), normal.error().message});
    }
  }

  /// The smallest problem for each kind that selection chooses and the forms do not run, if any does.
  void every_kind(Operation op) {
    std::set<std::string> met;
    std::set<Path> chosen;
    const auto see = [&](const Problem& p, std::int64_t m) {
      bool fresh = false;
      const auto normal = templates::normalise(p, target_);
      const auto config = templates::select_config(p, target_, m);
      if (!normal || !config) return false;
      chosen.insert(config->path);
      for (std::string& kind : kinds_of(*normal, *config))
        fresh = met.insert(std::move(kind)).second || fresh;
      return fresh;
    };
    for (const SelftestCase& c : plan_.cases)
      if (c.problem.op == op) see(c.problem, c.m);
    if (op != Operation::kquant)
      for (const Size& size : probes)
        for (const std::int64_t batch : {1, 3})
          for (const std::int64_t m : probe_rows) {
            Problem p = sized(plain(op), size);
            if (batch != 1 && op != Operation::int4_gemm) continue;
            p.batch = batch;
            if (see(p, m)) add(p, m);
          }
    for (const Path path : paths)
      if (!chosen.contains(path))
        plan_.not_run.push_back(
            {fmt::format("{} {}", templates::name(op), templates::name(path)),
             fmt::format("selection chooses no such kernel on {}, for any probed problem", target_.name)});
  }

  const target::Target& target_;
  bool gpu_;
  SelftestPlan plan_;
};

}  // namespace

std::vector<std::string> kinds_of(const Problem& p, const templates::Config& c) {
  std::string kind = fmt::format("{} {}", templates::name(p.op), templates::name(c.path));
  if (p.op == Operation::kquant)
    return {fmt::format("{} {}", kind, templates::name(p.weight_type)),
            fmt::format("kquant quantise {}", templates::name(p.activation))};
  if (c.split_k > 1) kind += " split-k";
  if (p.batch > 1) kind += " batched";
  return {kind};
}

SelftestPlan selftest_plan(const target::Target& target, bool gpu) { return Maker(target, gpu).make(); }

}  // namespace wavejit::tools
