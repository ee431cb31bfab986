// SPDX-License-Identifier: MIT
// Hostile GGUF files: whatever the bytes are, they are refused with an error or what they say holds. Linked
// with libFuzzer (tools/fuzz) and, in the ordinary test run, with a loop of seeded mutations.
#include "tests/fuzz/gguf/gguf_fuzzer.hpp"

#include <algorithm>
#include <cstdlib>

#include "runtime/gguf/header.hpp"

namespace wavejit::test {
namespace {

using gguf::Header;
using gguf::Tensor;

bool inside(std::span<const std::byte> part, std::span<const std::byte> all) {
  return part.empty() || (part.data() >= all.data() && part.data() + part.size() <= all.data() + all.size());
}

/// Bytes of the tensor in a type that does not wrap; exact up to 2^64, and what is more is not below.
long double bytes_of(const Tensor& t) {
  long double bytes = static_cast<long double>(t.row_elements()) /
                      static_cast<long double>(t.type->block_elements) *
                      static_cast<long double>(t.type->block_bytes);
  for (std::size_t i = 1; i < t.dimensions.size(); ++i) bytes *= static_cast<long double>(t.dimensions[i]);
  return bytes;
}

bool tensors_hold(const Header& header, std::uint64_t file_bytes, gguf::Data data) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
  for (const Tensor& t : header.tensors) {
    if (!t.unusable.empty()) {
      if (t.begin < header.data_begin || t.end < t.begin) return false;
      continue;
    }
    if (t.begin < header.data_begin || t.end <= t.begin ||
        bytes_of(t) != static_cast<long double>(t.end - t.begin))
      return false;
    if (data == gguf::Data::present && t.end > file_bytes) return false;
    if (t.row_bytes() * static_cast<std::uint64_t>(t.rows()) != t.end - t.begin) return false;
    if ((t.begin - header.data_begin) % header.alignment != 0) return false;
    places.emplace_back(t.begin, t.end);
  }
  std::ranges::sort(places);
  for (std::size_t i = 1; i < places.size(); ++i)
    if (places[i].first < places[i - 1].second) return false;
  return true;
}

Verdict judge(std::span<const std::byte> bytes, gguf::Data data) {
  const auto header = gguf::parse_header(bytes, bytes.size(), "x", data);
  if (!header) {
    const Error& e = header.error();
    const bool says = e.message.starts_with("x: ") && !e.field.empty() && !e.given.empty() &&
                      !e.allowed.empty() && e.message.size() < 1000;
    return says ? Verdict::refused : Verdict::broken;
  }
  for (const auto& [key, value] : header->metadata) {
    static_cast<void>(value.unsigned_integer());
    static_cast<void>(value.text());
    if (!inside(value.bytes, bytes)) return Verdict::broken;
  }
  return tensors_hold(*header, bytes.size(), data) ? Verdict::read : Verdict::broken;
}

}  // namespace

Verdict judge_gguf(std::span<const std::uint8_t> bytes) {
  const auto raw = std::as_bytes(bytes);
  const Verdict whole = judge(raw, gguf::Data::present), head = judge(raw, gguf::Data::may_be_absent);
  if (head == Verdict::broken) return head;
  // What is right with its data is right without.
  return whole == Verdict::read && head == Verdict::refused ? Verdict::broken : whole;
}

}  // namespace wavejit::test
