// SPDX-License-Identifier: MIT
// ALU opcodes against their definitions, written out anew: plain loops and wide integers over one lane's
// operands. Operands are the values at which something changes (signs, halves, bytes, shift counts, 24 bits),
// and random ones.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace wavejit::test::rules {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

inline i64 sx(u32 x) { return static_cast<i32>(x); }
inline i64 sx16(u32 x) { return static_cast<std::int16_t>(x); }
inline i64 sx24(u32 x) { return static_cast<i32>(x << 8) >> 8; }
inline u32 low(i64 x) { return static_cast<u32>(x); }
inline u32 low16(i64 x) { return static_cast<u32>(x) & 0xFFFF; }
inline i64 clamp(i64 x, i64 least, i64 most) { return x < least ? least : x > most ? most : x; }
inline u32 clamp16(i64 x) { return low16(clamp(x, -32768, 32767)); }
inline u32 clampu16(i64 x) { return low16(clamp(x, 0, 65535)); }
inline i64 middle(i64 a, i64 b, i64 c) { return a + b + c - std::min({a, b, c}) - std::max({a, b, c}); }
inline float f(u32 x) { return std::bit_cast<float>(x); }
inline u32 bits(float x) { return std::bit_cast<u32>(x); }

/// Each half by itself.
template <class F>
u32 halves(u32 a, u32 b, u32 c, F&& each) {
  return (each(a & 0xFFFF, b & 0xFFFF, c & 0xFFFF) & 0xFFFF) | each(a >> 16, b >> 16, c >> 16) << 16;
}
// f16 by its definition, in double.
double h(u32 x);
/// To nearest, ties to even.
u32 to_half(double x);

struct Op {
  std::string text;  ///< of {0} = result, {1} {2} {3} = operands
  std::function<u32(u32, u32, u32)> is;
};

enum class Kind : std::uint8_t { integer, real, half };

/// Runs each op on 8 x 32 triples of operands of that kind.
void check(const std::vector<Op>& ops, std::string_view target = "gfx1151", Kind kind = Kind::integer);

/// The low half of a result whose high half stays.
inline u32 low_half(u32 x) { return 0xAAAA0000 | (x & 0xFFFF); }

}  // namespace wavejit::test::rules
