// SPDX-License-Identifier: MIT
// Follows the few values that are the same on every path: constants in SGPRs and VGPRs, and the
// kernel-argument pointer with a constant added. With them, bounds of LDS and of the kernel
// arguments, and word 3 of a buffer descriptor, are provably right or wrong; what is not provable is
// not judged here.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "runtime/check/analyses.hpp"
#include "runtime/check/solver.hpp"

namespace wavejit::check {
namespace {

using isa::Opcode;
using isa::Operand;

struct Value {
  enum class Kind : std::uint8_t { unknown, constant, kernarg_low, kernarg_high };
  Kind kind = Kind::unknown;
  std::uint32_t number = 0;  ///< the constant, or what was added to the pointer
  friend bool operator==(const Value&, const Value&) = default;
};

using Results = std::array<Value, 2>;

Value constant(std::uint32_t number) { return {.kind = Value::Kind::constant, .number = number}; }

class Constants {
 public:
  using State = std::vector<Value>;  ///< per unit

  Constants(const Program& program, Reporter& reporter)
      : p_(program), reporter_(reporter), setup_(read_setup(program.kernel->descriptor, *program.target)) {}
  void report_now() { reporting_ = true; }

  State entry() {
    State state(p_.units());
    if (setup_.has_kernarg) {
      state[setup_.kernarg_sgpr].kind = Value::Kind::kernarg_low;
      state[setup_.kernarg_sgpr + 1].kind = Value::Kind::kernarg_high;
    }
    return state;
  }
  void start(State&) {}
  void finish(State&) {}

  bool join(State& into, const State& from) {
    bool changed = false;
    for (std::size_t u = 0; u < into.size(); ++u) {
      if (into[u] == from[u] || into[u].kind == Value::Kind::unknown) continue;
      into[u] = Value{};
      changed = true;
    }
    return changed;
  }

  void step(State& state, std::uint32_t index) {
    const Step& s = p_.steps[index];
    if (reporting_) judge(state, s);
    std::array<Results, 2> results;
    for (unsigned part = 0; part < s.count; ++part) results[part] = evaluate(state, p_.instruction(s, part));
    for (const Access& a : p_.writes(s))
      for (unsigned u = a.first; u < a.end(); ++u) state[u] = Value{};
    for (unsigned part = 0; part < s.count; ++part) assign(state, p_.instruction(s, part), results[part]);
  }

 private:
  /// Value of dword `sub` of an operand.
  [[nodiscard]] Value value(const State& state, const Operand& op, unsigned sub = 0) const {
    if (op.kind == Operand::Kind::imm) {
      // A 64-bit operand's 32-bit constant is sign-extended.
      const auto wide = static_cast<std::uint64_t>(op.value);
      return constant(static_cast<std::uint32_t>(sub == 0       ? wide
                                                 : op.value < 0 ? ~std::uint64_t{0}
                                                                : wide >> 32));
    }
    if (op.kind == Operand::Kind::fimm && sub == 0) return constant(static_cast<std::uint32_t>(op.value));
    const int u = unit_of(op, sub);
    return u < 0 ? Value{} : state[static_cast<std::size_t>(u)];
  }

  [[nodiscard]] int unit_of(const Operand& op, unsigned sub) const {
    if (!op.is_reg() || op.is_virtual || sub >= op.width || op.half != isa::Half::whole || op.neg || op.abs)
      return -1;
    const std::uint64_t index = std::uint64_t{op.index} + sub;
    if (op.is_sgpr() && index < isa::sreg::count && index != isa::sreg::null) return static_cast<int>(index);
    if (op.is_vgpr() && index < p_.vgprs) return static_cast<int>(unit::first_vgpr + index);
    return -1;
  }

  [[nodiscard]] Value sum(const Value& a, const Value& b) const {
    using Kind = Value::Kind;
    if (a.kind == Kind::constant && b.kind == Kind::constant) return constant(a.number + b.number);
    if (a.kind == Kind::kernarg_low && b.kind == Kind::constant)
      return {Kind::kernarg_low, a.number + b.number};
    if (b.kind == Kind::kernarg_low && a.kind == Kind::constant)
      return {Kind::kernarg_low, a.number + b.number};
    return {};
  }

  /// Dwords 0 and 1 of the destination, where they are known.
  [[nodiscard]] Results evaluate(const State& state, const isa::Instruction& inst) const {
    Results results;
    const bool plain = inst.mods.dpp.kind == isa::Dpp::Kind::none && !inst.mods.sdwa.on && !inst.mods.clamp;
    if (!plain || inst.dst_count == 0) return results;
    const Operand& a = inst.src[0];
    const Operand& b = inst.src[1];
    switch (inst.op) {
      case Opcode::s_mov_b32:
      case Opcode::s_movk_i32:
      case Opcode::v_mov_b32:
        results[0] = value(state, a);
        break;
      case Opcode::s_mov_b64:
        results[0] = value(state, a, 0);
        results[1] = value(state, a, 1);
        break;
      case Opcode::s_add_u32:
      case Opcode::s_add_i32:
      case Opcode::v_add_nc_u32:
        results[0] = sum(value(state, a), value(state, b));
        break;
      case Opcode::s_addc_u32: {
        // The high half of a pointer: what the carry does to it is the low half's business.
        const Value high = value(state, a);
        if (high.kind == Value::Kind::kernarg_high && value(state, b) == constant(0)) results[0] = high;
        break;
      }
      case Opcode::s_lshl_b32:
      case Opcode::s_mul_i32:
      case Opcode::s_or_b32:
        results[0] = combine(inst.op, value(state, a), value(state, b));
        break;
      default:
        break;
    }
    return results;
  }

  static Value combine(Opcode op, const Value& a, const Value& b) {
    if (a.kind != Value::Kind::constant || b.kind != Value::Kind::constant) return {};
    if (op == Opcode::s_lshl_b32) return constant(a.number << (b.number & 31));
    if (op == Opcode::s_mul_i32) return constant(a.number * b.number);
    return constant(a.number | b.number);
  }

  void assign(State& state, const isa::Instruction& inst, const Results& results) const {
    if (inst.dst_count == 0) return;
    for (unsigned sub = 0; sub < 2; ++sub) {
      const int u = unit_of(inst.dst[0], sub);
      if (u >= 0) state[static_cast<std::size_t>(u)] = results[sub];
    }
  }

  void judge(const State& state, const Step& s) {
    const isa::Instruction& inst = p_.instruction(s);
    if (s.is(trait::lds) && s.is(trait::load | trait::store)) judge_lds(state, s, inst);
    if (s.is(trait::smem)) judge_kernarg(state, s, inst);
    if (inst.has(isa::flag::buffer) || s.is(trait::smem)) judge_descriptor(state, s, inst);
  }

  // ---- LDS

  /// Bytes that one element of the access has in LDS; a 16-bit load still fills a register.
  static std::uint64_t element_bytes(std::string_view name, unsigned dwords) {
    const auto names = [&](std::string_view a, std::string_view b, std::string_view c) {
      return name.find(a) != name.npos || name.find(b) != name.npos || name.find(c) != name.npos;
    };
    if (names("_b8", "_u8", "_i8")) return 1;
    if (names("_b16", "_u16", "_i16")) return 2;
    return std::uint64_t{dwords} * 4;
  }

  /// Bytes from the address to behind the last one that the instruction touches.
  static std::uint64_t lds_reach(const isa::Instruction& inst) {
    const std::string_view name = inst.info().name;
    const bool loads = inst.dst_count > 0 && !inst.has(isa::flag::store);
    const unsigned dwords = loads ? inst.dst[0].width : inst.src[1].width;
    if (name.find("2addr") == name.npos)
      return static_cast<std::uint32_t>(inst.mods.offset) + element_bytes(name, dwords);
    const std::uint64_t element = std::uint64_t{dwords} * 4 / (loads ? 2 : 1);
    const std::uint64_t step = name.find("stride64") != name.npos ? element * 64 : element;
    return std::max(inst.mods.offset0, inst.mods.offset1) * step + element;
  }

  [[nodiscard]] std::uint64_t lds_limit() const {
    const std::uint32_t fixed = p_.kernel->descriptor.group_segment_fixed_size;
    if (reporter_.options().dynamic_lds_bytes)
      return std::uint64_t{fixed} + *reporter_.options().dynamic_lds_bytes;
    return fixed != 0 ? fixed : p_.target->lds_per_workgroup;
  }

  void judge_lds(const State& state, const Step& s, const isa::Instruction& inst) {
    const Value address = value(state, inst.src[0]);
    if (address.kind != Value::Kind::constant) return;
    const std::uint64_t end = address.number + lds_reach(inst);
    if (end <= lds_limit()) return;
    reporter_.add(Kind::lds_range, s.instruction,
                  fmt::format("the access ends at LDS byte {}, but the workgroup has {}", end, lds_limit()));
  }

  // ---- kernel arguments

  void judge_kernarg(const State& state, const Step& s, const isa::Instruction& inst) {
    if (inst.dst_count == 0 || inst.src[0].width != 2) return;
    const Value low = value(state, inst.src[0], 0);
    const Value high = value(state, inst.src[0], 1);
    if (low.kind != Value::Kind::kernarg_low || high.kind != Value::Kind::kernarg_high) return;
    const Value offset = value(state, inst.src[1]);
    if (offset.kind != Value::Kind::constant) return;
    const std::int64_t begin = static_cast<std::int32_t>(low.number) +
                               std::int64_t{static_cast<std::int32_t>(offset.number)} + inst.mods.offset;
    const std::int64_t end = begin + std::int64_t{inst.dst[0].width} * 4;
    const std::int64_t size = kernarg_bytes(*p_.kernel);
    if (begin >= 0 && end <= size) return;
    // The segment is aligned to 16 bytes, so its last 16 can be loaded whole.
    constexpr std::int64_t granule = 16;
    const bool padding = begin >= 0 && begin < size && end <= (size + granule - 1) / granule * granule;
    reporter_.add(padding ? Kind::kernarg_padding : Kind::kernarg_range, s.instruction,
                  fmt::format("bytes {} to {} of the kernel arguments are loaded, but there are {}", begin,
                              end - 1, size));
  }

  // ---- buffer descriptors (hardware.md §6)

  void judge_descriptor(const State& state, const Step& s, const isa::Instruction& inst) {
    for (unsigned i = 0; i < inst.src_count; ++i) {
      const Operand& op = inst.src[i];
      if (!op.is_sgpr() || op.width != 4) continue;
      const Value word = value(state, op, 3);
      if (word.kind == Value::Kind::constant) judge_word3(s, op, word.number);
    }
  }

  void judge_word3(const Step& s, const Operand& op, std::uint32_t word) {
    constexpr std::uint32_t type_and_oob = 0xF0000000;
    constexpr std::uint32_t add_tid = 1U << 23;
    const std::uint32_t right = p_.target->buffer_word3;
    const std::uint32_t format = format_mask(p_.target->generation);
    const bool same_rules = ((word ^ right) & (type_and_oob | add_tid)) == 0;
    const bool has_format = (word & format) != 0;
    if (same_rules && has_format) return;
    reporter_.add(
        Kind::buffer_descriptor, s.instruction,
        fmt::format("word 3 of the descriptor s[{}:{}] is 0x{:08x}: {}; 0x{:08x} is right for {}", op.index,
                    op.index + 3, word,
                    same_rules ? "its format field is 0" : "its type or out-of-bounds rule is another", right,
                    p_.target->name));
  }

  static std::uint32_t format_mask(target::Generation generation) {
    switch (generation) {
      case target::Generation::gfx9:
        return 0xFU << 15;  // DATA_FORMAT
      case target::Generation::gfx10:
      case target::Generation::gfx11:
        return 0x7FU << 12;
      case target::Generation::gfx12:
        return 0x3FU << 12;
    }
    return 0;
  }

  const Program& p_;
  Reporter& reporter_;
  Setup setup_;
  bool reporting_ = false;
};

}  // namespace

void check_constants(const Program& program, Reporter& reporter) {
  Constants constants(program, reporter);
  Solver solver(program, constants);
  if (!solver.solve()) return reporter.add(Kind::too_complex, "constants could not be followed to the end");
  constants.report_now();
  solver.sweep();
}

}  // namespace wavejit::check
