// SPDX-License-Identifier: MIT
// The few system calls that caches need, with errno as a value. Private to this folder.
#pragma once

#include <sys/stat.h>

#include <expected>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "runtime/cache/lookup.hpp"

namespace wavejit::cache::posix {

/// Closes on destruction.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  [[nodiscard]] int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

template <class T>
using Or = std::expected<T, int>;  ///< or errno

std::string reason(int code);
/// openat with O_CLOEXEC and O_NOFOLLOW; retried after EINTR and, once, after ESTALE (NFS).
Or<Descriptor> open_at(int folder, const char* name, int flags, mode_t mode = 0);
/// A folder below `folder`, never through a symlink; made (0700) when it is missing and `create` says so.
Or<Descriptor> open_folder_at(int folder, const char* name, bool create);
/// read() to the end; EFBIG beyond `limit` bytes.
Or<Bytes> read_whole(int fd, std::size_t limit);
/// `size` bytes at `offset`, or fewer at the end of the file.
Or<Bytes> read_at(int fd, std::uint64_t offset, std::size_t size);
/// 0 or errno. A write of nothing is ENOSPC.
int write_all(int fd, std::span<const std::uint8_t> bytes);
/// fsync; file systems that have none count as done.
int sync(int fd);
/// Owned by the effective user or by root, and nobody else may write.
bool trusted(const struct stat& status);

struct OpenedFolder {
  Descriptor folder;
  bool read_only = false;  ///< root's, and we are not root
  std::string problem;     ///< why not: a sentence that names the path and what to do
};
/// The cache folder itself, by the rules of disk_cache.hpp.
OpenedFolder open_cache_folder(const std::filesystem::path& path, bool create);

}  // namespace wavejit::cache::posix
