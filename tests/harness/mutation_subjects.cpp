// SPDX-License-Identifier: MIT
// The kernels that are broken: of any problem, and a list that has every kind of kernel.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "generator/lower/lower.hpp"
#include "templates/fields.hpp"
#include "tests/harness/kquant.hpp"
#include "tests/harness/kquant_quantise.hpp"
#include "tests/harness/mutation.hpp"

namespace wavejit::harness {
namespace {

using templates::DataType;
using templates::GgufType;
using templates::Operation;
using templates::Path;
using templates::ZeroPoints;

using Judged = std::pair<Judgement, std::string>;

/// A mutant may loop: no wave of the small correct kernels comes near this.
constexpr std::uint64_t watchdog = 50'000;

/// `faults` and `reason` as the harnesses say them: what no kernel may do, and all that is wrong.
Judged judged(bool faulty, std::string reason) {
  const Judgement outcome = faulty ? Judgement::faulty : reason.empty() ? Judgement::right : Judgement::wrong;
  return {outcome, std::move(reason)};
}

std::string_view kind_of(const templates::Problem& p, const templates::Config& c, unsigned stage) {
  if (p.op == Operation::kquant) return stage == 0 ? "quantiser" : "K-quant";
  if (stage > 0) return "reduce";
  if (p.op == Operation::int4_grouped) return c.path == Path::decode ? "grouped decode" : "grouped mfma";
  if (p.batch > 1) return c.path == Path::decode ? "batched decode" : "batched mfma";
  return name(c.path);
}

Judged run_kquant(const Request& r, const templates::Problem& p, const templates::Config& c, unsigned stage,
                  std::span<const std::uint8_t> code_object) {
  const std::vector<std::uint8_t> code(code_object.begin(), code_object.end());
  sim::Options options = r.sim;
  options.max_instructions_per_wave = watchdog;
  if (stage == 0) {
    // Blocks of all magnitudes, with the largest element anywhere and both signs.
    const auto input = [&p](std::int64_t m, std::int64_t k) {
      const auto hash = static_cast<std::uint32_t>((m * 8191 + k) * 2654435761LL >> 8);
      const double value = (static_cast<double>(hash % 2001) - 1000) / 1000;
      // The last block's are too small for a quantised one.
      const bool last = p.k - k <= 32 && p.activation != DataType::f16;
      return std::ldexp(value, last ? -101 : static_cast<int>((k / 32 + m) % 7) * 9 - 27);
    };
    const auto report = kquant::quantise({.problem = {.input = p.activation, .k = p.k, .m = r.m},
                                          .target = r.target,
                                          .input = input,
                                          .code_object = code,
                                          .sim = options});
    if (!report) return judged(true, report.error().message);
    return judged(report->run.distinct_faults != 0, report->reason());
  }
  const auto report = kquant::run(
      {.problem = {.type = p.weight_type, .n = p.n, .k = p.k, .m = static_cast<unsigned>(r.m)},
       .config = {.rows = c.rows, .pipeline_depth = c.pipeline_depth, .waves_per_simd = c.waves_per_simd},
       .target = r.target,
       .seed = r.seed,
       .code_object = code,
       .sim = options});
  if (!report) return judged(true, report.error().message);
  return judged(report->run.distinct_faults != 0, report->reason());
}

/// Ordinary values; some that are not finite; and, for kernels that look at their sums and compute those that
/// are not finite again, activations so large that a fast way's intermediate sums overflow.
std::vector<oracle::Values> inputs_of(const templates::Problem& p, const templates::Config& c,
                                      std::int64_t m) {
  const oracle::Values ordinary = oracle::random_values(1);
  oracle::Values special = ordinary;
  special.activations = [ordinary, m](std::int64_t row, std::span<double> out) {
    ordinary.activations(row, out);
    if (row == m / 2) out[out.size() / 3] = std::numeric_limits<double>::infinity();
    if (row == m / 4 && row != m / 2) out[out.size() / 2] = std::numeric_limits<double>::quiet_NaN();
  };
  std::vector<oracle::Values> list{ordinary, special};
  const bool looks = c.path == Path::skinny || c.path == Path::decode;
  if (!looks || p.activation != DataType::bf16) return list;
  oracle::Values huge = ordinary;
  huge.activations = [ordinary](std::int64_t row, std::span<double> out) {
    ordinary.activations(row, out);
    for (double& x : out) x = std::ldexp(x, 121);
  };
  list.push_back(huge);
  return list;
}

Judged run_one(const Request& r, unsigned stage, std::span<const std::uint8_t> code_object) {
  const auto report = run_object(code_object, r, {}, stage);
  if (!report) return judged(true, report.error().message);
  bool faulty = report->run.distinct_faults != 0;
  for (const StageReport& later : report->later) faulty = faulty || later.run.distinct_faults != 0;
  return judged(faulty, report->reason());
}

/// A few workgroups of many: what they compute of their number, by division, is easy for small ones.
Request far_away(Request r) {
  constexpr std::int64_t times = 61;
  r.m *= times;
  for (std::int64_t& rows : r.group_rows) rows *= times;
  r.sample = 6;
  return r;
}

Judged run_common(Request r, const templates::Config& c, unsigned stage,
                  std::span<const std::uint8_t> code_object) {
  // As it was generated: the mutants run as the very Config that passed.
  r.config = c;
  r.sim.max_instructions_per_wave = watchdog;
  for (const oracle::Values& values : inputs_of(r.problem, c, r.m)) {
    r.values = values;
    if (Judged j = run_one(r, stage, code_object); j.first != Judgement::right) return j;
  }
  r.values = oracle::random_values(2);
  const bool reads_its_place = (c.path == Path::mfma || c.path == Path::decode) && c.split_k == 1;
  return reads_its_place ? run_one(far_away(r), stage, code_object) : judged(false, {});
}

Request small(Operation op, std::string target, std::int64_t n, std::int64_t k, std::int64_t m) {
  Request r;
  r.problem = templates::blank(op);
  r.problem.n = n;
  r.problem.k = k;
  r.m = m;
  r.target = std::move(target);
  return r;
}

/// Tiles of W4A16 with tails in M and N, so that a tail tile's every guarantee matters; one and two LDS
/// buffers, each pipeline depth, each way of dequantising, guards in place of descriptors.
void add_tiles(std::vector<Request>& list) {
  const auto add = [&](const std::string& target, auto&& change) {
    Request r = small(Operation::w4a16, target, 72, 128, 130);
    r.problem.group = 32;
    templates::Config c;
    change(r, c);
    r.config = c;
    list.push_back(std::move(r));
  };
  const auto nothing = [](Request&, templates::Config&) {};
  add("gfx1151", nothing);
  add("gfx1201", nothing);
  add("gfx1151", [](Request&, templates::Config& c) { c.lds_buffers = 1; });
  add("gfx1151", [](Request&, templates::Config& c) { c.pipeline_depth = 0; });
  add("gfx1201", [](Request& r, templates::Config& c) {
    c.pipeline_depth = 2;
    r.problem.k = 192;
  });
  add("gfx1151", [](Request& r, templates::Config& c) {
    c.bm = 192;
    c.lds_buffers = 1;
    r.m = 200;
  });
  add("gfx1151", [](Request&, templates::Config& c) { c.techniques.magic_dequant = false; });
  add("gfx1151",
      [](Request& r, templates::Config&) { r.problem.rounding = templates::WeightRounding::nearest; });
  add("gfx1151", [](Request&, templates::Config& c) { c.techniques.exact_descriptors = false; });
  add("gfx1151", [](Request& r, templates::Config&) { r.problem.zero_points = ZeroPoints::packed; });
  for (const bool packed : {false, true})
    add(packed ? "gfx1201" : "gfx1151", [packed](Request& r, templates::Config& c) {
      r.problem.activation = DataType::f16;
      r.problem.bias = true;
      if (!packed) return;
      r.problem.zero_points = ZeroPoints::packed;
      r.problem.n = 77;
      c.lds_buffers = 1;
    });
  add("gfx1151", [](Request& r, templates::Config& c) {
    r.problem.activation = DataType::f16;
    r.problem.zero_points = ZeroPoints::packed;
    c.techniques.magic_dequant = false;
  });
  add("gfx1151", [](Request& r, templates::Config& c) {
    r.problem.group = 64;
    c.bm = 64;
    c.bk = 64;
    c.waves = 4;
    r.problem.n = 97;
  });
}

void add_skinny(std::vector<Request>& list) {
  struct Form {
    const char* target;
    std::int64_t m, k;
    const char* config;
    DataType activation;
    ZeroPoints zero_points;
  };
  // More rows than a tile has, and the last tile not full.
  for (const Form& f :
       {Form{"gfx1151", 3, 3104, "skinny 2x2 waves 1 depth 1 unroll 1 occupancy 0 techniques 11111",
             DataType::bf16, ZeroPoints::symmetric},
        Form{"gfx1151", 3, 416, "skinny 2x2 waves 1 depth 1 unroll 1 occupancy 0 techniques 11111",
             DataType::f16, ZeroPoints::packed},
        Form{"gfx1201", 3, 4384, "skinny 2x4 waves 2 depth 1 unroll 1 occupancy 0 techniques 11111",
             DataType::bf16, ZeroPoints::packed},
        Form{"gfx1201", 7, 544, "skinny 4x2 waves 1 depth 0 unroll 1 occupancy 0 techniques 11111",
             DataType::f16, ZeroPoints::symmetric}}) {
    Request r = small(Operation::w4a16, f.target, 19, f.k, f.m);
    r.problem.group = 32;
    r.problem.activation = f.activation;
    r.problem.zero_points = f.zero_points;
    r.problem.bias = f.k == 416;
    r.config = *templates::parse_config(f.config);
    list.push_back(std::move(r));
  }
}

void add_kquant(std::vector<Request>& list) {
  struct Form {
    const char* target;
    GgufType type;
    std::int64_t n, k, m;
    DataType activation;
  };
  for (const Form& f : {Form{"gfx1151", GgufType::q4_k, 5, 1792, 2, DataType::bf16},
                        Form{"gfx1151", GgufType::q5_k, 3, 1280, 1, DataType::f32},
                        Form{"gfx1201", GgufType::q6_k, 3, 1792, 1, DataType::f16},
                        Form{"gfx1201", GgufType::q8_0, 3, 1312, 3, DataType::bf16},
                        Form{"gfx942", GgufType::q4_0, 5, 1056, 2, DataType::f32}}) {
    Request r = small(Operation::kquant, f.target, f.n, f.k, f.m);
    r.problem.weight_type = f.type;
    r.problem.activation = f.activation;
    list.push_back(std::move(r));
  }
}

void add_cdna(std::vector<Request>& list) {
  const auto add = [&](Operation op, const char* target, std::int64_t n, std::int64_t k, std::int64_t m,
                       auto&& change) {
    Request r = small(op, target, n, k, m);
    r.problem.group = op == Operation::w4a16 ? 32 : 128;
    change(r);
    list.push_back(std::move(r));
  };
  const auto config = [](const char* text) { return *templates::parse_config(text); };
  const auto nothing = [](Request&) {};
  // More tiles than XCDs, and no multiple of them; the last of each row and column not full.
  constexpr const char* tile =
      "mfma 32x64x128 waves 1x2 depth 1 unroll 1 lds 1 occupancy 4 split 1 techniques 11111";
  constexpr const char* slices =
      "mfma 32x64x128 waves 1x2 depth 1 unroll 1 lds 1 occupancy 4 split 2 techniques 11111";
  constexpr const char* dma =
      "mfma 32x64x128 waves 1x2 depth 1 unroll 1 lds 2 occupancy 4 split 1 techniques 11111 lds-dma";
  add(Operation::w4a16, "gfx942", 200, 256, 100, nothing);
  add(Operation::w4a16, "gfx950", 205, 256, 100, [](Request& r) {
    r.problem.activation = DataType::f16;
    r.problem.zero_points = ZeroPoints::packed;
    r.problem.bias = true;
  });
  add(Operation::int4_gemm, "gfx942", 200, 384, 70, [&](Request& r) { r.config = config(tile); });
  add(Operation::int4_gemm, "gfx950", 200, 384, 70, [&](Request& r) {
    r.problem.zero_points = ZeroPoints::additive;
    r.config = config(dma);
  });
  add(Operation::int4_gemm, "gfx942", 200, 256, 70, [&](Request& r) {
    r.problem.batch = 2;
    r.config = config(tile);
  });
  add(Operation::int4_gemm, "gfx942", 300, 512, 40, [&](Request& r) { r.config = config(slices); });
  add(Operation::int4_grouped, "gfx942", 200, 256, 150, [&](Request& r) {
    r.problem.groups = 3;
    r.group_rows = {40, 0, 110};
    r.config = config(tile);
  });
  add(Operation::int4_gemm, "gfx942", 200, 1536, 20, nothing);
  add(Operation::int4_gemm, "gfx950", 200, 2048, 20,
      [](Request& r) { r.problem.zero_points = ZeroPoints::additive; });
  add(Operation::int4_gemm, "gfx942", 200, 1024, 33, [](Request& r) { r.problem.batch = 2; });
  add(Operation::int4_grouped, "gfx950", 200, 1024, 50, [](Request& r) {
    r.problem.groups = 3;
    r.group_rows = {20, 0, 30};
  });
}

}  // namespace

Result<std::vector<Subject>> subjects(const Request& request) {
  const target::Target* target = target::find(request.target);
  if (target == nullptr)
    return fail_field(ErrorCode::unknown_target, "target", request.target, "a known target");
  const auto problem = templates::normalise(request.problem, *target);
  if (!problem) return std::unexpected(problem.error());
  const auto chosen = request.config ? Result<templates::Config>(*request.config)
                                     : templates::select_config(*problem, *target, request.m);
  if (!chosen) return std::unexpected(chosen.error());
  std::vector<Subject> list;
  for (unsigned stage = 0; stage < templates::stages(*problem, *chosen); ++stage) {
    auto kernel = templates::generate(*problem, *chosen, *target, {.stage = stage});
    if (!kernel) return std::unexpected(kernel.error());
    Subject s;
    s.kind = fmt::format("{} {}", kind_of(kernel->problem, kernel->config, stage), target->name);
    s.config = fmt::format("{}, {}, m {}, kernel {}", templates::canonical(kernel->problem),
                           templates::canonical(kernel->config), request.m, stage);
    s.assembly = std::move(kernel->assembly);
    s.target = target;
    s.problem = kernel->problem;
    s.exact_descriptors = kernel->config.techniques.exact_descriptors;
    s.run = [request, problem = kernel->problem, config = kernel->config,
             stage](std::span<const std::uint8_t> code_object) {
      return problem.op == Operation::kquant ? run_kquant(request, problem, config, stage, code_object)
                                             : run_common(request, config, stage, code_object);
    };
    list.push_back(std::move(s));
  }
  return list;
}

std::vector<Request> standard_problems() {
  std::vector<Request> list;
  add_tiles(list);
  add_skinny(list);
  add_kquant(list);
  add_cdna(list);
  return list;
}

}  // namespace wavejit::harness
