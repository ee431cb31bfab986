// SPDX-License-Identifier: MIT
// Temporal hints of gfx12 by their encoding (RDNA4 ISA, "Temporal hints"; names as in LLVM).
#include <algorithm>
#include <array>

#include "generator/isa/modifier_text.hpp"

namespace wavejit::isa {
namespace {

constexpr std::array<std::string_view, 7> load_hints{"RT", "NT", "HT", "LU", "NT_RT", "RT_NT", "NT_HT"};
constexpr std::array<std::string_view, 8> store_hints{"RT",    "NT",    "HT",    "WB",
                                                      "NT_RT", "RT_NT", "NT_HT", "NT_WB"};
constexpr std::array<std::string_view, 7> atomic_hints{"RT",         "RETURN", "NT",        "NT_RETURN",
                                                       "CASCADE_RT", "",       "CASCADE_NT"};
constexpr std::array<std::string_view, 4> scopes{"SCOPE_CU", "SCOPE_SE", "SCOPE_DEV", "SCOPE_SYS"};

template <std::size_t n>
bool find(const std::array<std::string_view, n>& names, std::string_view text, std::uint8_t& out) {
  const auto it = std::ranges::find(names, text);
  if (it == names.end() || text.empty()) return false;
  out = static_cast<std::uint8_t>(it - names.begin());
  return true;
}

template <std::size_t n>
void append(std::string& out, std::string_view prefix, const std::array<std::string_view, n>& names,
            unsigned value) {
  if (value >= n) return;
  out += prefix;
  out += names[value];
}

}  // namespace

void append_cache_policy(std::string& out, const Instruction& inst) {
  const unsigned th = inst.mods.th;
  if (th != 0) {
    if (inst.has(flag::atomic)) {
      append(out, " th:TH_ATOMIC_", atomic_hints, th);
    } else if (inst.has(flag::store)) {
      append(out, " th:TH_STORE_", store_hints, th);
    } else {
      append(out, " th:TH_LOAD_", load_hints, th);
    }
  }
  if (inst.mods.scope != 0) append(out, " scope:", scopes, inst.mods.scope);
}

bool parse_cache_policy(std::string_view text, Modifiers& mods) {
  constexpr std::string_view load = "th:TH_LOAD_", store = "th:TH_STORE_", atomic = "th:TH_ATOMIC_",
                             scope = "scope:";
  if (text.starts_with(scope)) return find(scopes, text.substr(scope.size()), mods.scope);
  if (text.starts_with(load)) return find(load_hints, text.substr(load.size()), mods.th);
  if (text.starts_with(store)) return find(store_hints, text.substr(store.size()), mods.th);
  if (text.starts_with(atomic)) return find(atomic_hints, text.substr(atomic.size()), mods.th);
  return false;
}

}  // namespace wavejit::isa
