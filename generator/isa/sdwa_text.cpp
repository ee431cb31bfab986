// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "generator/isa/modifier_text.hpp"

namespace wavejit::isa {
namespace {

constexpr std::array<std::string_view, 7> selects{"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                                  "WORD_0", "WORD_1", "DWORD"};
constexpr std::array<std::string_view, 3> unuseds{"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};

template <class T, std::size_t n>
bool parse_name(const std::array<std::string_view, n>& names, std::string_view text, T& out) {
  const auto it = std::ranges::find(names, text);
  if (it == names.end()) return false;
  out = static_cast<T>(it - names.begin());
  return true;
}

std::string_view name(Sdwa::Select select) { return selects[static_cast<unsigned>(select)]; }

}  // namespace

void append_sdwa(std::string& out, const Instruction& inst) {
  const Sdwa& s = inst.mods.sdwa;
  if (!s.on) return;
  // Comparisons write a mask, of which no part can be chosen.
  if (inst.dst_count > 0 && inst.dst[0].is_vgpr()) {
    fmt::format_to(std::back_inserter(out), " dst_sel:{} dst_unused:{}", name(s.dst),
                   unuseds[static_cast<unsigned>(s.unused)]);
  }
  for (unsigned i = 0; i < std::min<unsigned>(inst.src_count, 2); ++i)
    fmt::format_to(std::back_inserter(out), " src{}_sel:{}", i, name(s.src[i]));
}

bool parse_sdwa(std::string_view text, Sdwa& sdwa) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view key = text.substr(0, colon);
  const std::string_view value = text.substr(colon + 1);
  bool known = false;
  if (key == "dst_sel") known = parse_name(selects, value, sdwa.dst);
  if (key == "dst_unused") known = parse_name(unuseds, value, sdwa.unused);
  if (key == "src0_sel") known = parse_name(selects, value, sdwa.src[0]);
  if (key == "src1_sel") known = parse_name(selects, value, sdwa.src[1]);
  sdwa.on = sdwa.on || known;
  return known;
}

}  // namespace wavejit::isa
