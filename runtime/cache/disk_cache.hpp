// SPDX-License-Identifier: MIT
// Payloads by key in a folder that processes share. One file an entry (entry.hpp), in two levels of folders
// by digest. A cache is a convenience: whatever is wrong with it — no home, a folder that is not ours,
// read-only, full, a file half written, flipped, foreign — costs a miss and at most one warning per
// DiskCache, never an error.
//
// Writing: a temporary with a name of its own in the entry's folder (O_EXCL), write, fsync, rename, fsync of
// the folder. Who loses a race keeps its own bytes. Reading: open, fstat, read() to the end, checksum over
// all, key text compared; never mmap. A bad file moves to quarantine/ (the few newest are kept for `explain`)
// and the next put() writes a good one. Locks: an open-file-description lock on the byte of the file `lock`
// that the key's digest names: a holder that dies lets go of it, and there is no lock file per key to clean
// up. It only saves work: without it entries are still written whole. Size: a put counts its
// file in the total kept in the file `usage` before it writes; where that would pass max_bytes, the folder is
// walked and the entries used longest ago go until they and the new one take 90 %. So all files together stay
// within max_bytes and what is being written by others, killed writers' temporaries included: a writer holds
// a lock on its temporary, and the walk removes those that nobody holds (older than temporary_age: in any
// case). "Used" is the access time, which a hit sets itself (utimensat, at most once per touch_interval, so
// that mounts with noatime count, too). Trust: the folder must belong to the effective user or to root, not
// be a symlink, and group and others must not have write permission. Everything below is opened relative to
// the folder's descriptor and without following symlinks, and only regular files of the same kind (owner,
// permissions) are read. Where it lies does not matter: what somebody else puts in its place is his. A folder
// of root's is only read by others: nothing is written, locked or removed there, and that costs no warning.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

#include "runtime/cache/lookup.hpp"

namespace wavejit::cache {

struct DiskOptions {
  std::filesystem::path folder = {};  ///< empty: default_folder()
  std::uint64_t max_bytes = 512ULL << 20;
  std::chrono::milliseconds lock_timeout{30'000};
  std::chrono::seconds temporary_age{3600};
  std::chrono::seconds touch_interval{60};
  /// After a write that failed (full, read-only), writing is tried again no sooner than this.
  std::chrono::seconds write_retry{60};
  bool create = true;  ///< make the folder (0700) and missing parents
  LogFunction log = {};
};

/// $XDG_CACHE_HOME/wavejit, else $HOME/.cache/wavejit; both must be absolute (XDG base directory
/// specification). Empty: neither.
std::filesystem::path default_folder();

struct DiskStats {
  std::uint64_t hits = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(Miss::count_)> misses{};  ///< by Miss
  std::uint64_t puts = 0, put_failures = 0, quarantined = 0, evicted = 0, temporaries_removed = 0;
  std::uint64_t lock_waits = 0, lock_timeouts = 0;
  std::uint64_t bytes_read = 0, bytes_written = 0;
};

/// What is in the folder now, from a walk.
struct DiskContents {
  std::uint64_t entries = 0, entry_bytes = 0, temporaries = 0, quarantined = 0;
};

struct VerifyReport {
  std::uint64_t good = 0;
  struct Bad {
    std::string file;  ///< relative to the folder
    Miss miss = Miss::none;
    std::string detail;
  };
  std::vector<Bad> bad;
};

/// Held while one process makes the entry of a key; lets go when destroyed.
class KeyLock {
 public:
  enum class State : std::uint8_t {
    held,
    timed_out,    ///< another process holds it and did not finish in time: go on without the cache
    unavailable,  ///< no cache folder, or its file system has no locks
  };
  KeyLock() = default;
  KeyLock(State state, int descriptor) : state_(state), descriptor_(descriptor) {}
  KeyLock(KeyLock&& other) noexcept;
  KeyLock& operator=(KeyLock other) noexcept;
  ~KeyLock();
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool held() const { return state_ == State::held; }

 private:
  State state_ = State::unavailable;
  int descriptor_ = -1;
};

/// Every member may be called from any thread.
class DiskCache {
 public:
  /// Never fails: a folder that cannot be used leaves a cache that is off, and one warning.
  explicit DiskCache(DiskOptions options = {});
  ~DiskCache();
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  [[nodiscard]] bool on() const;
  /// Somebody else's (root's) that is trusted: put() returns false, purge() and verify() remove nothing.
  [[nodiscard]] bool read_only() const;
  [[nodiscard]] const std::filesystem::path& folder() const;

  Lookup get(const Key& key);
  /// False when it was not written (already said in the log).
  bool put(const Key& key, std::span<const std::uint8_t> payload);
  /// The payload that get() gave was no use (a record that does not parse): quarantine it.
  void reject(const Key& key, std::string_view why);
  /// Waits at most lock_timeout.
  KeyLock lock(const Key& key);

  struct Made {
    Bytes payload;
    bool from_disk = false;
  };
  /// The whole protocol: get; lock; get again; else make() and put. After a lock that timed out: make() and
  /// no put. `accept` judges a payload that was read (false: reject and make). Errors: only those of make().
  Result<Made> get_or_make(const Key& key, const std::function<Result<Bytes>()>& make,
                           const std::function<bool(const Bytes&)>& accept = {});

  [[nodiscard]] DiskStats stats() const;
  /// Counts no hit, touches nothing. Reads the keys of all entries when there is no entry.
  Explanation explain(const Key& key);

  // For tools; each walks the folder.
  DiskContents contents();
  VerifyReport verify(bool remove_bad);
  std::uint64_t purge();  ///< removes every entry, temporary and quarantined file; returns how many
  void trim();            ///< removes stale temporaries and, beyond max_bytes, entries

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wavejit::cache
