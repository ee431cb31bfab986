// SPDX-License-Identifier: MIT
#include "generator/isa/modifier_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "generator/isa/operand_text.hpp"

namespace wavejit::isa {
namespace {

void append_list(std::string& out, std::string_view name, unsigned bits, unsigned count) {
  fmt::format_to(std::back_inserter(out), " {}:[", name);
  for (unsigned i = 0; i < count; ++i) {
    if (i != 0) out += ',';
    out += static_cast<char>('0' + (bits >> i & 1));
  }
  out += ']';
}

bool names_halves(const Instruction& inst) {
  for (unsigned i = 0; i < inst.dst_count; ++i)
    if (inst.dst[i].half != Half::whole) return true;
  for (unsigned i = 0; i < inst.src_count; ++i)
    if (inst.src[i].half != Half::whole) return true;
  return false;
}

/// Of the lists of a packed instruction: a scaled MFMA has three for its five sources.
unsigned packed_entries(const Instruction& inst) {
  constexpr unsigned most = 3;
  return std::min<unsigned>(inst.src_count, most);
}

void append_lists(std::string& out, const Instruction& inst) {
  const Modifiers& m = inst.mods;
  const unsigned entries = packed_entries(inst);
  const unsigned sources = (1U << entries) - 1;
  // Operands spelled v1.l and v1.h say it already, and the short encodings take no op_sel list.
  if (m.op_sel != 0 && !names_halves(inst)) append_list(out, "op_sel", m.op_sel, op_sel_entries(inst));
  if (!inst.has(flag::vop3p)) return;
  const unsigned hi_default = is_mix(inst.op) ? 0 : sources;
  if ((m.op_sel_hi & sources) != hi_default) append_list(out, "op_sel_hi", m.op_sel_hi, entries);
  if (m.neg_lo != 0) append_list(out, "neg_lo", m.neg_lo, entries);
  if (m.neg_hi != 0) append_list(out, "neg_hi", m.neg_hi, entries);
}

void append_cache_bits(std::string& out, const Instruction& inst, const target::Target& target) {
  const Modifiers& m = inst.mods;
  const bool gfx9 = target.generation == target::Generation::gfx9;
  if (target.generation == target::Generation::gfx12) return append_cache_policy(out, inst);
  if (m.glc) out += gfx9 ? " sc0" : " glc";
  if (m.slc) out += gfx9 ? " nt" : " slc";
  if (m.dlc) out += gfx9 ? " sc1" : " dlc";
}

void append_memory(std::string& out, const Instruction& inst, const target::Target& target) {
  const Modifiers& m = inst.mods;
  if (m.idxen) out += " idxen";
  if (m.offen) out += " offen";
  if (m.offset != 0) fmt::format_to(std::back_inserter(out), " offset:{}", m.offset);
  if (m.offset0 != 0) fmt::format_to(std::back_inserter(out), " offset0:{}", m.offset0);
  if (m.offset1 != 0) fmt::format_to(std::back_inserter(out), " offset1:{}", m.offset1);
  append_cache_bits(out, inst, target);
  if (m.lds) out += " lds";
}

void append_matrix(std::string& out, const Modifiers& m) {
  if (m.cbsz != 0) fmt::format_to(std::back_inserter(out), " cbsz:{}", m.cbsz);
  if (m.abid != 0) fmt::format_to(std::back_inserter(out), " abid:{}", m.abid);
  if (m.blgp != 0) fmt::format_to(std::back_inserter(out), " blgp:{}", m.blgp);
}

/// "[1,0,1]" -> 0b101.
bool parse_list(std::string_view list, std::uint8_t& bits) {
  if (list.size() < 3 || list.front() != '[' || list.back() != ']') return false;
  bits = 0;
  unsigned index = 0;
  for (std::size_t i = 1; i < list.size(); i += 2) {
    if ((list[i] != '0' && list[i] != '1') || index == 8) return false;
    bits |= static_cast<std::uint8_t>((list[i] - '0') << index++);
  }
  return true;
}

/// A list of the VOP3P kind; entries that the text leaves out keep `rest`.
bool parse_packed_list(std::string_view list, std::uint8_t& bits, unsigned rest) {
  if (!parse_list(list, bits)) return false;
  const auto entries = static_cast<unsigned>(list.size() / 2);
  bits = static_cast<std::uint8_t>(bits | (rest & ~((1U << entries) - 1)));
  return true;
}

template <class T>
bool parse_field(std::string_view text, std::int64_t low, std::int64_t high, T& out) {
  const auto value = parse_integer(text);
  if (!value || *value < low || *value > high) return false;
  out = static_cast<T>(*value);
  return true;
}

bool parse_word(std::string_view text, Modifiers& m) {
  bool* flag = nullptr;
  if (text == "offen") flag = &m.offen;
  if (text == "idxen") flag = &m.idxen;
  if (text == "lds") flag = &m.lds;
  if (text == "glc" || text == "sc0") flag = &m.glc;
  if (text == "slc" || text == "nt") flag = &m.slc;
  if (text == "dlc" || text == "sc1") flag = &m.dlc;
  if (text == "clamp") flag = &m.clamp;
  if (flag == nullptr) return false;
  return *flag = true;
}

}  // namespace

bool is_mix(Opcode op) {
  return op == Opcode::v_fma_mix_f32 || op == Opcode::v_fma_mixlo_f16 || op == Opcode::v_fma_mixhi_f16;
}

unsigned op_sel_entries(const Instruction& inst) {
  // The lane permutes use two op_sel bits for "fetch inactive" and "bound control".
  if (inst.op == Opcode::v_permlane16_b32 || inst.op == Opcode::v_permlanex16_b32) return 2;
  return inst.has(flag::vop3p) ? packed_entries(inst) : inst.src_count + 1U;
}

void append_modifiers(std::string& out, const Instruction& inst, const target::Target& target) {
  append_lists(out, inst);
  append_memory(out, inst, target);
  append_matrix(out, inst.mods);
  if (inst.mods.clamp) out += " clamp";
  static constexpr std::string_view omods[] = {"", " mul:2", " mul:4", " div:2"};
  out += omods[inst.mods.omod & 3];
  if (inst.mods.bitop3 != 0) fmt::format_to(std::back_inserter(out), " bitop3:0x{:x}", inst.mods.bitop3);
  append_dpp(out, inst.mods.dpp, target);
  append_sdwa(out, inst);
}

bool parse_modifier(std::string_view text, Instruction& inst) {
  Modifiers& m = inst.mods;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return parse_word(text, m) || parse_dpp(text, m.dpp);
  const std::string_view name = text.substr(0, colon);
  const std::string_view value = text.substr(colon + 1);
  if (name == "offset") return parse_field(value, INT32_MIN, INT32_MAX, m.offset);
  if (name == "offset0") return parse_field(value, 0, 255, m.offset0);
  if (name == "offset1") return parse_field(value, 0, 255, m.offset1);
  if (name == "op_sel") return parse_list(value, m.op_sel);
  if (name == "op_sel_hi") return parse_packed_list(value, m.op_sel_hi, 7);
  if (name == "neg_lo") return parse_list(value, m.neg_lo);
  if (name == "neg_hi") return parse_list(value, m.neg_hi);
  if (name == "cbsz") return parse_field(value, 0, 7, m.cbsz);
  if (name == "abid") return parse_field(value, 0, 15, m.abid);
  if (name == "blgp") return parse_field(value, 0, 7, m.blgp);
  if (name == "bitop3") return parse_field(value, 0, 255, m.bitop3);
  if (name == "mul") {
    m.omod = value == "2" ? 1 : 2;
    return value == "2" || value == "4";
  }
  if (name == "div") {
    m.omod = 3;
    return value == "2";
  }
  return parse_dpp(text, m.dpp) || parse_sdwa(text, m.sdwa) || parse_cache_policy(text, m);
}

}  // namespace wavejit::isa
