// SPDX-License-Identifier: MIT
// Locks of a DiskCache: one byte of the file `lock` a key, by open file description, so that threads exclude
// each other as processes do, closing some other descriptor lets go of nothing, and the kernel lets go for
// who dies.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "runtime/cache/disk_impl.hpp"

namespace wavejit::cache {
namespace {

struct flock byte_range(short type, std::uint64_t byte, std::uint64_t length) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(byte);
  range.l_len = static_cast<off_t>(length);
  return range;
}

}  // namespace

KeyLock::KeyLock(KeyLock&& other) noexcept
    : state_(std::exchange(other.state_, State::unavailable)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

KeyLock& KeyLock::operator=(KeyLock other) noexcept {
  std::swap(state_, other.state_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

KeyLock::~KeyLock() {
  if (descriptor_ < 0) return;
  // Said before closing: a child forked meanwhile shares the description and would keep the lock.
  struct flock range = byte_range(F_UNLCK, 0, 0);
  ::fcntl(descriptor_, F_OFD_SETLK, &range);
  ::close(descriptor_);
}

DiskCache::Impl::Try DiskCache::Impl::try_lock(int file, std::uint64_t byte, std::uint64_t length) {
  struct flock range = byte_range(F_WRLCK, byte, length);
  while (::fcntl(file, F_OFD_SETLK, &range) != 0) {
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EACCES ? Try::busy : Try::unavailable;
  }
  return Try::held;
}

KeyLock DiskCache::Impl::wait_for(std::uint64_t byte, std::chrono::milliseconds most) {
  using Clock = std::chrono::steady_clock;
  // Beyond years the clock's nanoseconds overflow.
  const Clock::time_point end =
      Clock::now() + std::min<std::chrono::milliseconds>(most, std::chrono::hours(24 * 3650));
  if (!root || read_only) return {KeyLock::State::unavailable, -1};
  auto file = posix::open_at(root.get(), lock_name, O_RDWR | O_CREAT, 0600);
  if (!file) return {KeyLock::State::unavailable, -1};
  // There is no lock call with a time-out, hence asking again, at growing distances.
  std::chrono::microseconds pause(200);
  for (bool first = true;; first = false) {
    const Try tried = try_lock(file->get(), byte, 1);
    if (tried == Try::held) return {KeyLock::State::held, file->release()};
    if (tried == Try::unavailable) return {KeyLock::State::unavailable, -1};
    if (first && byte != usage_byte) ++counters.lock_waits;
    const Clock::time_point now = Clock::now();
    if (now >= end) break;
    std::this_thread::sleep_for(std::min<Clock::duration>(pause, end - now));
    pause = std::min(pause * 2, std::chrono::microseconds(20'000));
  }
  return {KeyLock::State::timed_out, -1};
}

/// Keys have the bytes below 2^62; the byte 2^62 is that of `usage`.
KeyLock DiskCache::lock(const Key& key) {
  KeyLock lock = impl_->wait_for(key.digest.low & ((1ULL << 62) - 1), impl_->options.lock_timeout);
  if (lock.state() == KeyLock::State::timed_out) {
    ++impl_->counters.lock_timeouts;
    impl_->log(LogLevel::info,
               "another process has been making the same kernel for too long; making it without the cache");
  }
  return lock;
}

}  // namespace wavejit::cache
