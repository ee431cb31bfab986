// SPDX-License-Identifier: MIT
#include "tools/wavejit/json.hpp"

#include <fmt/format.h>

#include <cmath>

namespace wavejit::tools {
namespace {

std::string_view access_name(ir::Access access) {
  switch (access) {
    case ir::Access::read:
      return "read";
    case ir::Access::write:
      return "write";
    case ir::Access::read_write:
      return "read_write";
  }
  return "";
}

/// JSON has no NaN or infinity: those become strings.
Json number(double value) {
  if (std::isfinite(value)) return value;
  return fmt::format("{}", value);
}

std::string_view zero_points_name(templates::ZeroPoints zero_points) {
  switch (zero_points) {
    case templates::ZeroPoints::symmetric:
      return "symmetric";
    case templates::ZeroPoints::packed:
      return "packed";
    case templates::ZeroPoints::additive:
      return "additive";
  }
  return "";
}

std::string_view layout_name(templates::WeightLayout layout) {
  switch (layout) {
    case templates::WeightLayout::exllama:
      return "exllama";
    case templates::WeightLayout::row_major_signed:
      return "row_major_signed";
  }
  return "";
}

Json mix_json(const model::Mix& m) {
  return {{"matrix", m.matrix},
          {"other_valu", m.other_valu()},
          {"dot", m.dot},
          {"transcendental", m.trans},
          {"compare_select", m.compare_select},
          {"dual", m.dual},
          {"salu", m.salu},
          {"smem", m.smem},
          {"lds_load", m.lds_load},
          {"lds_store", m.lds_store},
          {"vmem_load", m.vmem_load},
          {"vmem_store", m.vmem_store},
          {"barrier", m.barrier},
          {"wait", m.wait},
          {"branch", m.branch},
          {"hint", m.hint},
          {"total", m.total()}};
}

}  // namespace

Json to_json(const Error& error) {
  return {{"code", name(error.code)},
          {"message", error.message},
          {"field", error.field},
          {"given", error.given},
          {"allowed", error.allowed}};
}

Json to_json(const templates::Problem& p) {
  if (p.op == templates::Operation::kquant)
    return {{"op", templates::name(p.op)},
            {"act", templates::name(p.activation)},
            {"n", p.n},
            {"k", p.k},
            {"type", templates::name(p.weight_type)},
            {"canonical", templates::canonical(p)}};
  const bool w4a16 = p.op == templates::Operation::w4a16;  // scales have the activations' type
  return {{"op", templates::name(p.op)},
          {"act", templates::name(p.activation)},
          {"n", p.n},
          {"k", p.k},
          {"group", p.group},
          {"zero_points", zero_points_name(p.zero_points)},
          {"weight_layout", layout_name(p.layout)},
          {"scale_type", templates::name(w4a16 ? p.activation : p.scale_type)},
          {"batch", p.batch},
          {"groups", p.groups},
          {"bias", p.bias},
          {"rounding", p.rounding == templates::WeightRounding::nearest ? "nearest" : "fastest"},
          {"activation_stride", p.activation_stride},
          {"weight_stride", p.weight_stride},
          {"scale_stride", p.scale_stride},
          {"zero_point_stride", p.zero_point_stride},
          {"output_stride", p.output_stride},
          {"canonical", templates::canonical(p)}};
}

Json to_json(const templates::Config& c) {
  if (c.path == templates::Path::gemv)
    return {{"path", templates::name(c.path)},
            {"tokens", c.tokens},
            {"rows", c.rows},
            {"depth", c.pipeline_depth},
            {"waves_per_simd", c.waves_per_simd},
            {"canonical", templates::canonical(c)}};
  Json techniques;
  templates::Techniques copy = c.techniques;
  for (const std::string_view technique : templates::technique_names())
    techniques[std::string(technique)] = *templates::technique(copy, technique);
  return {{"path", templates::name(c.path)},
          {"tile", {c.bm, c.bn, c.bk}},
          {"waves", c.waves},
          {"waves_m", c.waves_m},
          {"waves_n", c.waves_n},
          {"depth", c.pipeline_depth},
          {"unroll", c.unroll},
          {"lds_buffers", c.lds_buffers},
          {"waves_per_simd", c.waves_per_simd},
          {"wgp_mode", c.wgp_mode},
          {"split_k", c.split_k},
          {"techniques", techniques},
          {"canonical", templates::canonical(c)}};
}

Json to_json(const std::vector<templates::Argument>& arguments) {
  Json list = Json::array();
  for (const templates::Argument& a : arguments) {
    const bool buffer = a.kind == ir::ArgKind::buffer;
    Json j = {{"name", a.name}, {"kind", buffer ? "buffer" : "scalar"}, {"offset", a.offset},
              {"size", a.size}, {"access", access_name(a.access)},      {"dtype", templates::name(a.dtype)}};
    if (buffer) {
      j["shape"] = a.shape;
      j["strides"] = a.strides;
      j["bytes"] = a.bytes;
      j["alignment"] = a.alignment;
    } else {
      j["value"] = a.value;
    }
    list.push_back(std::move(j));
  }
  return list;
}

Json to_json(const harness::Card& c) {
  Json j = {{"vgprs", c.vgprs},
            {"sgprs", c.sgprs},
            {"lds_bytes", c.lds_bytes},
            {"waves_per_simd", c.occupancy.waves_per_simd},
            {"waves_per_simd_by_vgprs", c.occupancy.waves_by_vgprs},
            {"workgroups_resident", c.occupancy.workgroups},
            {"instructions", c.instructions}};
  if (c.has_loop) {
    j["loop"] = {{"iterations_per_pass", c.iterations},
                 {"mix_per_pass", mix_json(c.body)},
                 {"bank_conflicts", {{"matrix", c.conflicts.matrix}, {"valu", c.conflicts.valu}}}};
    if (c.body.matrix > 0)
      j["loop"]["other_valu_per_matrix"] = static_cast<double>(c.body.other_valu()) / c.body.matrix;
  }
  return j;
}

Json to_json(const oracle::Verdict& v) {
  const oracle::Metrics& m = v.metrics;
  return {{"ok", v.ok},
          {"reason", v.reason},
          {"elements", m.elements},
          {"one_minus_cosine", number(m.one_minus_cosine)},
          {"nmse", number(m.nmse)},
          {"nmse_bar", number(v.bars.nmse)},
          {"worst_line_of_bar", number(m.worst_line_nmse)},
          {"gain", number(m.gain)},
          {"gain_bar", {number(v.bars.gain_low), number(v.bars.gain_high)}},
          {"max_error_of_rms", number(m.max_error_of_rms)},
          {"worst_error_of_bar", number(m.worst_error)},
          {"special_mismatches", m.special_mismatches},
          {"worst",
           {{"row", m.worst_row},
            {"column", m.worst_column},
            {"got", number(m.worst_got)},
            {"reference", number(m.worst_reference)}}}};
}

Json to_json(const sim::Fault& f) {
  Json j = {{"kind", sim::name(f.kind)}, {"instruction", f.instruction},
            {"index", f.index},          {"code_address", f.code_address},
            {"workgroup", f.workgroup},  {"wave", f.wave},
            {"lanes", f.lanes},          {"detail", f.detail},
            {"nearest", f.nearest},      {"count", f.count}};
  if (!f.source.empty()) j["source"] = f.source;
  if (f.address) j["address"] = *f.address;
  return j;
}

}  // namespace wavejit::tools
