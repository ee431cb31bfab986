// SPDX-License-Identifier: MIT
// gfx9: a VALU instruction whose sources and result are bytes or words of registers. The parts are put
// into registers that only the simulator has, the plain instruction runs on them, and its result goes
// where the selectors say.
#include <algorithm>
#include <array>

#include "runtime/device/sim/handlers.hpp"
#include "runtime/device/sim/wave.hpp"

namespace wavejit::sim {
namespace {

using detail::Inst;
using detail::Source;
using Select = isa::Sdwa::Select;

struct Part {
  unsigned shift, bits;
};
constexpr Part part(Select select) {
  const auto n = static_cast<unsigned>(select);
  if (select == Select::dword) return {0, 32};
  if (select >= Select::word0) return {16 * (n - static_cast<unsigned>(Select::word0)), 16};
  return {8 * n, 8};
}

std::uint32_t extract(std::uint32_t x, Part p, bool is_signed) {
  const std::uint32_t top = x << (32 - p.bits - p.shift);
  return is_signed ? static_cast<std::uint32_t>(static_cast<std::int32_t>(top) >> (32 - p.bits))
                   : top >> (32 - p.bits);
}

/// Puts the selected part of source `i` into register `row`, as a source of its own.
void take_source(Wave& w, const Inst& inst, unsigned i, unsigned row, Source& out) {
  const Source& s = inst.src[i];
  if (s.kind == Source::Kind::none) return;
  const Part p = part(inst.mods.sdwa.src[i]);
  const bool is_signed = inst.mods.sdwa.sext[i];
  std::uint32_t* to = w.row(row);
  for (unsigned l = 0; l < w.lanes; ++l) {
    const std::uint32_t x = s.kind == Source::Kind::vgpr ? w.row(s.reg)[l] : w.scalar(s);
    to[l] = p.bits == 32 ? x : extract(x, p, is_signed);
  }
  out.kind = Source::Kind::vgpr;
  out.reg = static_cast<std::uint16_t>(row);
  out.high = false;
}

/// The destination with `value` in its selected part.
std::uint32_t merge(std::uint32_t old, std::uint32_t value, const isa::Sdwa& sdwa) {
  const Part p = part(sdwa.dst);
  if (p.bits == 32) return value;
  const std::uint32_t mask = ((1U << p.bits) - 1) << p.shift;
  const std::uint32_t placed = value << p.shift & mask;
  switch (sdwa.unused) {
    case isa::Sdwa::Unused::preserve:
      return (old & ~mask) | placed;
    case isa::Sdwa::Unused::sext: {
      const bool negative = (value >> (p.bits - 1) & 1) != 0;
      const std::uint32_t above = p.shift + p.bits == 32 ? 0 : ~0U << (p.shift + p.bits);
      return placed | (negative ? above : 0);
    }
    case isa::Sdwa::Unused::pad:
      break;
  }
  return placed;
}

}  // namespace

void sdwa(Wave& w, const Inst& inst) {
  const unsigned rows = w.code->scratch_rows;
  Inst plain = inst;
  plain.mods.sdwa = {};
  for (unsigned i = 0; i < std::min<unsigned>(inst.src_count, 2); ++i)
    take_source(w, inst, i, rows + i, plain.src[i]);
  const bool to_register = inst.has_dst && !inst.dst_scalar;
  const unsigned result = rows + 2;
  if (to_register) {
    std::copy_n(w.row(inst.dst), w.lanes, w.row(result));
    plain.dst = static_cast<std::uint16_t>(result);
    plain.dst_high = false;
  }
  handlers().get(inst.op, w.code->target->generation).execute(w, plain);
  if (!to_register) return;
  const std::uint64_t exec = w.exec();
  for (unsigned l = 0; l < w.lanes; ++l) {
    std::uint32_t& to = w.row(inst.dst)[l];
    if ((exec >> l & 1) != 0) to = merge(to, w.row(result)[l], inst.mods.sdwa);
  }
}

}  // namespace wavejit::sim
