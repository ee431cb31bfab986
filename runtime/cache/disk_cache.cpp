// SPDX-License-Identifier: MIT
#include "runtime/cache/disk_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "runtime/cache/disk_impl.hpp"

namespace wavejit::cache {
namespace {

std::int64_t steady_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Unique among threads, processes and, by chance, machines that share the folder.
std::string temporary_name(const Digest& digest, std::uint64_t number) {
  std::uint64_t random = 0;
  // Without random bytes, O_EXCL still makes the name ours.
  if (::getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) random = 0;
  return fmt::format("{}-{}-{}-{:016x}{}", to_hex(digest), ::getpid(), number, random, temporary_suffix);
}

/// Says nothing when it was given up in time.
struct Temporary {
  int leaf;
  std::string name;
  bool renamed = false;
  ~Temporary() {
    if (!renamed) ::unlinkat(leaf, name.c_str(), 0);
  }
};

Miss miss_of(int code) {
  if (code == ENOENT) return Miss::absent;
  return code == ELOOP || code == ENOTDIR ? Miss::untrusted : Miss::unreadable;
}

Lookup missed(Miss miss, std::string detail) {
  return {.payload = std::nullopt, .miss = miss, .detail = std::move(detail)};
}

}  // namespace

std::string entry_name(const Digest& digest) { return to_hex(digest) + std::string(entry_suffix); }

bool is_entry_name(std::string_view name) {
  if (name.size() != 32 + entry_suffix.size() || !name.ends_with(entry_suffix)) return false;
  return std::ranges::all_of(name.substr(0, 32),
                             [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::filesystem::path default_folder() {
  const auto absolute = [](const char* variable) -> std::filesystem::path {
    const char* value = std::getenv(variable);
    if (value == nullptr || value[0] != '/') return {};
    return value;
  };
  if (const auto cache = absolute("XDG_CACHE_HOME"); !cache.empty()) return cache / "wavejit";
  if (const auto home = absolute("HOME"); !home.empty()) return home / ".cache" / "wavejit";
  return {};
}

void DiskCache::Impl::log(LogLevel level, const std::string& message) const {
  if (options.log) options.log(level, message);
}

void DiskCache::Impl::warn_once(const std::string& message) {
  log(warned.exchange(true) ? LogLevel::debug : LogLevel::warning, message);
}

posix::Or<posix::Descriptor> DiskCache::Impl::leaf(const Digest& digest, bool create) const {
  const std::string hex = to_hex(digest);
  const auto first = posix::open_folder_at(root.get(), std::string(1, hex[0]).c_str(), create);
  if (!first) return std::unexpected(first.error());
  return posix::open_folder_at(first->get(), std::string(1, hex[1]).c_str(), create);
}

DiskCache::Impl::Read DiskCache::Impl::read(const Key& key) const {
  Read r;
  const auto give_up = [&r](Miss miss, std::string detail) -> Read {
    r.lookup = missed(miss, std::move(detail));
    return std::move(r);
  };
  if (!root) return give_up(Miss::off, off_because);
  auto opened_leaf = leaf(key.digest, false);
  if (!opened_leaf) return give_up(miss_of(opened_leaf.error()), posix::reason(opened_leaf.error()));
  r.leaf = std::move(*opened_leaf);
  // O_NONBLOCK: a FIFO in the entry's place must not hold us.
  auto file = posix::open_at(r.leaf.get(), entry_name(key.digest).c_str(), O_RDONLY | O_NONBLOCK);
  if (!file) return give_up(miss_of(file.error()), posix::reason(file.error()));
  r.file = std::move(*file);
  struct stat status {};
  if (::fstat(r.file.get(), &status) != 0) return give_up(Miss::unreadable, posix::reason(errno));
  if (!S_ISREG(status.st_mode) || !posix::trusted(status))
    return give_up(Miss::untrusted, "not a regular file of ours or root's that nobody else may write");
  const auto bytes = posix::read_whole(r.file.get(), max_entry_bytes);
  if (!bytes)
    return give_up(bytes.error() == EFBIG ? Miss::foreign_format : Miss::unreadable,
                   posix::reason(bytes.error()));
  r.bytes = bytes->size();
  ParsedEntry parsed = parse_entry(*bytes);
  if (parsed.miss != Miss::none) return give_up(parsed.miss, std::move(parsed.detail));
  if (parsed.entry.key_text != key.text)
    return give_up(Miss::wrong_key, "the entry under this digest is of another key");
  r.lookup = {.payload = std::move(parsed.entry.payload), .miss = Miss::none, .detail = {}};
  return r;
}

void DiskCache::Impl::touch(int file) const {
  struct stat status {};
  timespec now{};
  if (::fstat(file, &status) != 0 || ::clock_gettime(CLOCK_REALTIME, &now) != 0) return;
  if (now.tv_sec - status.st_atim.tv_sec < options.touch_interval.count() &&
      now.tv_sec >= status.st_atim.tv_sec)
    return;
  const timespec times[2] = {now, {.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
  ::futimens(file, times);
}

/// Moves the very file that was read: one that has replaced it meanwhile is left alone.
void DiskCache::Impl::quarantine(int leaf_folder, int file, const std::string& name, Miss miss) {
  struct stat read_one {
  }, there{};
  if (::fstat(file, &read_one) != 0 ||
      ::fstatat(leaf_folder, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0 ||
      read_one.st_ino != there.st_ino || read_one.st_dev != there.st_dev)
    return;
  const auto prison = posix::open_folder_at(root.get(), quarantine_name, true);
  const std::string to = fmt::format("{}.{}", name, wavejit::cache::name(miss));
  if (!prison || ::renameat(leaf_folder, name.c_str(), prison->get(), to.c_str()) != 0)
    if (::unlinkat(leaf_folder, name.c_str(), 0) != 0) return;
  ++counters.quarantined;
  constexpr std::size_t kept = 32;
  std::vector<File> all = walk_quarantine();
  if (all.size() <= kept) return;
  std::ranges::sort(all, std::ranges::greater{}, &File::modified_ns);
  for (std::size_t i = kept; i < all.size(); ++i) remove(all[i]);
}

/// 0 or errno; nothing is left of a write that failed.
int DiskCache::Impl::write(const Key& key, std::span<const std::uint8_t> bytes, KeyLock walks) {
  const auto folder_of_entry = leaf(key.digest, true);
  if (!folder_of_entry) return folder_of_entry.error();
  const int at = folder_of_entry->get();
  Temporary temporary{.leaf = at, .name = temporary_name(key.digest, temporary_number++)};
  {
    const auto file = posix::open_at(at, temporary.name.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (!file) {
      temporary.renamed = true;  // somebody else's, or none
      return file.error();
    }
    static_cast<void>(try_lock(file->get(), 0, 0));
    walks = {};
    if (const int error = posix::write_all(file->get(), bytes); error != 0) return error;
    if (const int error = posix::sync(file->get()); error != 0) return error;
  }
  if (::renameat(at, temporary.name.c_str(), at, entry_name(key.digest).c_str()) != 0) return errno;
  temporary.renamed = true;
  // The entry is whole either way; this only makes it last.
  posix::sync(at);
  return 0;
}

DiskCache::DiskCache(DiskOptions options) : impl_(std::make_unique<Impl>()) {
  Impl& self = *impl_;
  self.options = std::move(options);
  if (self.options.folder.empty()) self.options.folder = default_folder();
  auto opened = posix::open_cache_folder(self.options.folder, self.options.create);
  self.root = std::move(opened.folder);
  self.read_only = opened.read_only;
  self.off_because = std::move(opened.problem);
  std::error_code ignored;
  self.folder = std::filesystem::absolute(self.options.folder, ignored).lexically_normal();
  if (!self.root) self.warn_once(self.off_because + "; kernels are kept in memory only");
  if (self.read_only)
    self.log(LogLevel::info,
             fmt::format(
                 "the cache folder {} belongs to root and is only read; what it lacks is kept in memory only "
                 "(WAVEJIT_CACHE_DIR=... names a folder to write)",
                 self.folder.string()));
}

DiskCache::~DiskCache() = default;

bool DiskCache::on() const { return static_cast<bool>(impl_->root); }
bool DiskCache::read_only() const { return impl_->read_only; }
const std::filesystem::path& DiskCache::folder() const { return impl_->folder; }

/// `again`: a second look for one request, whose miss has been counted.
Lookup DiskCache::Impl::get(const Key& key, bool again) {
  Read r = read(key);
  if (r.lookup) {
    ++counters.hits;
    counters.bytes_read += r.bytes;
    if (!read_only) touch(r.file.get());
    return std::move(r.lookup);
  }
  const Miss miss = r.lookup.miss;
  if (!again || miss != Miss::absent) ++counters.misses[static_cast<std::size_t>(miss)];
  const bool bad = miss == Miss::foreign_format || miss == Miss::truncated || miss == Miss::checksum ||
                   miss == Miss::wrong_key;
  if (bad) {
    if (!read_only) quarantine(r.leaf.get(), r.file.get(), entry_name(key.digest), miss);
    log(LogLevel::info, fmt::format("cache entry {} is no use ({}: {}) and will be made anew",
                                    to_hex(key.digest), name(miss), r.lookup.detail));
  }
  return std::move(r.lookup);
}

Lookup DiskCache::get(const Key& key) { return impl_->get(key, /*again=*/false); }

bool DiskCache::put(const Key& key, std::span<const std::uint8_t> payload) {
  Impl& self = *impl_;
  if (!self.root || self.read_only || steady_ns() < self.no_writes_before) return false;
  if (key.text.size() > max_key_bytes || payload.size() > max_payload_bytes) return false;
  const Bytes file = serialise(key.text, payload);
  if (file.size() > self.options.max_bytes) {
    self.log(LogLevel::info, fmt::format("a kernel of {} bytes is larger than the whole cache may be ({})",
                                         file.size(), self.options.max_bytes));
    return false;
  }
  const auto pause = [&] {
    self.no_writes_before = steady_ns() + std::chrono::nanoseconds(self.options.write_retry).count();
  };
  int error = 0;
  // On NFS, and beside a purge, folders and names go stale under us: once more from the top.
  for (int attempt = 0; attempt < 2; ++attempt) {
    KeyLock walks = self.reserve(file.size());
    if (walks.state() == KeyLock::State::timed_out) {
      pause();
      return false;
    }
    error = self.write(key, file, std::move(walks));
    if (error != ESTALE && error != EBUSY && error != ENOENT) break;
  }
  if (error != 0) {
    ++self.counters.put_failures;
    // One folder of the 256 may be unusable by itself (a symlink, a file, somebody else's): the others are
    // not.
    const bool alone = (error == ELOOP || error == ENOTDIR || error == EACCES || error == EPERM) &&
                       ::faccessat(self.root.get(), ".", W_OK | X_OK, AT_EACCESS) == 0;
    if (!alone) pause();
    const std::string what = alone ? "entry " + entry_name(key.digest) + " of" : "to";
    self.warn_once(fmt::format("cannot write {} the cache folder {}: {}; kernels are kept in memory only",
                               what, self.folder.string(), posix::reason(error)));
    return false;
  }
  ++self.counters.puts;
  self.counters.bytes_written += file.size();
  return true;
}

void DiskCache::reject(const Key& key, std::string_view why) {
  Impl& self = *impl_;
  const Impl::Read r = self.read(key);
  if (!r.lookup) return;
  ++self.counters.misses[static_cast<std::size_t>(Miss::invalid_payload)];
  if (!self.read_only)
    self.quarantine(r.leaf.get(), r.file.get(), entry_name(key.digest), Miss::invalid_payload);
  self.log(LogLevel::info, fmt::format("cache entry {} is no use ({}: {}) and will be made anew",
                                       to_hex(key.digest), name(Miss::invalid_payload), why));
}

Result<DiskCache::Made> DiskCache::get_or_make(const Key& key, const std::function<Result<Bytes>()>& make,
                                               const std::function<bool(const Bytes&)>& accept) {
  const auto look = [&](bool again) -> std::optional<Made> {
    Lookup found = impl_->get(key, again);
    if (!found) return std::nullopt;
    if (!accept || accept(*found.payload))
      return Made{.payload = *std::move(found.payload), .from_disk = true};
    reject(key, "its payload is not what was wanted");
    return std::nullopt;
  };
  if (auto found = look(false)) return *std::move(found);
  const KeyLock held = lock(key);
  // Whoever held the lock before has most likely made it.
  if (held.held())
    if (auto found = look(true)) return *std::move(found);
  auto made = make();
  if (!made) return std::unexpected(made.error());
  if (held.state() != KeyLock::State::timed_out) put(key, *made);
  return Made{.payload = *std::move(made), .from_disk = false};
}

DiskStats DiskCache::stats() const {
  const Impl::Counters& c = impl_->counters;
  DiskStats s;
  s.hits = c.hits;
  for (std::size_t i = 0; i < s.misses.size(); ++i) s.misses[i] = c.misses[i];
  s.puts = c.puts;
  s.put_failures = c.put_failures;
  s.quarantined = c.quarantined;
  s.evicted = c.evicted;
  s.temporaries_removed = c.temporaries_removed;
  s.lock_waits = c.lock_waits;
  s.lock_timeouts = c.lock_timeouts;
  s.bytes_read = c.bytes_read;
  s.bytes_written = c.bytes_written;
  return s;
}

}  // namespace wavejit::cache
