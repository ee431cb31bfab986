// SPDX-License-Identifier: MIT
// Reads LLVM's disassembly. The text is LLVM's own (a decoded instruction, never a person's
// spelling), so the grammar is small; still every surprise is an error, never a guess.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "generator/isa/immediates.hpp"
#include "generator/isa/instruction.hpp"
#include "generator/isa/modifier_text.hpp"
#include "generator/isa/operand_text.hpp"

namespace wavejit::isa {
namespace {

constexpr unsigned max_operands = max_dst + max_src;
constexpr unsigned max_modifiers = 12;

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::unexpected<Error> unknown(std::string_view what, std::string_view text) {
  return fail(ErrorCode::unknown_instruction, fmt::format("{} in '{}'", what, text));
}

/// Cuts from `text` what comes before a space or comma outside brackets and quotes.
std::string_view take_token(std::string_view& text) {
  unsigned depth = 0;
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    const char c = text[end];
    if (c == '(' || c == '[') ++depth;
    if ((c == ')' || c == ']') && depth > 0) --depth;
    if (depth == 0 && (c == ' ' || c == ',' || c == '\t')) break;
  }
  const std::string_view token = text.substr(0, end);
  text.remove_prefix(end);
  return token;
}

struct Tokens {
  std::array<std::string_view, max_operands> operands;
  unsigned operand_count = 0;
  std::array<std::string_view, max_modifiers> modifiers;
  unsigned modifier_count = 0;
};

/// Operands are separated by commas; after the last one, modifiers by spaces.
bool split(std::string_view text, bool has_operands, Tokens& tokens) {
  text = trim(text);
  while (has_operands && !text.empty()) {
    if (tokens.operand_count == max_operands) return false;
    tokens.operands[tokens.operand_count++] = take_token(text);
    text = trim(text);
    if (!text.starts_with(',')) break;
    text = trim(text.substr(1));
  }
  while (!text.empty()) {
    if (tokens.modifier_count == max_modifiers) return false;
    const std::string_view token = take_token(text);
    if (token.empty()) return false;
    tokens.modifiers[tokens.modifier_count++] = token;
    text = trim(text);
  }
  return true;
}

/// The encoding suffixes say nothing that the operands and modifiers do not.
std::string_view without_suffix(std::string_view mnemonic) {
  for (const std::string_view suffix : {"_sdwa", "_dpp", "_e64", "_e32"})
    if (mnemonic.ends_with(suffix)) mnemonic.remove_suffix(suffix.size());
  return mnemonic;
}

std::int64_t simm16(std::span<const std::uint8_t> encoding, bool is_signed) {
  const auto raw = static_cast<std::uint16_t>(encoding[0] | encoding[1] << 8);
  return is_signed ? static_cast<std::int16_t>(raw) : std::int64_t{raw};
}

/// How many operands come before the sources, from how many there are; negative when impossible.
int destinations(const Instruction& inst, const Signature& sig, unsigned operands) {
  const unsigned implied = inst.dual != Dual::none && inst.op == Opcode::v_cndmask_b32 ? 1 : 0;
  const unsigned expected = sig.dst_count + sig.src_count - implied;
  if (operands == expected) return sig.dst_count;
  // Atomics that return nothing and loads that go to LDS have no destination.
  const bool may_lack = inst.has(flag::atomic) || inst.mods.lds;
  if (may_lack && sig.dst_count == 1 && operands + 1 == expected) return 0;
  return -1;
}

/// op_sel is complete, however the text spelled the halves.
void complete_op_sel(Instruction& inst) {
  bool named = false;
  std::uint8_t bits = 0;
  for (unsigned i = 0; i < inst.src_count; ++i) {
    named = named || inst.src[i].half != Half::whole;
    if (inst.src[i].half == Half::high) bits |= static_cast<std::uint8_t>(1U << i);
  }
  for (unsigned i = 0; i < inst.dst_count; ++i) {
    named = named || inst.dst[i].half != Half::whole;
    if (inst.dst[i].half == Half::high) bits |= static_cast<std::uint8_t>(1U << inst.src_count);
  }
  if (named) inst.mods.op_sel = bits;
}

/// Replaces the immediate that the text spells by name with the bits of the encoding.
void apply_encoding(Instruction& inst, ImmediateForm form, std::span<const std::uint8_t> encoding) {
  switch (form) {
    case ImmediateForm::none:
    case ImmediateForm::encoded:
    case ImmediateForm::encoded_signed:
    case ImmediateForm::branch:
      break;
    case ImmediateForm::hwreg:
      inst.src[0] = imm(simm16(encoding, false));
      break;
    case ImmediateForm::gpr_index:
      inst.src[inst.src_count - 1U] = imm(encoding[1]);
      break;
    case ImmediateForm::sopk_signed:
    case ImmediateForm::sopk_unsigned:
      inst.src[inst.src_count - 1U] = imm(simm16(encoding, form == ImmediateForm::sopk_signed));
      break;
  }
  if (inst.op == Opcode::ds_swizzle_b32)
    inst.mods.offset = static_cast<std::int32_t>(simm16(encoding, false));
}

/// Forms that one spelling of the text leaves open are brought to one.
void normalise(Instruction& inst, const target::Target& target) {
  complete_op_sel(inst);
  // "null" and "0x0" are one scalar offset; so are "off" and no base register.
  Operand& last = inst.src[inst.src_count > 0 ? inst.src_count - 1U : 0];
  if (inst.pipe() == Pipe::smem && last.is_physical(RegClass::sgpr, sreg::null)) last = imm(0);
  if (inst.has(flag::flat) && last.kind == Operand::Kind::none) last = null_reg();
  // A returning buffer atomic names its data once and overwrites it.
  const bool returns = inst.mods.glc || (inst.mods.th & 1) != 0;
  if (inst.has(flag::buffer) && inst.has(flag::atomic) && returns) inst.dst[inst.dst_count++] = inst.src[0];
  if (inst.dual != Dual::none && inst.op == Opcode::v_cndmask_b32 && inst.src_count == 2)
    inst.src[inst.src_count++] = vcc(target.wave_size);
}

/// Reads one line, or one half of a dual pair.
class LineParser {
 public:
  LineParser(std::string_view line, Dual dual, std::span<const std::uint8_t> encoding,
             const target::Target& target)
      : line_(line), encoding_(encoding), target_(target) {
    inst_.dual = dual;
  }

  Result<Instruction> run() {
    std::string_view rest = line_;
    if (auto done = mnemonic(take_token(rest)); !done) return std::unexpected(std::move(done.error()));
    if (const auto is_signed = sole_immediate()) {
      inst_.src[0] = imm(simm16(encoding_, *is_signed));
      inst_.src_count = 1;
      return inst_;
    }
    const Signature sig = signature(inst_.op, target_);
    if (!split(rest, sig.dst_count + sig.src_count > 0, tokens_)) return unknown("too many operands", line_);
    if (auto done = modifiers(); !done) return std::unexpected(std::move(done.error()));
    if (auto done = operands(sig); !done) return std::unexpected(std::move(done.error()));
    apply_encoding(inst_, form_, encoding_);
    normalise(inst_, target_);
    return inst_;
  }

 private:
  Result<void> mnemonic(std::string_view text) {
    std::string plain(without_suffix(text));
    if (inst_.dual != Dual::none) {
      constexpr std::string_view prefix = "v_dual_";
      if (!text.starts_with(prefix)) return unknown("no dual instruction", line_);
      plain = fmt::format("v_{}", text.substr(prefix.size()));
    }
    const auto op = find_opcode(plain, target_.generation);
    if (!op) return unknown(fmt::format("unknown instruction {}", text), line_);
    inst_.op = *op;
    inst_.mods.sdwa.on = text.ends_with("_sdwa");
    if (is_mix(*op)) inst_.mods.op_sel_hi = 0;
    form_ = immediate_form(*op);
    return {};
  }

  /// Whether the immediate that is the only operand is signed; nullopt for other instructions.
  [[nodiscard]] std::optional<bool> sole_immediate() const {
    if (form_ == ImmediateForm::encoded) return false;
    if (form_ == ImmediateForm::encoded_signed || form_ == ImmediateForm::branch) return true;
    return std::nullopt;
  }

  Result<void> modifiers() {
    for (unsigned i = 0; i < tokens_.modifier_count; ++i) {
      const std::string_view text = tokens_.modifiers[i];
      const bool by_encoding = inst_.op == Opcode::ds_swizzle_b32 && text.starts_with("offset:");
      if (!by_encoding && !parse_modifier(text, inst_))
        return unknown(fmt::format("unknown modifier {}", text), line_);
    }
    return {};
  }

  Result<void> operands(const Signature& sig) {
    const int dst_count = destinations(inst_, sig, tokens_.operand_count);
    if (dst_count < 0) return unknown(fmt::format("{} operands", tokens_.operand_count), line_);
    inst_.dst_count = static_cast<std::uint8_t>(dst_count);
    inst_.src_count = static_cast<std::uint8_t>(tokens_.operand_count - inst_.dst_count);
    for (unsigned i = 0; i < tokens_.operand_count; ++i) {
      if (form_ == ImmediateForm::hwreg && i == inst_.dst_count) continue;
      if (form_ == ImmediateForm::gpr_index && i + 1 == tokens_.operand_count) continue;
      const bool is_dst = i < inst_.dst_count;
      const auto operand = is_dst ? parse_operand(tokens_.operands[i]) : source(i - inst_.dst_count);
      if (!operand) return unknown(fmt::format("unknown operand {}", tokens_.operands[i]), line_);
      (is_dst ? inst_.dst[i] : inst_.src[i - inst_.dst_count]) = *operand;
    }
    return {};
  }

  /// sext(...) belongs to the instruction's SDWA part, the rest to the operand.
  std::optional<Operand> source(unsigned index) {
    std::string_view text = tokens_.operands[index + inst_.dst_count];
    constexpr std::string_view open = "sext(";
    if (inst_.mods.sdwa.on && index < 2 && text.starts_with(open) && text.ends_with(')')) {
      inst_.mods.sdwa.sext[index] = true;
      text = text.substr(open.size(), text.size() - open.size() - 1);
    }
    return parse_operand(text);
  }

  std::string_view line_;
  std::span<const std::uint8_t> encoding_;
  const target::Target& target_;
  Instruction inst_;
  ImmediateForm form_ = ImmediateForm::none;
  Tokens tokens_;
};

}  // namespace

Result<Parsed> parse_disassembly(std::string_view text, std::span<const std::uint8_t> encoding,
                                 const target::Target& target) {
  const std::string_view line = trim(text.substr(0, std::min(text.find("//"), text.find(';'))));
  if (line.empty() || encoding.size() < 4) return unknown("no instruction", line);
  constexpr std::string_view joint = " :: ";
  const std::size_t pair = line.find(joint);
  Parsed result;
  if (pair == std::string_view::npos) {
    auto inst = LineParser(line, Dual::none, encoding, target).run();
    if (!inst) return std::unexpected(std::move(inst.error()));
    result.inst[0] = *inst;
    return result;
  }
  auto x = LineParser(trim(line.substr(0, pair)), Dual::x, encoding, target).run();
  if (!x) return std::unexpected(std::move(x.error()));
  auto y = LineParser(trim(line.substr(pair + joint.size())), Dual::y, encoding, target).run();
  if (!y) return std::unexpected(std::move(y.error()));
  result.inst = {*x, *y};
  result.count = 2;
  return result;
}

}  // namespace wavejit::isa
