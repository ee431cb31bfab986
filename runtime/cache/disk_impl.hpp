// SPDX-License-Identifier: MIT
// The inside of DiskCache, shared by its source files. Private to this folder.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "runtime/cache/disk_cache.hpp"
#include "runtime/cache/entry.hpp"
#include "runtime/cache/posix.hpp"

namespace wavejit::cache {

inline constexpr char lock_name[] = "lock", usage_name[] = "usage", quarantine_name[] = "quarantine";
inline constexpr std::string_view entry_suffix = ".wje", temporary_suffix = ".tmp";
inline constexpr std::uint64_t usage_byte = 1ULL << 62;  ///< of the file `lock`, behind those of keys
inline constexpr std::size_t max_entry_bytes = max_key_bytes + max_payload_bytes + 64;

struct DiskCache::Impl {
  DiskOptions options;
  std::filesystem::path folder;
  posix::Descriptor root;  ///< none: the cache is off
  bool read_only = false;  ///< root's: nothing is written, locked, touched or cleaned up
  std::string off_because;

  std::atomic<bool> warned = false;
  std::atomic<std::int64_t> no_writes_before = 0;  ///< steady clock, ns
  std::atomic<std::uint64_t> temporary_number = 0;

  struct Counters {
    std::atomic<std::uint64_t> hits, puts, put_failures, quarantined, evicted, temporaries_removed,
        lock_waits, lock_timeouts, bytes_read, bytes_written;
    std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Miss::count_)> misses;
  } counters{};

  // disk_cache.cpp
  void log(LogLevel level, const std::string& message) const;
  void warn_once(const std::string& message);
  /// The folder of the entry's file.
  posix::Or<posix::Descriptor> leaf(const Digest& digest, bool create) const;
  struct Read {
    Lookup lookup;
    posix::Descriptor leaf, file;  ///< as far as they were opened
    std::size_t bytes = 0;         ///< of the file
  };
  [[nodiscard]] Read read(const Key& key) const;
  Lookup get(const Key& key, bool again);
  /// `walks` is let go of when the temporary shows that it is being written.
  int write(const Key& key, std::span<const std::uint8_t> file, KeyLock walks);
  void touch(int file) const;
  void quarantine(int leaf, int file, const std::string& name, Miss miss);

  // disk_lock.cpp
  enum class Try : std::uint8_t { held, busy, unavailable };
  /// A write lock on one byte, or on all of the file (length 0).
  static Try try_lock(int file, std::uint64_t byte, std::uint64_t length);
  KeyLock wait_for(std::uint64_t byte, std::chrono::milliseconds most);

  // disk_walk.cpp
  struct File {
    std::string folder, name;  ///< "a/3", "a3….wje"
    std::uint64_t bytes = 0;
    std::int64_t used_ns = 0, modified_ns = 0;
    bool temporary = false;
  };
  [[nodiscard]] std::vector<File> walk() const;
  [[nodiscard]] std::vector<File> walk_quarantine() const;
  bool remove(const File& file) const;
  [[nodiscard]] bool abandoned(const File& temporary) const;
  KeyLock lock_walks();
  /// Makes room for a file of so many bytes and counts it, before it is written: a writer that is killed
  /// leaves the total too high, and the next walk puts it right. The lock keeps walks away.
  KeyLock reserve(std::uint64_t bytes);
  /// Removes what no process writes any more, and entries until `bytes` more fit. Returns the bytes left.
  std::uint64_t trim(std::uint64_t bytes);
};

std::string entry_name(const Digest& digest);
bool is_entry_name(std::string_view name);

}  // namespace wavejit::cache
