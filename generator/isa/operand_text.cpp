// SPDX-License-Identifier: MIT
#include "generator/isa/operand_text.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <iterator>

namespace wavejit::isa {
namespace {

struct NamedRegister {
  std::string_view text;
  std::uint32_t index;
  std::uint8_t width;
};

constexpr std::array named_registers{
    NamedRegister{"vcc_lo", sreg::vcc_lo, 1},
    NamedRegister{"vcc_hi", sreg::vcc_hi, 1},
    NamedRegister{"vcc", sreg::vcc_lo, 2},
    NamedRegister{"exec_lo", sreg::exec_lo, 1},
    NamedRegister{"exec_hi", sreg::exec_hi, 1},
    NamedRegister{"exec", sreg::exec_lo, 2},
    NamedRegister{"m0", sreg::m0, 1},
    NamedRegister{"null", sreg::null, 1},
    NamedRegister{"flat_scratch_lo", sreg::flat_scratch_lo, 1},
    NamedRegister{"flat_scratch_hi", sreg::flat_scratch_hi, 1},
    NamedRegister{"flat_scratch", sreg::flat_scratch_lo, 2},
    NamedRegister{"xnack_mask_lo", sreg::xnack_mask_lo, 1},
    NamedRegister{"xnack_mask_hi", sreg::xnack_mask_hi, 1},
    NamedRegister{"xnack_mask", sreg::xnack_mask_lo, 2},
};

struct NamedSpecial {
  std::string_view text;
  Special value;
};

constexpr std::array named_specials{
    NamedSpecial{"src_scc", Special::scc},
    NamedSpecial{"src_vccz", Special::vccz},
    NamedSpecial{"src_execz", Special::execz},
    NamedSpecial{"src_shared_base", Special::shared_base},
    NamedSpecial{"src_shared_limit", Special::shared_limit},
    NamedSpecial{"src_private_base", Special::private_base},
    NamedSpecial{"src_private_limit", Special::private_limit},
    NamedSpecial{"src_lds_direct", Special::lds_direct},
};

struct InlineFloat {
  std::string_view text;
  std::uint32_t bits;
};

constexpr std::array inline_floats{
    InlineFloat{"0.5", 0x3F000000},
    InlineFloat{"-0.5", 0xBF000000},
    InlineFloat{"1.0", 0x3F800000},
    InlineFloat{"-1.0", 0xBF800000},
    InlineFloat{"2.0", 0x40000000},
    InlineFloat{"-2.0", 0xC0000000},
    InlineFloat{"4.0", 0x40800000},
    InlineFloat{"-4.0", 0xC0800000},
    InlineFloat{"0.15915494309189532", 0x3E22F983},
};

/// The disassembler prints 1/(2 pi) with the digits of the operand's own type; the assembler takes
/// the longest form for all of them.
constexpr std::string_view inverse_two_pi = "0.159";

char class_letter(RegClass cls) {
  switch (cls) {
    case RegClass::vgpr:
      return 'v';
    case RegClass::agpr:
      return 'a';
    case RegClass::sgpr:
      break;
  }
  return 's';
}

void append_tuple(std::string& out, std::string_view prefix, std::uint32_t first, unsigned width) {
  if (width == 1) {
    fmt::format_to(std::back_inserter(out), "{}{}", prefix, first);
  } else {
    fmt::format_to(std::back_inserter(out), "{}[{}:{}]", prefix, first, first + width - 1);
  }
}

void append_physical(std::string& out, const Operand& op) {
  if (op.cls == RegClass::sgpr && op.index >= sreg::vcc_lo) {
    for (const NamedRegister& name : named_registers) {
      if (name.index == op.index && name.width == op.width) {
        out += name.text;
        return;
      }
    }
    if (op.index >= sreg::ttmp0 && op.index < sreg::null) {
      append_tuple(out, "ttmp", op.index - sreg::ttmp0, op.width);
      return;
    }
  }
  const char letter = class_letter(op.cls);
  append_tuple(out, std::string_view(&letter, 1), op.index, op.width);
}

void append_virtual(std::string& out, const Operand& op, const OperandNames* names) {
  if (names != nullptr) {
    out += names->virtual_register(op);
  } else if (op.sub == 0 && op.width == 1) {
    fmt::format_to(std::back_inserter(out), "%{}", op.index);
  } else {
    fmt::format_to(std::back_inserter(out), "%{}[{}:{}]", op.index, op.sub, op.sub + op.width - 1);
  }
}

void append_float(std::string& out, std::int64_t bits) {
  for (const InlineFloat& f : inline_floats) {
    if (f.bits == static_cast<std::uint64_t>(bits)) {
      out += f.text;
      return;
    }
  }
  fmt::format_to(std::back_inserter(out), "0x{:x}", bits);
}

void append_bare(std::string& out, const Operand& op, const OperandNames* names) {
  switch (op.kind) {
    case Operand::Kind::none:
      out += "off";
      break;
    case Operand::Kind::reg:
      if (op.is_virtual) {
        append_virtual(out, op, names);
      } else {
        append_physical(out, op);
      }
      break;
    case Operand::Kind::imm:
      append_integer(out, op.value);
      break;
    case Operand::Kind::fimm:
      append_float(out, op.value);
      break;
    case Operand::Kind::label:
      out += names != nullptr ? names->label(op.index) : fmt::format(".L{}", op.index);
      break;
    case Operand::Kind::special:
      out += named_specials[op.index].text;
      break;
  }
  if (op.half == Half::low) out += ".l";
  if (op.half == Half::high) out += ".h";
}

/// Strips `open` ... `close` when the text is wrapped in them.
bool unwrap(std::string_view& text, std::string_view open, std::string_view close) {
  if (text.size() < open.size() + close.size() || !text.starts_with(open) || !text.ends_with(close))
    return false;
  text.remove_prefix(open.size());
  text.remove_suffix(close.size());
  return true;
}

std::optional<std::uint32_t> parse_index(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > 1023) return std::nullopt;
  return value;
}

/// "5" or "[4:7]" after the class letter.
std::optional<Operand> parse_tuple(RegClass cls, std::string_view text, std::uint32_t base) {
  if (!unwrap(text, "[", "]")) {
    const auto index = parse_index(text);
    if (!index) return std::nullopt;
    return phys(cls, base + *index);
  }
  const std::size_t colon = text.find(':');
  const auto first = parse_index(text.substr(0, colon));
  const auto last = colon == std::string_view::npos ? first : parse_index(text.substr(colon + 1));
  if (!first || !last || *last < *first || *last - *first >= 32) return std::nullopt;
  return phys(cls, base + *first, *last - *first + 1);
}

std::optional<Operand> parse_register(std::string_view text) {
  for (const NamedRegister& name : named_registers)
    if (name.text == text) return sgpr(name.index, name.width);
  for (const NamedSpecial& name : named_specials)
    if (name.text == text) return special(name.value);
  if (text == "lds_direct") return special(Special::lds_direct);
  if (text.starts_with("ttmp")) return parse_tuple(RegClass::sgpr, text.substr(4), sreg::ttmp0);
  Half half = Half::whole;
  if (text.ends_with(".l")) half = Half::low;
  if (text.ends_with(".h")) half = Half::high;
  if (half != Half::whole) text.remove_suffix(2);
  if (text.size() < 2) return std::nullopt;
  std::optional<Operand> result;
  if (text[0] == 'v') result = parse_tuple(RegClass::vgpr, text.substr(1), 0);
  if (text[0] == 's') result = parse_tuple(RegClass::sgpr, text.substr(1), 0);
  if (text[0] == 'a') result = parse_tuple(RegClass::agpr, text.substr(1), 0);
  if (result) result->half = half;
  return result;
}

std::optional<Operand> parse_constant(std::string_view text) {
  // A literal whose value has an inline form too.
  (void)unwrap(text, "lit(", ")");
  for (const InlineFloat& f : inline_floats)
    if (f.text == text) return fimm(f.bits);
  if (text.starts_with(inverse_two_pi)) return fimm(0x3E22F983);
  if (const auto value = parse_integer(text)) return imm(*value);
  return std::nullopt;
}

}  // namespace

void append_integer(std::string& out, std::int64_t value) {
  const bool decimal = value < 0 || is_inline_integer(value);
  if (decimal) {
    fmt::format_to(std::back_inserter(out), "{}", value);
  } else {
    fmt::format_to(std::back_inserter(out), "0x{:x}", value);
  }
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return static_cast<std::int64_t>(negative ? 0 - value : value);
}

void append_operand(std::string& out, const Operand& op, const OperandNames* names) {
  if (op.neg) out += op.is_const() ? "neg(" : "-";
  if (op.abs) out += '|';
  append_bare(out, op, names);
  if (op.abs) out += '|';
  if (op.neg && op.is_const()) out += ')';
}

std::optional<Operand> parse_operand(std::string_view text) {
  if (text == "off") return Operand{};
  bool neg = false;
  bool abs = false;
  if (const auto constant = parse_constant(text)) return constant;
  if (unwrap(text, "neg(", ")")) {
    neg = true;
  } else if (text.starts_with('-')) {
    neg = true;
    text.remove_prefix(1);
  }
  if (unwrap(text, "|", "|") || unwrap(text, "abs(", ")")) abs = true;
  std::optional<Operand> result = parse_constant(text);
  if (!result) result = parse_register(text);
  if (result) {
    result->neg = neg;
    result->abs = abs;
  }
  return result;
}

}  // namespace wavejit::isa
