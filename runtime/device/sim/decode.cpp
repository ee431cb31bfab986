// SPDX-License-Identifier: MIT
// DecodedKernel -> Code: everything that can be known before the first instruction runs.
#include <fmt/format.h>

#include <algorithm>

#include "generator/lower/descriptor_bits.hpp"
#include "runtime/device/sim/handlers.hpp"
#include "runtime/device/sim/operands.hpp"
#include "runtime/device/sim/simulator.hpp"

namespace wavejit::sim {
namespace {

using detail::Code;
using detail::Inst;
using detail::Source;
using isa::Operand;
using isa::RegClass;

constexpr unsigned agpr_base = 256;

class Decoder {
 public:
  Decoder(const lower::DecodedKernel& kernel, Code& code) : kernel_(kernel), code_(code) {}

  Result<void> run() {
    code_.insts.reserve(kernel_.instructions.size() + 1);
    for (std::uint32_t i = 0; i < kernel_.instructions.size(); ++i) {
      auto inst = decode(i);
      if (!inst) return std::unexpected(std::move(inst.error()));
      code_.insts.push_back(*inst);
      const lower::DecodedInstruction& d = kernel_.instructions[i];
      code_.texts.push_back({d.text, d.address, d.line});
      if (d.reserved_bits) code_.reserved.push_back(i);
    }
    return {};
  }

 private:
  std::unexpected<Error> bad(std::uint32_t i, ErrorCode code, std::string_view what) const {
    const auto& d = kernel_.instructions[i];
    return fail(code,
                fmt::format("{}: `{}` at 0x{:x} in kernel '{}'", what, d.text, d.address, kernel_.name));
  }

  Result<Inst> decode(std::uint32_t i) {
    const isa::Instruction& in = kernel_.instructions[i].inst;
    Inst out;
    out.index = i;
    out.op = in.op;
    out.mods = in.mods;
    const Handler& handler = handlers().get(in.op, code_.target->generation);
    if (handler.execute == nullptr || in.op == isa::Opcode::invalid) {
      return bad(i, ErrorCode::unknown_instruction, "the simulator does not know the instruction");
    }
    if (const std::string_view what = unsupported(in); !what.empty())
      return bad(i, ErrorCode::unsupported, what);
    out.execute = in.mods.lds ? lds_dma : in.mods.sdwa.on ? sdwa : handler.execute;
    out.floats = handler.floats;
    out.pipe = in.pipe();
    out.on_undefined = detail::on_undefined(in.op);
    out.lanes = detail::lane_use(in.op);
    out.writes_all_lanes = in.has(isa::flag::no_exec) || in.pipe() == isa::Pipe::matrix;
    out.dual_first = in.dual == isa::Dual::x;
    if (out.dual_first &&
        (i + 1 >= kernel_.instructions.size() || kernel_.instructions[i + 1].inst.dual != isa::Dual::y)) {
      return bad(i, ErrorCode::invalid_code_object, "a dual instruction lacks its second half");
    }
    if (in.src_count > out.src.size()) return bad(i, ErrorCode::unknown_instruction, "too many operands");
    if (!widths_match(in)) return bad(i, ErrorCode::invalid_code_object, "an operand has the wrong width");
    if (auto ok = sources(i, in, out); !ok) return std::unexpected(std::move(ok.error()));
    if (auto ok = destinations(i, in, out); !ok) return std::unexpected(std::move(ok.error()));
    implicit(in, out);
    note_words(out);
    return out;
  }

  /// Forms of known instructions that are not simulated; empty for the others.
  [[nodiscard]] std::string_view unsupported(const isa::Instruction& in) const {
    if (in.has(isa::flag::buffer) && in.mods.idxen) return "indexed buffer access is not simulated";
    if (in.mods.cbsz != 0 || in.mods.abid != 0 || in.mods.blgp != 0) {
      return "broadcasts of a matrix instruction's operands are not simulated";
    }
    if (in.pipe() == isa::Pipe::barrier && in.src_count == 1) {
      const bool workgroup = in.src[0].kind == Operand::Kind::imm && in.src[0].value == -1;
      if (!workgroup) return "barriers other than the workgroup's (-1) are not simulated";
    }
    if (!in.mods.lds && !in.has(isa::flag::to_lds)) return {};
    const unsigned bytes = lds_dma_bytes(in.op);
    const bool exists =
        bytes != 0 && bytes % 4 == 0 && (code_.target->lds_dma_dwords >> (bytes / 4 - 1) & 1) != 0;
    return exists ? std::string_view{} : "a load to LDS of this width is not simulated";
  }

  /// Handlers rely on each tuple being as wide as the opcode says.
  [[nodiscard]] bool widths_match(const isa::Instruction& in) const {
    const isa::Signature sig = isa::signature(in.op, *code_.target);
    const auto fits = [&](const Operand& o, const isa::OperandSpec& spec) {
      if (!class_fits(in, o, spec.cls)) return false;
      if (!o.is_reg()) return true;
      if (spec.cls == 'M') return o.width == mask_width() || o.is_physical(RegClass::sgpr, isa::sreg::null);
      if (o.is_physical(RegClass::sgpr, isa::sreg::null)) return true;
      return spec.width == 0 || o.width == spec.width;
    };
    // Atomics and loads to LDS may lack their destination; nothing else may lack anything.
    const unsigned lack = sig.dst_count - std::min(sig.dst_count, in.dst_count);
    if (in.dst_count > sig.dst_count || in.src_count != sig.src_count) return false;
    if (lack > 0 && !in.has(isa::flag::atomic) && !in.mods.lds) return false;
    for (unsigned n = 0; n < in.dst_count; ++n)
      if (!fits(in.dst[n], sig.dst[n])) return false;
    for (unsigned n = 0; n < in.src_count; ++n)
      if (!fits(in.src[n], sig.src[n])) return false;
    if (in.pipe() != isa::Pipe::matrix) return true;
    const auto [ab, cd] = detail::matrix_widths(in, *code_.target, code_.lanes);
    if (in.dst[0].width != cd ||
        (in.src[2].is_reg() && (in.src[2].width != cd || in.src[2].cls != in.dst[0].cls)))
      return false;
    const bool vectors =
        in.src[0].is_reg() && in.src[1].is_reg() && !in.src[0].is_sgpr() && !in.src[1].is_sgpr();
    return vectors && in.src[0].width == ab && in.src[1].width == ab;
  }

  static bool class_fits(const isa::Instruction& in, const Operand& o, char cls) {
    const bool absent_address = o.kind == Operand::Kind::none && in.pipe() == isa::Pipe::vmem;
    switch (cls) {
      case 'v':
        return o.is_vgpr() || absent_address ||
               ((in.pipe() == isa::Pipe::vmem || in.pipe() == isa::Pipe::lds) && o.is_reg(RegClass::agpr));
      case 'a':
        return o.is_vgpr() || o.is_reg(RegClass::agpr);
      case 'A':
        return o.is_vgpr() || o.is_reg(RegClass::agpr) || o.is_const();
      case 'S':
      case 'n':
      case 'M':
        return o.is_sgpr();
      case 's':
        return o.is_sgpr() || o.is_const() || o.kind == Operand::Kind::special;
      case 'i':
        return o.is_const();
      case 'L':
        return o.kind == Operand::Kind::label;
      default:
        return o.is_vgpr() || o.is_sgpr() || o.is_const() || o.kind == Operand::Kind::special;
    }
  }

  /// Register number of an operand in the simulator's numbering; negative when it does not exist.
  static int number(const Operand& o) {
    if (o.is_virtual || o.width == 0) return -1;
    const unsigned end = o.index + o.width;
    switch (o.cls) {
      case RegClass::sgpr:
        return end <= isa::sreg::count ? static_cast<int>(o.index) : -1;
      case RegClass::vgpr:
        return end <= agpr_base ? static_cast<int>(o.index) : -1;
      case RegClass::agpr:
        return end <= detail::vector_registers - agpr_base ? static_cast<int>(o.index + agpr_base) : -1;
    }
    return -1;
  }

  Result<void> sources(std::uint32_t i, const isa::Instruction& in, Inst& out) {
    out.src_count = in.src_count;
    out.reads_begin = static_cast<std::uint32_t>(code_.touches.size());
    for (unsigned n = 0; n < in.src_count; ++n) {
      const Operand& o = in.src[n];
      Source& s = out.src[n];
      s.neg = o.neg;
      s.abs = o.abs;
      s.width = o.width;
      s.high = o.half == isa::Half::high || (in.mods.op_sel >> n & 1) != 0;
      switch (o.kind) {
        case Operand::Kind::none:
          break;
        case Operand::Kind::imm:
        case Operand::Kind::fimm:
          s.kind = Source::Kind::constant;
          s.value = detail::constant_bits(in, n);
          break;
        case Operand::Kind::label:
          if (o.index >= kernel_.instructions.size()) {
            return bad(i, ErrorCode::invalid_code_object, "a branch leaves the kernel");
          }
          out.target = o.index;
          break;
        case Operand::Kind::special:
          if (!special(o, s)) return bad(i, ErrorCode::unsupported, "an operand is not simulated");
          if (o.index == static_cast<std::uint32_t>(isa::Special::scc)) out.sread.set(detail::scc_index);
          if (o.index == static_cast<std::uint32_t>(isa::Special::vccz))
            read_scalar(out, isa::sreg::vcc_lo, mask_width());
          break;
        case Operand::Kind::reg: {
          const int reg = number(o);
          if (reg < 0) return bad(i, ErrorCode::invalid_code_object, "a register does not exist");
          s.reg = static_cast<std::uint16_t>(reg);
          if (o.cls == RegClass::sgpr) {
            s.kind = Source::Kind::sgpr;
            read_scalar(out, o.index, o.width);
          } else {
            s.kind = Source::Kind::vgpr;
            read_vector(out, s.reg, o.width, detail::source_halves(in, n, *code_.target), n,
                        detail::dwords_read(in, n));
          }
          break;
        }
      }
    }
    if (detail::accumulates(in.op) && in.dst_count > 0 && in.dst[0].is_reg()) {
      const int reg = number(in.dst[0]);
      if (reg < 0) return bad(i, ErrorCode::invalid_code_object, "a register does not exist");
      if (in.dst[0].cls == RegClass::sgpr) {
        read_scalar(out, in.dst[0].index, in.dst[0].width);
      } else {
        read_vector(out, static_cast<unsigned>(reg), in.dst[0].width,
                    detail::destination_halves(in, *code_.target), in.src_count);
      }
    }
    // A byte that is put into a register leaves the other byte of its half as it was.
    const isa::Sdwa& sdwa_part = in.mods.sdwa;
    if (sdwa_part.on && sdwa_part.unused == isa::Sdwa::Unused::preserve &&
        sdwa_part.dst <= isa::Sdwa::Select::byte3 && in.dst[0].is_vgpr() && number(in.dst[0]) >= 0) {
      read_vector(out, in.dst[0].index, 1, detail::destination_halves(in, *code_.target), in.src_count);
    }
    out.reads_count = static_cast<std::uint16_t>(code_.touches.size() - out.reads_begin);
    return {};
  }

  static bool special(const Operand& o, Source& s) {
    s.kind = Source::Kind::sgpr;
    switch (static_cast<isa::Special>(o.index)) {
      case isa::Special::scc:
        s.reg = detail::scc_index;
        return true;
      case isa::Special::vccz:
        s.reg = detail::vccz_index;
        return true;
      case isa::Special::execz:
        s.reg = detail::execz_index;
        return true;
      default:
        return false;
    }
  }

  Result<void> destinations(std::uint32_t i, const isa::Instruction& in, Inst& out) {
    out.writes_begin = static_cast<std::uint32_t>(code_.touches.size());
    for (unsigned n = 0; n < in.dst_count; ++n) {
      const Operand& o = in.dst[n];
      const int reg = o.is_reg() ? number(o) : -1;
      if (reg < 0) return bad(i, ErrorCode::invalid_code_object, "a destination is not a register");
      const bool scalar = o.cls == RegClass::sgpr;
      if (n == 1) {
        if (!scalar) return bad(i, ErrorCode::invalid_code_object, "a second destination is not scalar");
        out.has_dst2 = true;
        out.dst2 = static_cast<std::uint16_t>(reg);
      } else {
        out.has_dst = true;
        out.dst_scalar = scalar;
        out.dst = static_cast<std::uint16_t>(reg);
        out.dst_width = o.width;
        out.dst_high = detail::destination_halves(in, *code_.target) == detail::high_half;
        out.clears_high = detail::clears_high_half(in.op, *code_.target);
      }
      if (scalar) {
        for (unsigned r = o.index; r < o.index + o.width; ++r)
          if (r != isa::sreg::null) out.swrite.set(r);
      } else {
        write_vector(out, static_cast<unsigned>(reg), o.width, detail::destination_halves(in, *code_.target));
      }
    }
    // The source of a swap is a destination as well.
    const bool swaps = in.op == isa::Opcode::v_swap_b32 || in.op == isa::Opcode::v_permlane16_swap_b32 ||
                       in.op == isa::Opcode::v_permlane32_swap_b32;
    if (swaps) write_vector(out, out.src[0].reg, 1, detail::both_halves);
    if (in.op == isa::Opcode::v_swap_b16)
      write_vector(out, out.src[0].reg, 1, detail::source_halves(in, 0, *code_.target));
    out.writes_count = static_cast<std::uint16_t>(code_.touches.size() - out.writes_begin);
    return {};
  }

  void read_scalar(Inst& out, unsigned reg, unsigned width) {
    for (unsigned r = reg; r < reg + width; ++r)
      if (r != isa::sreg::null) out.sread.set(r);
  }

  void read_vector(Inst& out, unsigned reg, unsigned width, std::uint8_t halves, unsigned source,
                   std::uint32_t dwords = ~0U) {
    for (unsigned r = reg; r < reg + width; ++r) {
      if ((dwords >> (r - reg) & 1) == 0) continue;
      out.vread.set(r);
      code_.touches.push_back({static_cast<std::uint16_t>(r), halves, static_cast<std::uint8_t>(source)});
      note_register(out, r);
    }
  }

  void write_vector(Inst& out, unsigned reg, unsigned width, std::uint8_t halves) {
    for (unsigned r = reg; r < reg + width; ++r) {
      out.vwrite.set(r);
      code_.touches.push_back({static_cast<std::uint16_t>(r), halves, 0});
      note_register(out, r);
    }
  }

  void note_register(Inst& out, unsigned reg) {
    code_.register_rows = std::max(code_.register_rows, reg + 1);
    const bool inside =
        reg < agpr_base ? reg < code_.allocated_vgprs : reg - agpr_base < code_.allocated_agprs;
    if (!inside) out.out_of_allocation = true;
  }

  static void note_words(Inst& out) {
    unsigned begin = 0;
    unsigned end = detail::VectorSet::words;
    const auto empty = [&](unsigned i) { return (out.vread.w[i] | out.vwrite.w[i]) == 0; };
    while (begin < end && empty(begin)) ++begin;
    while (end > begin && empty(end - 1)) --end;
    out.word_begin = static_cast<std::uint8_t>(begin);
    out.word_end = static_cast<std::uint8_t>(end);
  }

  void implicit(const isa::Instruction& in, Inst& out) {
    const isa::Implicit used = isa::implicit(in);
    if (used.reads_scc) out.sread.set(detail::scc_index);
    if (used.writes_scc) out.swrite.set(detail::scc_index);
    if (used.reads_m0) out.sread.set(isa::sreg::m0);
    const auto each = [&](detail::ScalarSet& set, unsigned reg) {
      for (unsigned r = reg; r < reg + mask_width(); ++r) set.set(r);
    };
    if (used.reads_vcc) each(out.sread, isa::sreg::vcc_lo);
    if (used.writes_vcc) each(out.swrite, isa::sreg::vcc_lo);
    if (used.reads_exec) each(out.sread, isa::sreg::exec_lo);
    if (used.writes_exec) each(out.swrite, isa::sreg::exec_lo);
  }

  [[nodiscard]] unsigned mask_width() const { return code_.lanes / 32; }

  const lower::DecodedKernel& kernel_;
  Code& code_;
};

/// hardware.md §9.1 and §9.2.
detail::EntryLayout entry_layout(const lower::KernelDescriptor& d, const target::Target& target) {
  detail::EntryLayout e;
  int next = 0;
  const auto take = [&](unsigned bit, int count, int& where) {
    if ((d.properties >> bit & 1) == 0) return;
    where = next;
    next += count;
  };
  take(0, 4, e.private_buffer);
  take(1, 2, e.dispatch_ptr);
  take(2, 2, e.queue_ptr);
  take(3, 2, e.kernarg_ptr);
  take(4, 2, e.dispatch_id);
  take(5, 2, e.flat_scratch);
  take(6, 1, e.private_size);
  e.preload_first = static_cast<unsigned>(next);
  e.preload_count = d.preload & 0x7F;
  e.preload_offset = d.preload >> 7;
  e.user_sgprs = static_cast<std::uint8_t>(d.rsrc2 >> 1 & 0x1F);
  e.ids_in_ttmp = target.workgroup_ids_in_ttmp;
  int system = e.user_sgprs;
  for (unsigned i = 0; i < 3; ++i)
    if ((d.rsrc2 >> (7 + i) & 1) != 0 && !e.ids_in_ttmp) e.workgroup_id[i] = system++;
  if ((d.rsrc2 >> 10 & 1) != 0) e.workgroup_info = system;
  e.workitem_id_dims = static_cast<std::uint8_t>((d.rsrc2 >> 11 & 3) + 1);
  return e;
}

/// Kernels with preloaded arguments begin 256 bytes in, behind a prologue that loads the same SGPRs for
/// firmware that does not preload (hardware.md §9.2).
Result<void> find_entry(Code& code) {
  if (code.entry.preload_count == 0) return {};
  constexpr std::uint64_t prologue = 256;
  const std::uint64_t wanted = code.texts.front().address + prologue;
  const auto at = std::ranges::lower_bound(code.texts, wanted, {}, &detail::InstText::address);
  if (at == code.texts.end() || at->address != wanted) {
    return fail(
        ErrorCode::invalid_code_object,
        fmt::format("kernel '{}' has preloaded arguments, but no instruction 256 bytes in", code.name));
  }
  code.entry_index = static_cast<std::uint32_t>(at - code.texts.begin());
  return {};
}

/// Names and values of descriptor fields with bits that must be 0.
std::string reserved_fields(const lower::KernelDescriptor& d, const target::Target& target) {
  const lower::ReservedBits zero = lower::reserved_descriptor_bits(target);
  std::string text;
  const auto field = [&](std::string_view name, std::uint32_t value, std::uint32_t mask) {
    if ((value & mask) == 0) return;
    text += fmt::format("{}{} is 0x{:x}, where 0x{:x} must be 0", text.empty() ? "" : "; ", name, value,
                        value & mask);
  };
  field("RSRC1", d.rsrc1, zero.rsrc1);
  field("RSRC2", d.rsrc2, zero.rsrc2);
  field("RSRC3", d.rsrc3, zero.rsrc3);
  field("kernel_code_properties", d.properties, zero.properties);
  return text;
}

/// A launcher takes the LDS size from the metadata, the checks here from the descriptor.
Result<void> check_metadata(const lower::DecodedKernel& kernel) {
  if (kernel.group_segment_size == kernel.descriptor.group_segment_fixed_size) return {};
  return fail_field(ErrorCode::invalid_code_object,
                    fmt::format(".group_segment_fixed_size of kernel '{}'", kernel.name),
                    fmt::format("{} in the metadata", kernel.group_segment_size),
                    fmt::format("{}, as its descriptor says", kernel.descriptor.group_segment_fixed_size));
}

}  // namespace

Result<Program> Program::create(const lower::DecodedKernel& kernel, const target::Target& target) {
  if (auto ok = check_metadata(kernel); !ok) return std::unexpected(std::move(ok.error()));
  auto code = std::make_shared<Code>();
  const lower::KernelDescriptor& d = kernel.descriptor;
  code->target = &target;
  code->name = kernel.name;
  code->descriptor = d;
  const bool gfx9 = target.generation == target::Generation::gfx9;
  code->lanes = gfx9 || (d.properties >> 10 & 1) == 0 ? 64 : 32;
  const unsigned granule =
      !gfx9 && code->lanes == 64 ? target.vgpr_encode_granule / 2 : target.vgpr_encode_granule;
  code->allocated_vgprs = ((d.rsrc1 & 0x3F) + 1) * granule;
  if (target.has_agprs) {
    const unsigned all = code->allocated_vgprs;
    code->allocated_vgprs = std::min(all, ((d.rsrc3 & 0x3F) + 1) * target.accum_offset_granule);
    code->allocated_agprs = all - code->allocated_vgprs;
  }
  code->lds_bytes = d.group_segment_fixed_size;
  code->private_bytes = d.private_segment_fixed_size;
  code->kernarg_bytes = std::max(d.kernarg_size, kernel.kernarg_segment_size);
  code->max_workgroup_size = kernel.max_flat_workgroup_size;
  code->xnack_off = kernel.xnack_off;
  code->required_workgroup_size = kernel.required_workgroup_size;
  code->source = kernel.source;
  code->reserved_in_descriptor = reserved_fields(d, target);
  code->entry = entry_layout(d, target);
  // RSRC1 float round and denorm [19:12] are MODE [7:0]; DX10_CLAMP 21, IEEE 23.
  code->mode = (d.rsrc1 >> 12 & 0xFF) | (d.rsrc1 >> 21 & 1) << 8 | (d.rsrc1 >> 23 & 1) << 9;
  // gfx12 has neither bit: NaNs clamp to 0, minimum and maximum pass over them.
  if (target.generation == target::Generation::gfx12) code->mode = (code->mode & 0xFF) | 1U << 8;
  if (kernel.instructions.empty()) {
    return fail(ErrorCode::invalid_code_object, fmt::format("kernel '{}' has no instructions", kernel.name));
  }
  if (code->private_bytes > 64 * 1024) {
    return fail_field(ErrorCode::unsupported, "private segment", fmt::format("{} bytes", code->private_bytes),
                      "at most 65536 bytes per work-item");
  }
  if (auto ok = Decoder(kernel, *code).run(); !ok) return std::unexpected(std::move(ok.error()));
  code->register_rows = std::max({code->register_rows, code->allocated_vgprs, 3U});
  if (auto ok = find_entry(*code); !ok) return std::unexpected(std::move(ok.error()));
  const bool uses_sdwa = std::ranges::any_of(code->insts, [](const Inst& i) { return i.mods.sdwa.on; });
  code->scratch_rows = code->register_rows;
  if (uses_sdwa) code->register_rows += sdwa_rows;
  return Program(std::move(code));
}

}  // namespace wavejit::sim
