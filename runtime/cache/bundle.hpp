// SPDX-License-Identifier: MIT
// A read-only pack of entries in one file (.wjb), made offline. Bytes are a function of the entries alone:
// sorted by key digest, no time stamps. Numbers are little-endian, checksums XXH3-128 in canonical form.
//
//   0   8  magic "WJBUNDLE"
//   8   4  format version
//  12   4  number of entries
//  16   8  bytes of the key texts
//  24   8  bytes of the whole file
//  32   …  per entry, 56 bytes: digest 16, key offset 8 (in the key texts), key length 8, payload length 8,
//  payload checksum 16
//   …   …  key texts, in the entries' order
//   …  16  checksum of all before
//   …   …  payloads, in the entries' order
//
// open() reads and checks all but the payloads; a look-up is a binary search, one pread and a checksum. A
// bundle of another build opens, but its keys differ, so its entries miss, and explain() says in what. The
// file must not change while it is open; when it does all the same, payloads fail their checksums.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "runtime/cache/entry.hpp"

namespace wavejit::cache {

inline constexpr std::uint32_t bundle_format_version = 1;

/// The file's bytes. Errors: invalid_argument for one key with two payloads or sizes beyond entry.hpp's.
/// Equal duplicates are one.
Result<Bytes> serialise_bundle(std::vector<Entry> entries);

/// Thread-safe.
class Bundle {
 public:
  /// Errors: io, invalid_argument with what is malformed.
  static Result<Bundle> open(const std::filesystem::path& path);
  Bundle(Bundle&&) noexcept;
  Bundle& operator=(Bundle&&) noexcept;
  ~Bundle();

  [[nodiscard]] Lookup get(const Key& key) const;
  [[nodiscard]] Explanation explain(const Key& key) const;
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::string_view key_text(std::size_t index) const;
  [[nodiscard]] const std::filesystem::path& path() const;

 private:
  struct Impl;
  explicit Bundle(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wavejit::cache
