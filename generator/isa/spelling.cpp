// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>

#include "generator/isa/opcode.hpp"

namespace wavejit::isa {
namespace {

using target::Generation;

/// One name of one generation.
struct Alias {
  Generation generation;
  std::string_view text;
  Opcode op;
  friend constexpr auto operator<=>(const Alias&, const Alias&) = default;
};

/// An opcode of one generation.
struct Key {
  Generation generation;
  Opcode op;
  friend constexpr auto operator<=>(const Key&, const Key&) = default;
};

struct Name {
  std::string_view text;
  Opcode op;
  friend constexpr auto operator<=>(const Name&, const Name&) = default;
};

template <class T, std::size_t n>
constexpr std::array<T, n> sorted(std::array<T, n> rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

constexpr auto canonical = sorted(std::to_array<Name>({
#define WJ_OP(name, pipe, sig, flags) {#name, Opcode::name},
#include "generator/isa/opcodes.def"
#undef WJ_OP
}));

constexpr auto aliases = sorted(std::to_array<Alias>({
#define WJ_ALIAS(generation, text, op) {Generation::generation, text, Opcode::op},
#define WJ_ABSENT(generation, op)
#include "generator/isa/spelling.def"
#undef WJ_ALIAS
#undef WJ_ABSENT
}));

constexpr Key key(const Alias& alias) { return {alias.generation, alias.op}; }

constexpr auto aliases_by_opcode = [] {
  auto rows = aliases;
  std::sort(rows.begin(), rows.end(), [](const Alias& a, const Alias& b) { return key(a) < key(b); });
  return rows;
}();

constexpr auto absences = sorted(std::to_array<Key>({
#define WJ_ALIAS(generation, text, op)
#define WJ_ABSENT(generation, op) {Generation::generation, Opcode::op},
#include "generator/isa/spelling.def"
#undef WJ_ALIAS
#undef WJ_ABSENT
}));

bool is_absent(Opcode op, Generation generation) {
  return std::ranges::binary_search(absences, Key{generation, op});
}

}  // namespace

std::optional<Opcode> find_opcode(std::string_view mnemonic, Generation generation) {
  const auto alias = std::ranges::lower_bound(aliases, Alias{generation, mnemonic, Opcode::invalid});
  if (alias != aliases.end() && alias->generation == generation && alias->text == mnemonic) return alias->op;
  const auto name = std::ranges::lower_bound(canonical, mnemonic, {}, &Name::text);
  if (name == canonical.end() || name->text != mnemonic || is_absent(name->op, generation))
    return std::nullopt;
  return name->op;
}

std::string_view spelling(Opcode op, Generation generation) {
  const Key wanted{generation, op};
  const auto alias = std::ranges::lower_bound(aliases_by_opcode, wanted, {}, key);
  if (alias != aliases_by_opcode.end() && key(*alias) == wanted) return alias->text;
  return is_absent(op, generation) ? std::string_view{} : info(op).name;
}

}  // namespace wavejit::isa
