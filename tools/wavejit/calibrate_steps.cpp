// SPDX-License-Identifier: MIT
#include "tools/wavejit/calibrate_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "generator/model/loops.hpp"
#include "generator/model/mix.hpp"
#include "tools/wavejit/loop_text.hpp"

namespace wavejit::tools {
namespace {

using Lines = std::vector<std::string>;
using Position = std::ptrdiff_t;

bool begins(const std::string& line, std::string_view with) { return line.starts_with(with); }

/// Edits of a loop's text. A line that is looked for and missing makes the whole edit fail.
class Edit {
 public:
  explicit Edit(Lines lines) : lines_(std::move(lines)) {}

  /// First line at or behind `from` that begins with `with`.
  Position find(std::string_view with, Position from = 0) {
    const auto at = std::find_if(lines_.begin() + from, lines_.end(),
                                 [&](const std::string& line) { return begins(line, with); });
    if (at == lines_.end()) {
      missing_ = with;
      return 0;
    }
    return at - lines_.begin();
  }
  /// Takes the lines from `from` up to `to` out.
  Lines take(Position from, Position to) {
    Lines taken(lines_.begin() + from, lines_.begin() + to);
    lines_.erase(lines_.begin() + from, lines_.begin() + to);
    return taken;
  }
  void put(Position before, const Lines& more) {
    lines_.insert(lines_.begin() + before, more.begin(), more.end());
  }
  void drop(const std::function<bool(const std::string&)>& which) { std::erase_if(lines_, which); }
  void replace_all(std::string_view from, std::string_view to) {
    for (std::string& line : lines_)
      for (std::size_t at = line.find(from); at != std::string::npos; at = line.find(from, at + to.size()))
        line.replace(at, from.size(), to);
  }
  [[nodiscard]] const Lines& lines() const { return lines_; }
  Lines& lines() { return lines_; }
  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  Lines lines_;
  std::string missing_;
};

/// Step 1: word v59 and scale v83 to the bf16 pairs v[83:86] by and-or into a float's mantissa and a
/// dot product, 20 VALU in place of 61 (the guard of the scale stays).
void magic_dequantisation(Edit& e) {
  const Position first = e.find("v_lshrrev_b32_e32 v60, 28, v59");
  const Position last = e.find("v_perm_b32 v83, 0, v83", first) + 1;
  const Lines old = e.take(first, last);
  Lines unpack;
  for (const std::string& line : old)
    if (begins(line, "v_cndmask_b32")) unpack.push_back(line);
  unpack.insert(unpack.end(), {"v_lshrrev_b32_e32 v60, 4, v59", "v_lshrrev_b32_e32 v61, 8, v59",
                               "v_lshrrev_b32_e32 v62, 12, v59", "v_lshl_or_b32 v63, v83, 16, v83"});
  for (int word = 0; word < 4; ++word) {
    const int source = word == 0 ? 59 : 59 + word;
    unpack.push_back(fmt::format("v_and_or_b32 v{}, v{}, 15, s40", 84 + 2 * word, source));
    unpack.push_back(fmt::format("v_and_or_b32 v{}, v{}, s41, s42", 85 + 2 * word, source));
  }
  unpack.emplace_back("v_mov_b32_e32 v92, v63");  // out of the fragments' way
  unpack.pop_back();
  for (std::string& line : unpack)
    if (begins(line, "v_lshl_or_b32 v63")) line = "v_lshl_or_b32 v92, v83, 16, v83";
  e.put(first, unpack);
  const Position multiply = e.find("v_dot2_bf16_bf16");
  const Position wait = e.find("s_waitcnt lgkmcnt(0)", multiply);
  e.take(multiply, wait);
  Lines scaled;
  for (int i = 0; i < 4; ++i) {
    scaled.push_back(fmt::format("v_dot2_bf16_bf16 v{}, v{}, v92, 0", 83 + i, 84 + 2 * i));
    scaled.push_back(fmt::format("v_dot2_bf16_bf16 v{}, v{}, v92, 0 op_sel:[0,0,0,1]", 83 + i, 85 + 2 * i));
  }
  // v84..v86 are sources of later ones: results go to registers of their own first.
  for (std::string& line : scaled)
    for (int i = 3; i >= 0; --i) {
      const std::string from = fmt::format("v_dot2_bf16_bf16 v{},", 83 + i);
      if (begins(line, from)) line.replace(0, from.size(), fmt::format("v_dot2_bf16_bf16 v{},", 93 + i));
    }
  e.put(multiply, scaled);
  const Position perm = e.find("v_perm_b32 v83, v83, v91");
  e.take(perm, perm + 1);
  e.lines()[static_cast<std::size_t>(e.find("ds_store_b128 v42, v[83:86]"))] = "ds_store_b128 v42, v[93:96]";
}

/// Step 2: the loads of the next iteration, with their addresses, behind the dequantisation's unpacking;
/// they land in registers of their own.
void pipelined_loads(Edit& e) {
  const Position top = e.find("s_waitcnt vmcnt(0)");
  Lines loads = e.take(0, top);
  for (std::string& line : loads) {
    const auto rename = [&](std::string_view from, std::string_view to) {
      if (line.find(std::string("load")) != std::string::npos && line.find(from) != std::string::npos &&
          line.find(from) < line.find(','))
        line.replace(line.find(from), from.size(), to);
    };
    rename("v[51:54]", "v[116:119]");
    rename("v[55:58]", "v[120:123]");
    rename("v59", "v124");
    rename("v83", "v125");
    // The compare that ends the loop has to survive the arithmetic behind it.
  }
  Lines compare;
  std::erase_if(loads, [&](const std::string& line) {
    const bool counter = begins(line, "s_cmp_lg_u32") || begins(line, "s_add_i32 s28");
    if (counter) compare.push_back(line);
    return counter;
  });
  const auto retarget = [&](std::string_view line, std::string_view with) {
    e.lines()[static_cast<std::size_t>(e.find(line))] = with;
  };
  retarget("ds_store_b128 v42, v[51:54]", "ds_store_b128 v42, v[116:119]");
  retarget("ds_store_b128 v42, v[55:58]", "ds_store_b128 v42, v[120:123] offset:4096");
  const Position unpack = e.find("ds_store_b128 v42, v[120:123]") + 1;
  const Position barrier = e.find("s_waitcnt lgkmcnt(0)", unpack);
  for (Position at = unpack; at < barrier; ++at) {
    std::string& line = e.lines()[static_cast<std::size_t>(at)];
    for (const auto& [from, to] : {std::pair{"v59", "v124"}, std::pair{"v83", "v125"}})
      for (std::size_t p = line.find(from); p != std::string::npos; p = line.find(from, p + 4))
        line.replace(p, 3, to);
  }
  loads.insert(loads.end(), compare.begin(), compare.end());
  e.put(e.find("s_waitcnt lgkmcnt(5)", unpack), loads);
}

/// Step 3: no compare, no select, no scalar mask arithmetic; loads use the running addresses.
void no_guards(Edit& e) {
  e.drop([](const std::string& l) {
    return begins(l, "v_cmp") || begins(l, "v_cndmask") || begins(l, "s_and_b32") ||
           begins(l, "v_add_nc_u32_e32 v51,") || begins(l, "v_add_nc_u32_e32 v36,");
  });
  for (const auto& [from, to] :
       {std::pair{", v51, s[16:19]", ", v39, s[16:19]"}, std::pair{", v52, s[12:15]", ", v40, s[12:15]"},
        std::pair{", v55, s[12:15]", ", v41, s[12:15]"}})
    e.replace_all(from, to);
}

/// Step 5: running addresses in scalar offsets.
void scalar_offsets(Edit& e) {
  const auto erase = [&](std::string_view line) {
    e.drop([&](const std::string& l) { return begins(l, line); });
  };
  erase("v_add_nc_u32_e32 v39,");
  erase("v_add_nc_u32_e32 v40,");
  erase("v_add_nc_u32_e32 v41,");
  erase("v_add_lshl_u32 v56,");
  e.replace_all("s[16:19], 0 offen", "s[16:19], s43 offen");
  e.replace_all("s[12:15], 0 offen", "s[12:15], s44 offen");
  e.replace_all("s[8:11], 0 offen", "s[8:11], s45 offen");
  e.put(0, {"s_add_u32 s43, s43, 16", "s_add_u32 s44, s44, 64"});
}

Result<StepVariant> assembled(const Edit& edit, const lower::DecodedKernel& a02, const model::Loop& loop,
                              const target::Target& target) {
  if (!edit.missing().empty())
    return fail(ErrorCode::invalid_code_object,
                "the loop has no line '" + edit.missing() + "': it is not that of A02");
  std::string text = ".Lbody:\n";
  for (const std::string& line : edit.lines())
    text += (begins(line, "s_cbranch") ? "s_cbranch_scc1 .Lbody" : line) + "\n";
  auto body = instructions_of(text, target);
  if (!body) return std::unexpected(body.error());
  body->pop_back();
  std::vector<isa::Instruction> whole;
  for (const lower::DecodedInstruction& i : a02.instructions) whole.push_back(i.inst);
  const model::Stretches old = model::split(whole, loop.own);
  StepVariant v;
  const auto append = [&](std::vector<std::size_t>& stretch, const isa::Instruction& inst) {
    stretch.push_back(v.code.size());
    v.code.push_back(inst);
  };
  for (const std::size_t i : old.prologue) append(v.stretches.prologue, whole[i]);
  for (const isa::Instruction& i : *body) append(v.stretches.body, i);
  for (const std::size_t i : old.epilogue) append(v.stretches.epilogue, whole[i]);
  v.valu = model::mix(*body).other_valu();
  v.body_size = static_cast<unsigned>(body->size());
  return v;
}

}  // namespace

Result<std::vector<StepVariant>> step_variants(const lower::DecodedKernel& a02,
                                               const target::Target& target) {
  std::vector<isa::Instruction> code;
  for (const lower::DecodedInstruction& i : a02.instructions) code.push_back(i.inst);
  const auto loop = model::hot_loop(code);
  if (!loop) return fail(ErrorCode::invalid_code_object, "the object has no loop: it is not A02");
  Lines lines;
  for (const std::size_t i : loop->own) lines.push_back(a02.instructions[i].text);
  for (std::string& line : lines) line.erase(0, line.find_first_not_of(" \t"));
  struct Row {
    std::string_view name;
    double tflops;
    unsigned vgprs;
    void (*edit)(Edit&);
  };
  const auto nothing = [](Edit&) {};
  constexpr unsigned published_vgprs = 128;
  const Row rows[] = {{"0 raw Triton", 23.8, a02.vgpr_count, nothing},
                      {"1 magic-constant dequantisation", 25.3, a02.vgpr_count, magic_dequantisation},
                      {"2 pipelined loads", 27.1, published_vgprs, pipelined_loads},
                      {"3 exact descriptors", 27.1, published_vgprs, no_guards},
                      {"4 bank split", 27.2, published_vgprs, nothing},
                      {"5 scalar offsets", 27.1, published_vgprs, scalar_offsets}};
  Edit edit(lines);
  std::vector<StepVariant> result;
  for (const Row& row : rows) {
    row.edit(edit);
    auto v = assembled(edit, a02, *loop, target);
    if (!v) return std::unexpected(v.error());
    v->name = row.name;
    v->published_tflops = row.tflops;
    v->vgprs = row.vgprs;
    result.push_back(*std::move(v));
  }
  return result;
}

}  // namespace wavejit::tools
