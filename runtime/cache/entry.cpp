// SPDX-License-Identifier: MIT
#include "runtime/cache/entry.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/cache/wire.hpp"

namespace wavejit::cache {
namespace {

constexpr std::string_view magic = "WJENTRY\n";
constexpr std::size_t header_bytes = 24, checksum_bytes = 16;

ParsedEntry missed(Miss miss, std::string detail) {
  return {.miss = miss, .detail = std::move(detail), .entry = {}};
}

}  // namespace

Bytes serialise(std::string_view key_text, std::span<const std::uint8_t> payload) {
  wire::Writer out;
  out.reserve(header_bytes + key_text.size() + payload.size() + checksum_bytes);
  out.text(magic);
  out.number(entry_format_version);
  out.number(static_cast<std::uint32_t>(key_text.size()));
  out.number(std::uint64_t{payload.size()});
  out.text(key_text);
  out.bytes(payload);
  out.digest(digest(out.so_far()));
  return out.take();
}

ParsedEntry parse_entry(std::span<const std::uint8_t> file) {
  wire::Reader in(file);
  const std::string_view start = in.text(std::min(magic.size(), file.size()));
  if (!magic.starts_with(start)) return missed(Miss::foreign_format, "not a cache entry");
  const auto version = in.number<std::uint32_t>(), key_size = in.number<std::uint32_t>();
  const auto payload_size = in.number<std::uint64_t>();
  if (file.size() >= magic.size() + 4 && version != entry_format_version)
    return missed(Miss::foreign_format,
                  fmt::format("format version {}, this build reads {}", version, entry_format_version));
  if (!in.ok()) return missed(Miss::truncated, fmt::format("{} bytes are no whole header", file.size()));
  if (key_size > max_key_bytes || payload_size > max_payload_bytes ||
      file.size() != header_bytes + key_size + payload_size + checksum_bytes)
    return missed(Miss::truncated,
                  fmt::format("{} bytes, but its header speaks of a key of {} and a payload of {}",
                              file.size(), key_size, payload_size));
  const std::string_view key = in.text(key_size);
  const auto payload = in.bytes(payload_size);
  if (in.digest() != digest(file.first(file.size() - checksum_bytes)))
    return missed(Miss::checksum, "some byte is not as it was written");
  return {.miss = Miss::none,
          .detail = {},
          .entry = {.key_text = std::string(key), .payload = {payload.begin(), payload.end()}}};
}

std::string peek_key(std::span<const std::uint8_t> first_bytes) {
  wire::Reader in(first_bytes);
  if (in.text(magic.size()) != magic || in.number<std::uint32_t>() != entry_format_version) return {};
  const auto key_size = in.number<std::uint32_t>();
  in.number<std::uint64_t>();
  return std::string(in.text(key_size));
}

}  // namespace wavejit::cache
