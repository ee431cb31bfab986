// SPDX-License-Identifier: MIT
// What goes over the whole folder: total size, eviction, clean-up, verify, purge, explain. Other processes
// write and remove at the same time, so a file that is gone when its turn comes is no error.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "runtime/cache/disk_impl.hpp"
#include "runtime/cache/explain.hpp"
#include "runtime/cache/wire.hpp"

namespace wavejit::cache {
namespace {

constexpr std::uint64_t usage_magic = 0x3145474153554A57;  // "WJUSAGE1"
constexpr std::string_view hex_digits = "0123456789abcdef";

std::int64_t nanoseconds(const timespec& t) { return t.tv_sec * 1'000'000'000LL + t.tv_nsec; }

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds(now);
}

template <class Visit>
void for_each_file(int folder, const Visit& visit) {
  // fdopendir owns what it is given and moves its position, so it gets a description of its own.
  auto own = posix::open_at(folder, ".", O_RDONLY | O_DIRECTORY);
  if (!own) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(own->get()), ::closedir);
  if (!dir) return;
  own->release();
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string_view name = entry->d_name;
    struct stat status {};
    if (name == "." || name == "..") continue;
    if (::fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    visit(std::string(name), status);
  }
}

struct Usage {
  std::uint64_t total = 0;
  std::int64_t walked_s = 0;
  bool known = false;
};

Usage read_usage(int file) {
  const auto bytes = posix::read_at(file, 0, 24);
  if (!bytes) return {};
  wire::Reader in(*bytes);
  const auto magic = in.number<std::uint64_t>();
  const auto total = in.number<std::uint64_t>();
  const auto walked = static_cast<std::int64_t>(in.number<std::uint64_t>());
  if (!in.ok() || magic != usage_magic) return {};
  return {.total = total, .walked_s = walked, .known = true};
}

void write_usage(int file, const Usage& usage) {
  wire::Writer out;
  out.number(usage_magic);
  out.number(usage.total);
  out.number(static_cast<std::uint64_t>(usage.walked_s));
  const auto bytes = out.so_far();
  // A lost or torn total is found at the next walk.
  if (::pwrite(file, bytes.data(), bytes.size(), 0) < 0) return;
}

}  // namespace

std::vector<DiskCache::Impl::File> DiskCache::Impl::walk() const {
  std::vector<File> files;
  if (!root) return files;
  for (const char a : hex_digits) {
    const auto first = posix::open_folder_at(root.get(), std::string(1, a).c_str(), false);
    if (!first) continue;
    for (const char b : hex_digits) {
      const auto second = posix::open_folder_at(first->get(), std::string(1, b).c_str(), false);
      if (!second) continue;
      for_each_file(second->get(), [&](std::string name, const struct stat& status) {
        const bool temporary = name.ends_with(temporary_suffix);
        if (!temporary && !is_entry_name(name)) return;
        files.push_back({.folder = {a, '/', b},
                         .name = std::move(name),
                         .bytes = static_cast<std::uint64_t>(status.st_size),
                         .used_ns = nanoseconds(status.st_atim),
                         .modified_ns = nanoseconds(status.st_mtim),
                         .temporary = temporary});
      });
    }
  }
  return files;
}

std::vector<DiskCache::Impl::File> DiskCache::Impl::walk_quarantine() const {
  std::vector<File> files;
  if (!root) return files;
  const auto prison = posix::open_folder_at(root.get(), quarantine_name, false);
  if (!prison) return files;
  for_each_file(prison->get(), [&](std::string name, const struct stat& status) {
    if (name.find(entry_suffix) != 32) return;
    files.push_back({.folder = quarantine_name,
                     .name = std::move(name),
                     .bytes = static_cast<std::uint64_t>(status.st_size),
                     .used_ns = nanoseconds(status.st_atim),
                     .modified_ns = nanoseconds(status.st_ctim)});
  });
  return files;
}

bool DiskCache::Impl::remove(const File& file) const {
  return ::unlinkat(root.get(), (file.folder + "/" + file.name).c_str(), 0) == 0;
}

/// A writer holds a lock on its temporary, so whoever gets that lock sees that the writer is gone. Where
/// there are no locks, or a fork of the writer has inherited this one, age tells.
bool DiskCache::Impl::abandoned(const File& temporary) const {
  const auto file =
      posix::open_at(root.get(), (temporary.folder + "/" + temporary.name).c_str(), O_WRONLY | O_NONBLOCK);
  if (file && try_lock(file->get(), 0, 0) == Try::held) return true;
  return temporary.modified_ns < now_ns() - std::chrono::nanoseconds(options.temporary_age).count();
}

std::uint64_t DiskCache::Impl::trim(std::uint64_t bytes) {
  std::vector<File> files = walk();
  std::uint64_t total = 0;
  std::erase_if(files, [&](const File& file) {
    if (file.temporary && abandoned(file) && remove(file)) {
      ++counters.temporaries_removed;
      return true;
    }
    total += file.bytes;
    return file.temporary;
  });
  std::vector<File> bad = walk_quarantine();
  for (const File& file : bad) total += file.bytes;
  const auto fits = [&](std::uint64_t limit) { return bytes <= limit && total <= limit - bytes; };
  if (fits(options.max_bytes)) return total;
  // Down to nine tenths, so that the next put does not walk again. What is no use goes first.
  const std::uint64_t goal = options.max_bytes / 10 * 9;
  std::ranges::sort(files, {}, &File::used_ns);
  files.insert(files.begin(), bad.begin(), bad.end());
  for (const File& file : files) {
    if (fits(goal)) break;
    if (remove(file)) ++counters.evicted;
    total -= file.bytes;  // also when another process was faster
  }
  return total;
}

KeyLock DiskCache::Impl::lock_walks() {
  constexpr std::chrono::milliseconds patience{2000};
  return wait_for(usage_byte, std::min(patience, options.lock_timeout));
}

KeyLock DiskCache::Impl::reserve(std::uint64_t bytes) {
  KeyLock held = lock_walks();
  if (held.state() == KeyLock::State::timed_out) return held;
  const auto file = posix::open_at(root.get(), usage_name, O_RDWR | O_CREAT, 0600);
  Usage usage;
  if (file) usage = read_usage(file->get());
  const std::int64_t now_s = now_ns() / 1'000'000'000, day = 24LL * 3600;
  const bool fresh = usage.known && usage.walked_s <= now_s + day && now_s - usage.walked_s < day;
  if (!fresh || bytes > options.max_bytes || usage.total > options.max_bytes - bytes)
    usage = {.total = trim(bytes), .walked_s = now_s, .known = true};
  usage.total += bytes;
  if (file) write_usage(file->get(), usage);
  return held;
}

void DiskCache::trim() {
  if (!impl_->root || impl_->read_only) return;
  const KeyLock held = impl_->lock_walks();
  if (held.state() != KeyLock::State::timed_out) impl_->trim(0);
}

DiskContents DiskCache::contents() {
  DiskContents c;
  for (const Impl::File& file : impl_->walk()) {
    if (file.temporary) {
      ++c.temporaries;
    } else {
      ++c.entries;
      c.entry_bytes += file.bytes;
    }
  }
  c.quarantined = impl_->walk_quarantine().size();
  return c;
}

VerifyReport DiskCache::verify(bool remove_bad) {
  VerifyReport report;
  for (const Impl::File& file : impl_->walk()) {
    if (file.temporary) continue;
    const std::string path = file.folder + "/" + file.name;
    const auto opened = posix::open_at(impl_->root.get(), path.c_str(), O_RDONLY | O_NONBLOCK | O_NOATIME);
    if (!opened && opened.error() == ENOENT) continue;
    ParsedEntry parsed;
    const auto bytes = opened ? posix::read_whole(opened->get(), max_entry_bytes)
                              : posix::Or<Bytes>(std::unexpected(opened.error()));
    if (bytes) {
      parsed = parse_entry(*bytes);
      if (parsed.miss == Miss::none && entry_name(digest(parsed.entry.key_text)) != file.name)
        parsed = {.miss = Miss::wrong_key, .detail = "its name is not its key's digest", .entry = {}};
    } else {
      parsed = {.miss = Miss::unreadable, .detail = posix::reason(bytes.error()), .entry = {}};
    }
    if (parsed.miss == Miss::none) {
      ++report.good;
      continue;
    }
    report.bad.push_back({.file = path, .miss = parsed.miss, .detail = std::move(parsed.detail)});
    if (remove_bad) impl_->remove(file);
  }
  return report;
}

std::uint64_t DiskCache::purge() {
  std::uint64_t removed = 0;
  for (const auto& files : {impl_->walk(), impl_->walk_quarantine()})
    for (const Impl::File& file : files)
      if (impl_->remove(file)) ++removed;
  if (impl_->root) ::unlinkat(impl_->root.get(), usage_name, 0);
  return removed;
}

Explanation DiskCache::explain(const Key& key) {
  const Lookup now = impl_->read(key).lookup;
  Explanation e;
  e.miss = now.miss;
  if (now) {
    e.summary = "the entry is there and sound: this would be a hit";
    return e;
  }
  if (now.miss != Miss::absent) {
    e.summary = now.miss == Miss::off
                    ? now.detail
                    : fmt::format("the entry is corrupt or foreign: {} ({})", name(now.miss), now.detail);
    return e;
  }
  Nearest nearest(key);
  for (const Impl::File& file : impl_->walk()) {
    if (file.temporary) continue;
    const auto opened = posix::open_at(impl_->root.get(), (file.folder + "/" + file.name).c_str(),
                                       O_RDONLY | O_NONBLOCK | O_NOATIME);
    const auto bytes = opened ? posix::read_at(opened->get(), 0, peek_bytes)
                              : posix::Or<Bytes>(std::unexpected(opened.error()));
    if (!bytes) continue;
    const std::string text = peek_key(*bytes);
    if (!text.empty()) nearest.offer(text, file.folder + "/" + file.name);
  }
  e = nearest.explanation("the cache");
  for (const Impl::File& file : impl_->walk_quarantine())
    if (file.name.starts_with(to_hex(key.digest)))
      e.summary =
          fmt::format("the entry was corrupt: {} (kept as {}/{}); {}",
                      file.name.substr(32 + entry_suffix.size() + 1), file.folder, file.name, e.summary);
  return e;
}

}  // namespace wavejit::cache
