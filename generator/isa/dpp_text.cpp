// SPDX-License-Identifier: MIT
// DPP_CTRL values: quad_perm 0x000..0x0FF, row_shl 0x101.., row_shr 0x111.., row_ror 0x121..,
// mirrors 0x140 and 0x141, row_share 0x150.. (row_newbcast on gfx9), row_xmask 0x160..; gfx9 also
// wave_shl 0x130, wave_rol 0x134, wave_shr 0x138, wave_ror 0x13C, row_bcast 0x142 and 0x143.
#include <fmt/format.h>

#include <array>
#include <iterator>

#include "generator/isa/modifier_text.hpp"
#include "generator/isa/operand_text.hpp"

namespace wavejit::isa {
namespace {

struct Control {
  std::string_view name;
  std::uint16_t base;        ///< encoding of value `first`
  std::uint8_t first, last;  ///< accepted values; first > last = takes none
};

constexpr std::array controls{Control{"row_shl", 0x101, 1, 15},        Control{"row_shr", 0x111, 1, 15},
                              Control{"row_ror", 0x121, 1, 15},        Control{"wave_shl", 0x130, 1, 1},
                              Control{"wave_rol", 0x134, 1, 1},        Control{"wave_shr", 0x138, 1, 1},
                              Control{"wave_ror", 0x13C, 1, 1},        Control{"row_mirror", 0x140, 1, 0},
                              Control{"row_half_mirror", 0x141, 1, 0}, Control{"row_share", 0x150, 0, 15},
                              Control{"row_newbcast", 0x150, 0, 15},   Control{"row_xmask", 0x160, 0, 15}};

struct Broadcast {
  std::string_view text;
  std::uint16_t ctrl;
};
constexpr std::array broadcasts{Broadcast{"row_bcast:15", 0x142}, Broadcast{"row_bcast:31", 0x143}};

void append_lanes(std::string& out, std::string_view name, std::uint32_t lanes, unsigned count,
                  unsigned bits) {
  fmt::format_to(std::back_inserter(out), " {}:[", name);
  for (unsigned i = 0; i < count; ++i)
    fmt::format_to(std::back_inserter(out), "{}{}", i == 0 ? "" : ",",
                   lanes >> (i * bits) & ((1U << bits) - 1));
  out += ']';
}

bool parse_lanes(std::string_view list, unsigned count, unsigned bits, std::uint32_t& lanes) {
  if (list.size() != 2 * count + 1 || list.front() != '[' || list.back() != ']') return false;
  lanes = 0;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned lane = static_cast<unsigned char>(list[2 * i + 1]) - unsigned{'0'};
    if (lane >= 1U << bits) return false;
    lanes |= lane << (i * bits);
  }
  return true;
}

void append_control(std::string& out, unsigned ctrl, target::Generation generation) {
  for (const Broadcast& b : broadcasts) {
    if (b.ctrl == ctrl) {
      fmt::format_to(std::back_inserter(out), " {}", b.text);
      return;
    }
  }
  for (const Control& c : controls) {
    if (c.first > c.last && c.base == ctrl) {
      fmt::format_to(std::back_inserter(out), " {}", c.name);
      return;
    }
    if (generation == target::Generation::gfx9 && c.name == "row_share") continue;  // row_newbcast there
    if (c.first <= c.last && ctrl >= c.base && ctrl <= unsigned{c.base} + c.last - c.first) {
      fmt::format_to(std::back_inserter(out), " {}:{}", c.name, ctrl - c.base + c.first);
      return;
    }
  }
  append_lanes(out, "quad_perm", ctrl, 4, 2);
}

bool parse_control(std::string_view text, std::uint16_t& ctrl) {
  for (const Broadcast& b : broadcasts) {
    if (b.text == text) {
      ctrl = b.ctrl;
      return true;
    }
  }
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  for (const Control& c : controls) {
    if (c.name != name) continue;
    const bool bare = c.first > c.last;
    if (bare != (colon == std::string_view::npos)) return false;
    const auto value = bare ? std::int64_t{c.first} : parse_integer(text.substr(colon + 1)).value_or(-1);
    if (!bare && (value < c.first || value > c.last)) return false;
    ctrl = static_cast<std::uint16_t>(c.base + value - c.first);
    return true;
  }
  return false;
}

}  // namespace

void append_dpp(std::string& out, const Dpp& dpp, const target::Target& target) {
  if (dpp.kind == Dpp::Kind::none) return;
  if (dpp.kind == Dpp::Kind::dpp8) {
    append_lanes(out, "dpp8", dpp.lanes, 8, 3);
  } else {
    append_control(out, dpp.ctrl, target.generation);
    fmt::format_to(std::back_inserter(out), " row_mask:0x{:x} bank_mask:0x{:x}", dpp.row_mask, dpp.bank_mask);
    if (dpp.bound_ctrl) out += " bound_ctrl:1";
  }
  if (dpp.fi) out += " fi:1";
}

bool parse_dpp(std::string_view text, Dpp& dpp) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::string_view value =
      colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  const auto mask = [&](std::uint8_t& out) {
    const auto number = parse_integer(value);
    if (!number || *number < 0 || *number > 15) return false;
    out = static_cast<std::uint8_t>(*number);
    return true;
  };
  if (name == "row_mask") return mask(dpp.row_mask);
  if (name == "bank_mask") return mask(dpp.bank_mask);
  if (name == "bound_ctrl") return dpp.bound_ctrl = true;
  if (name == "fi") {
    dpp.fi = value == "1";
    return true;
  }
  if (name == "dpp8") {
    dpp.kind = Dpp::Kind::dpp8;
    return parse_lanes(value, 8, 3, dpp.lanes);
  }
  dpp.kind = Dpp::Kind::dpp16;
  if (name == "quad_perm") {
    std::uint32_t lanes = 0;
    if (!parse_lanes(value, 4, 2, lanes)) return false;
    dpp.ctrl = static_cast<std::uint16_t>(lanes);
    return true;
  }
  if (parse_control(text, dpp.ctrl)) return true;
  dpp.kind = Dpp::Kind::none;
  return false;
}

}  // namespace wavejit::isa
