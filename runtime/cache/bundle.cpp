// SPDX-License-Identifier: MIT
#include "runtime/cache/bundle.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "runtime/cache/explain.hpp"
#include "runtime/cache/posix.hpp"
#include "runtime/cache/wire.hpp"

namespace wavejit::cache {
namespace {

constexpr std::string_view magic = "WJBUNDLE";
constexpr std::size_t header_bytes = 32, slot_bytes = 56, checksum_bytes = 16;
/// Beyond these a header is taken for a lie: index and keys are read into memory.
constexpr std::uint64_t max_entries = 1 << 20, max_all_keys = 256ULL << 20;

struct Slot {
  Digest digest;
  std::uint64_t key_offset = 0, key_size = 0, payload_size = 0;
  Digest payload_checksum;
  std::uint64_t payload_offset = 0;  ///< follows from the sizes before; not in the file
};

std::unexpected<Error> malformed(const std::filesystem::path& path, std::string_view why) {
  return fail(ErrorCode::invalid_argument, fmt::format("{} is no sound bundle: {}", path.string(), why));
}

Lookup missed(Miss miss, std::string detail) {
  return {.payload = std::nullopt, .miss = miss, .detail = std::move(detail)};
}

}  // namespace

Result<Bytes> serialise_bundle(std::vector<Entry> entries) {
  struct Item {
    Digest digest;
    Entry entry;
  };
  std::vector<Item> items;
  for (Entry& entry : entries) {
    if (entry.key_text.size() > max_key_bytes || entry.payload.size() > max_payload_bytes)
      return fail(ErrorCode::invalid_argument, "an entry is too large for a bundle");
    const Digest d = digest(entry.key_text);
    items.push_back({.digest = d, .entry = std::move(entry)});
  }
  const auto order = [](const Item& item) { return std::tie(item.digest, item.entry.key_text); };
  std::ranges::sort(items, {}, order);
  const auto twins = std::ranges::unique(items, [](const Item& a, const Item& b) {
    return a.entry.key_text == b.entry.key_text && a.entry.payload == b.entry.payload;
  });
  items.erase(twins.begin(), twins.end());
  if (const auto same = std::ranges::adjacent_find(items, {}, order); same != items.end())
    return fail(ErrorCode::invalid_argument,
                fmt::format("one key has two payloads: {}", to_hex(same->digest)));
  if (items.size() > max_entries) return fail(ErrorCode::invalid_argument, "too many entries for a bundle");

  std::uint64_t keys = 0, payloads = 0;
  for (const Item& item : items) {
    keys += item.entry.key_text.size();
    payloads += item.entry.payload.size();
  }
  const std::uint64_t index = header_bytes + slot_bytes * items.size() + keys + checksum_bytes;
  wire::Writer out;
  out.reserve(index + payloads);
  out.text(magic);
  out.number(bundle_format_version);
  out.number(static_cast<std::uint32_t>(items.size()));
  out.number(keys);
  out.number(index + payloads);
  std::uint64_t at = 0;
  for (const Item& item : items) {
    out.digest(item.digest);
    out.number(at);
    out.number(std::uint64_t{item.entry.key_text.size()});
    out.number(std::uint64_t{item.entry.payload.size()});
    out.digest(digest(item.entry.payload));
    at += item.entry.key_text.size();
  }
  for (const Item& item : items) out.text(item.entry.key_text);
  out.digest(digest(out.so_far()));
  for (const Item& item : items) out.bytes(item.entry.payload);
  return out.take();
}

struct Bundle::Impl {
  std::filesystem::path path;
  posix::Descriptor file;
  Bytes index;  ///< the file up to the payloads
  std::vector<Slot> slots;
  std::size_t keys_at = 0;

  [[nodiscard]] std::string_view key_text(const Slot& slot) const {
    return {reinterpret_cast<const char*>(index.data()) + keys_at + slot.key_offset, slot.key_size};
  }
};

Bundle::Bundle(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Bundle::Bundle(Bundle&&) noexcept = default;
Bundle& Bundle::operator=(Bundle&&) noexcept = default;
Bundle::~Bundle() = default;

namespace {

/// Reads the slots and checks them against each other and the sizes in the header; why not, or empty.
std::string read_slots(wire::Reader& in, std::uint32_t count, std::uint64_t keys, std::uint64_t payload_at,
                       std::uint64_t whole, std::vector<Slot>& slots) {
  std::uint64_t key_at = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    Slot s;
    s.digest = in.digest();
    s.key_offset = in.number<std::uint64_t>();
    s.key_size = in.number<std::uint64_t>();
    s.payload_size = in.number<std::uint64_t>();
    s.payload_checksum = in.digest();
    s.payload_offset = payload_at;
    if (s.key_offset != key_at || s.key_size > max_key_bytes || s.key_size > keys - key_at)
      return fmt::format("entry {}'s key lies outside the key texts", i);
    if (s.payload_size > max_payload_bytes || s.payload_size > whole - payload_at)
      return fmt::format("entry {}'s payload lies outside the file", i);
    if (!slots.empty() && s.digest < slots.back().digest) return fmt::format("entry {} is out of order", i);
    key_at += s.key_size;
    payload_at += s.payload_size;
    slots.push_back(s);
  }
  if (key_at != keys || payload_at != whole) return "its parts do not fill it";
  return {};
}

}  // namespace

Result<Bundle> Bundle::open(const std::filesystem::path& path) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  // Named by its user, who may have a symlink there, unlike in a cache folder.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return fail(ErrorCode::io, fmt::format("cannot open {}: {}", path.string(), posix::reason(errno)));
  impl->file = posix::Descriptor(fd);
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return malformed(path, "not a regular file");
  const auto size = static_cast<std::uint64_t>(status.st_size);

  const auto header = posix::read_at(fd, 0, header_bytes);
  if (!header)
    return fail(ErrorCode::io,
                fmt::format("cannot read {}: {}", path.string(), posix::reason(header.error())));
  wire::Reader head(*header);
  if (head.text(magic.size()) != magic) return malformed(path, "it does not begin as one");
  const auto version = head.number<std::uint32_t>(), count = head.number<std::uint32_t>();
  const auto keys = head.number<std::uint64_t>(), whole = head.number<std::uint64_t>();
  if (!head.ok()) return malformed(path, "its header is cut short");
  if (version != bundle_format_version)
    return malformed(path,
                     fmt::format("format version {}, this build reads {}", version, bundle_format_version));
  if (whole != size) return malformed(path, fmt::format("{} bytes, but should have {}", size, whole));
  const std::uint64_t index = header_bytes + slot_bytes * std::uint64_t{count} + keys + checksum_bytes;
  if (count > max_entries || keys > max_all_keys || index > size)
    return malformed(path, "its index is larger than the file or than any bundle's");

  auto bytes = posix::read_at(fd, 0, static_cast<std::size_t>(index));
  if (!bytes || bytes->size() != index) return malformed(path, "its index cannot be read whole");
  impl->index = std::move(*bytes);
  wire::Reader in(impl->index);
  in.bytes(header_bytes);
  impl->keys_at = header_bytes + slot_bytes * std::size_t{count};
  const auto covered = std::span(impl->index).first(impl->index.size() - checksum_bytes);
  wire::Reader end(std::span<const std::uint8_t>(impl->index).last(checksum_bytes));
  if (end.digest() != digest(covered)) return malformed(path, "the checksum of its index is wrong");
  if (const std::string why = read_slots(in, count, keys, index, whole, impl->slots); !why.empty())
    return malformed(path, why);
  return Bundle(std::move(impl));
}

Lookup Bundle::get(const Key& key) const {
  const auto same = std::ranges::equal_range(impl_->slots, key.digest, {}, &Slot::digest);
  for (const Slot& slot : same) {
    if (impl_->key_text(slot) != key.text) continue;
    auto payload = posix::read_at(impl_->file.get(), slot.payload_offset, slot.payload_size);
    if (!payload) return missed(Miss::unreadable, posix::reason(payload.error()));
    if (payload->size() != slot.payload_size) return missed(Miss::truncated, "the bundle was cut short");
    if (digest(*payload) != slot.payload_checksum)
      return missed(Miss::checksum, "some byte is not as it was written");
    return {.payload = std::move(*payload), .miss = Miss::none, .detail = {}};
  }
  return same.empty() ? missed(Miss::absent, "the bundle has no such entry")
                      : missed(Miss::wrong_key, "the entry under this digest is of another key");
}

Explanation Bundle::explain(const Key& key) const {
  const Lookup now = get(key);
  if (now || (now.miss != Miss::absent && now.miss != Miss::wrong_key))
    return {.miss = now.miss,
            .summary = now ? "the entry is there and sound: this would be a hit"
                           : fmt::format("the entry is corrupt: {} ({})", name(now.miss), now.detail),
            .nearest = {},
            .different = {}};
  Nearest nearest(key);
  for (const Slot& slot : impl_->slots) nearest.offer(impl_->key_text(slot), to_hex(slot.digest));
  Explanation e = nearest.explanation("bundle " + impl_->path.string());
  e.miss = now.miss;
  return e;
}

std::size_t Bundle::size() const { return impl_->slots.size(); }
std::string_view Bundle::key_text(std::size_t index) const { return impl_->key_text(impl_->slots[index]); }
const std::filesystem::path& Bundle::path() const { return impl_->path; }

}  // namespace wavejit::cache
