// SPDX-License-Identifier: MIT
#include "generator/isa/opcode.hpp"

#include <array>
#include <cassert>
#include <cstddef>

namespace wavejit::isa {
namespace {

constexpr std::size_t op_count = static_cast<std::size_t>(Opcode::count_);

constexpr std::array<OpcodeInfo, op_count> make_table() {
  using namespace flag;
  return {{
      {"invalid", Pipe::hint, "=", none},
#define WJ_OP(name, pipe, sig, flags) {#name, Pipe::pipe, sig, flags},
#include "generator/isa/opcodes.def"
#undef WJ_OP
  }};
}
constexpr std::array<OpcodeInfo, op_count> table = make_table();

/// Reads "v1,M1=x1,x1,x2". Masks keep width 0 here: the wave size is known only to the caller.
constexpr Signature parse_signature(std::string_view text) {
  Signature result;
  bool in_sources = false;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '=') {
      in_sources = true;
      ++i;
      continue;
    }
    if (text[i] == ',') {
      ++i;
      continue;
    }
    OperandSpec spec{text[i++], 0};
    unsigned width = 0;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9')
      width = width * 10 + unsigned(text[i++] - '0');
    spec.width = static_cast<std::uint8_t>(width);
    if (in_sources) {
      result.src[result.src_count++] = spec;
    } else {
      result.dst[result.dst_count++] = spec;
    }
  }
  return result;
}

constexpr std::array<Signature, op_count> make_signatures() {
  std::array<Signature, op_count> result{};
  for (std::size_t i = 0; i < op_count; ++i) result[i] = parse_signature(table[i].signature);
  return result;
}
constexpr std::array<Signature, op_count> signatures = make_signatures();

}  // namespace

const OpcodeInfo& info(Opcode op) {
  assert(static_cast<std::size_t>(op) < op_count);
  return table[static_cast<std::size_t>(op)];
}

Signature signature(Opcode op, const target::Target& target) {
  assert(static_cast<std::size_t>(op) < op_count);
  Signature result = signatures[static_cast<std::size_t>(op)];
  const auto mask_width = static_cast<std::uint8_t>(target.wave_size / 32);
  for (OperandSpec& spec : result.dst)
    if (spec.cls == 'M') spec.width = mask_width;
  for (OperandSpec& spec : result.src)
    if (spec.cls == 'M') spec.width = mask_width;
  // On gfx9 v_cmpx writes its mask to VCC or an SGPR pair as well as to EXEC (CDNA3 ISA manual, VOPC).
  const OpcodeInfo& op_info = info(op);
  if (target.generation == target::Generation::gfx9 && op_info.pipe == Pipe::valu &&
      op_info.has(flag::exec_w)) {
    result.dst[0] = {'M', mask_width};
    result.dst_count = 1;
  }
  return result;
}

}  // namespace wavejit::isa
