// SPDX-License-Identifier: MIT
#include "tools/wavejit/calibrate_points.hpp"

#include <fmt/format.h>

#include <array>
#include <span>

#include "generator/model/measurements.hpp"
#include "tools/wavejit/calibrate_steps.hpp"
#include "tools/wavejit/loop_text.hpp"
#include "tools/wavejit/model_kernel.hpp"
#include "tools/wavejit/peer_objects.hpp"
#include "tools/wavejit/shapes.hpp"

namespace wavejit::tools {
namespace {

constexpr std::int64_t rows = 1322;               // M of the published tables (ROCm/vllm#1045)
constexpr std::int64_t whole_prompt_rows = 2858;  // of the whole-model measurement there

struct PublishedShape {
  std::string_view name;
  std::int64_t n, k;
  double hand_written, triton;
};
// shared/published.md: TFLOP/s on gfx1151.
constexpr std::array published_shapes{
    PublishedShape{"gate_up", 19456, 2560, 27.0, 22.1}, PublishedShape{"qkv", 6144, 2560, 26.8, 21.9},
    PublishedShape{"o_proj", 4096, 2560, 27.2, 22.5}, PublishedShape{"down", 2560, 9728, 27.4, 22.6}};
constexpr double down_previous_tile = 18.6;

constexpr std::string_view triton_one_stage = "A02_bf16_shuf_g32_128x64x32_s1";
constexpr std::string_view triton_two_stages = "A01_bf16_shuf_g32_128x64x32_s2";
constexpr std::string_view triton_wide = "A18_bf16_g32_down_128x512x32_w16_s2";

std::filesystem::path folder(const CalibrationOptions& options) {
  return options.shared / "peers" / "triton";
}

Result<model::Estimate> model_peer(const PeerObject& peer, std::int64_t m, std::int64_t n, std::int64_t k,
                                   const CalibrationOptions& options) {
  return model::estimate(peer.code, peer.facts, shape_of(peer, m, n, k), adjusted(*peer.target, options),
                         peer.notes, options.run);
}

/// Clocks from issue to issue, or per wave-iteration.
Result<double> model_loop(const model::MeasuredLoop& loop, const CalibrationOptions& options) {
  const target::Target target = adjusted(*target::find(loop.target), options);
  const std::string text = ".Lbody:\n" + std::string(loop.text);
  const auto code = instructions_of(text, target);
  if (!code) return std::unexpected(code.error());
  return model::modelled_clocks(loop, *code, target, options.run);
}

/// The hand-written kernel: the last of the step variants.
struct HandWritten {
  PeerObject triton;
  StepVariant variant;
  std::vector<model::AccessNote> notes;
};

/// Notes of the unedited loop by instruction, in the order of its accesses: the edits keep that order per
/// opcode.
std::vector<model::AccessNote> variant_notes(const PeerObject& peer, const StepVariant& v) {
  std::vector<model::AccessNote> notes;
  const auto note_like = [&](const isa::Instruction& inst) -> const model::AccessNote* {
    for (const model::AccessNote& n : peer.notes)
      if (peer.code[n.index].op == inst.op) return &n;
    return nullptr;
  };
  for (std::size_t i = 0; i < v.code.size(); ++i)
    if (v.code[i].pipe() == isa::Pipe::vmem || v.code[i].pipe() == isa::Pipe::lds)
      if (const model::AccessNote* n = note_like(v.code[i]))
        notes.push_back({i, n->conflict_clocks, n->bytes});
  return notes;
}

Result<model::Estimate> model_variant(const PeerObject& peer, const StepVariant& v, std::int64_t n,
                                      std::int64_t k, const CalibrationOptions& options) {
  const target::Target target = adjusted(*peer.target, options);
  model::KernelFacts facts = peer.facts;
  facts.vgprs = v.vgprs;
  const auto notes = variant_notes(peer, v);
  return model::estimate(model::prepare(v.code, v.stretches, notes, target), facts,
                         shape_of(peer, rows, n, k), target, options.run);
}

std::string about(const model::Estimate& e) {
  return fmt::format("{} workgroups, {:.0f} clocks, {}", e.occupancy.workgroups, e.cycles_per_iteration,
                     e.binds);
}

void add_order(Calibration& out, const Point& a, const Point& b) {
  // Rates: more is faster.
  const bool first = a.measured >= b.measured;
  const Point& faster = first ? a : b;
  const Point& slower = first ? b : a;
  out.orders.push_back({a.set, faster.name, slower.name, faster.measured / slower.measured,
                        faster.modelled / slower.modelled});
}

/// A type with its zero points, and Triton's code objects for it. Their sizes are arguments, so that any
/// shape may be asked; the group is what they were described with (bf16: 32, fp16: 128), for both sides.
struct Kind {
  std::string_view name;
  templates::DataType activation;
  templates::ZeroPoints zero_points;
  std::array<std::string_view, 2> peers;
};
constexpr std::array kinds{Kind{"bf16 sym",
                                templates::DataType::bf16,
                                templates::ZeroPoints::symmetric,
                                {triton_one_stage, triton_two_stages}},
                           Kind{"bf16 asym",
                                templates::DataType::bf16,
                                templates::ZeroPoints::packed,
                                {"A08_bf16_shuf_g32_asym_s2", "A09_bf16_shuf_g32_asym_s1"}},
                           Kind{"f16 sym",
                                templates::DataType::f16,
                                templates::ZeroPoints::symmetric,
                                {"B5_fp16_scalar_sym_128x64x32_s1", "B1_fp16_packed_sym_128x256x32_s1"}},
                           Kind{"f16 asym",
                                templates::DataType::f16,
                                templates::ZeroPoints::packed,
                                {"B5_fp16_scalar_asym_128x64x32_s1", "B1_fp16_packed_asym_128x256x32_s1"}}};

Result<Comparison> compare_kind(const Kind& kind, std::span<const PeerObject> peers, const NamedShape& s,
                                std::int64_t m, const CalibrationOptions& options) {
  const target::Target target = adjusted(*peers.front().target, options);
  templates::Problem problem;
  problem.activation = kind.activation;
  problem.zero_points = kind.zero_points;
  problem.n = s.n;
  problem.k = s.k;
  problem.group = peers.front().group;  // the same work as theirs
  const auto config = templates::select_config(problem, target, m);
  if (!config) return std::unexpected(config.error());
  auto ours = model_generated(problem, *config, target, m, options.run);
  if (!ours) return std::unexpected(ours.error());
  Comparison c{std::string(s.name),
               std::string(kind.name),
               {},
               m,
               templates::canonical(ours->kernel.config),
               std::move(ours->estimate),
               {}};
  for (const PeerObject& peer : peers) {
    auto theirs = model_peer(peer, m, s.n, s.k, options);
    if (!theirs) return std::unexpected(theirs.error());
    if (!c.peer.empty() && theirs->time_us >= c.theirs.time_us) continue;
    c.peer = peer.name.substr(0, 3);
    if (!c.peer.starts_with("A")) c.peer.resize(2);
    c.theirs = *std::move(theirs);
  }
  return c;
}

}  // namespace

target::Target adjusted(const target::Target& target, const CalibrationOptions& options) {
  target::Target t = target;
  if (options.adjust != nullptr) options.adjust(t.timing, options.adjust_with);
  return t;
}

Result<void> calibrate_loops(const CalibrationOptions& options, Calibration& out) {
  for (const model::MeasuredLoop& loop : model::measured_loops()) {
    const auto clocks = model_loop(loop, options);
    if (!clocks) return std::unexpected(clocks.error());
    out.points.push_back({"loops",
                          fmt::format("{} {}", loop.target, loop.name),
                          "clocks",
                          loop.clocks,
                          *clocks,
                          loop.fitted,
                          {}});
  }
  return {};
}

Result<void> calibrate_steps(const CalibrationOptions& options, Calibration& out) {
  const auto peer = read_peer(folder(options), std::string(triton_one_stage));
  if (!peer) return std::unexpected(peer.error());
  const auto variants = step_variants(peer->object.kernels[0], *peer->target);
  if (!variants) return std::unexpected(variants.error());
  std::vector<Point> steps;
  for (const StepVariant& v : *variants) {
    const auto e = model_variant(*peer, v, peer->n, peer->k, options);
    if (!e) return std::unexpected(e.error());
    // The half that the free numbers were fitted to (`calibrate --fit`); the shapes are the judged one.
    steps.push_back({"steps", "gate_up step " + v.name, "TFLOP/s", v.published_tflops, e->tflops, true,
                     fmt::format("{} VALU, {}", v.valu, about(*e))});
  }
  for (std::size_t i = 1; i < steps.size(); ++i) add_order(out, steps[i], steps[i - 1]);
  out.points.insert(out.points.end(), steps.begin(), steps.end());
  return {};
}

Result<void> calibrate_shapes(const CalibrationOptions& options, Calibration& out) {
  const auto one = read_peer(folder(options), std::string(triton_one_stage));
  const auto two = read_peer(folder(options), std::string(triton_two_stages));
  const auto wide = read_peer(folder(options), std::string(triton_wide));
  for (const auto* peer : {&one, &two, &wide})
    if (!*peer) return std::unexpected(peer->error());
  const auto variants = step_variants(one->object.kernels[0], *one->target);
  if (!variants) return std::unexpected(variants.error());
  for (const PublishedShape& s : published_shapes) {
    const auto hand = model_variant(*one, variants->back(), s.n, s.k, options);
    const auto triton = model_peer(*two, rows, s.n, s.k, options);
    if (!hand) return std::unexpected(hand.error());
    if (!triton) return std::unexpected(triton.error());
    const Point h{
        "shapes",    fmt::format("{} hand-written", s.name), "TFLOP/s", s.hand_written, hand->tflops, false,
        about(*hand)};
    const Point t{"shapes",      fmt::format("{} Triton", s.name), "TFLOP/s", s.triton, triton->tflops, false,
                  about(*triton)};
    add_order(out, h, t);
    out.points.push_back(h);
    out.points.push_back(t);
    if (s.name != "down") continue;
    const auto e = model_peer(*wide, rows, s.n, s.k, options);
    if (!e) return std::unexpected(e.error());
    const Point w{"shapes", "down Triton 128x512x32", "TFLOP/s", down_previous_tile, e->tflops, false,
                  about(*e)};
    add_order(out, t, w);
    out.points.push_back(w);
  }
  return {};
}

Result<std::vector<Comparison>> compare_own(const CalibrationOptions& options) {
  std::vector<Comparison> result;
  for (const Kind& kind : kinds) {
    std::vector<PeerObject> peers;
    for (const std::string_view name : kind.peers) {
      auto peer = read_peer(folder(options), std::string(name));
      if (!peer) return std::unexpected(peer.error());
      peers.push_back(*std::move(peer));
    }
    for (const NamedShape& s : named_shapes())
      for (const std::int64_t m : {rows, whole_prompt_rows}) {
        auto c = compare_kind(kind, peers, s, m, options);
        if (!c) return std::unexpected(c.error());
        result.push_back(*std::move(c));
      }
  }
  return result;
}

Result<void> calibrate_cdna(const CalibrationOptions& options, Calibration& out) {
  // shared/published.md (MSLK#420): the rows whose kernels there are; the tile used is not published, so the
  // faster of the two counts, as a tuner would choose. `after` figures; whole calls.
  struct Row {
    std::int64_t m, n, k;
    double tflops;
  };
  constexpr std::array rows_of{Row{2048, 8192, 3584, 591.2}, Row{2048, 7168, 8192, 619.9},
                               Row{4096, 7168, 8192, 609.9}};
  const auto a = read_peer(folder(options), "C4a_rowwise_gfx950_128x128x64_s2");
  const auto b = read_peer(folder(options), "C4b_rowwise_gfx950_256x128x64_s2");
  for (const auto* peer : {&a, &b})
    if (!*peer) return std::unexpected(peer->error());
  for (const Row& r : rows_of) {
    const auto small = model_peer(*a, r.m, r.n, r.k, options);
    const auto large = model_peer(*b, r.m, r.n, r.k, options);
    if (!small) return std::unexpected(small.error());
    if (!large) return std::unexpected(large.error());
    const bool first = small->tflops > large->tflops;
    const model::Estimate& best = first ? *small : *large;
    out.points.push_back({"MI350X", fmt::format("{}x{}x{}", r.m, r.n, r.k), "TFLOP/s", r.tflops, best.tflops,
                          &r == rows_of.data(),
                          fmt::format("{} ({:.0f} / {:.0f})", about(best), small->tflops, large->tflops)});
  }
  return {};
}

}  // namespace wavejit::tools
