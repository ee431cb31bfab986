// SPDX-License-Identifier: MIT
#include "runtime/cache/posix.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace wavejit::cache::posix {
namespace {

namespace fs = std::filesystem;

/// Missing folders down to `path`, each 0700. 0 or errno.
int make_folders(const fs::path& path) {
  fs::path so_far;
  for (const fs::path& part : path) {
    so_far /= part;
    struct stat status {};
    if (::stat(so_far.c_str(), &status) == 0) continue;
    if (errno != ENOENT) return errno;
    if (::mkdir(so_far.c_str(), 0700) != 0 && errno != EEXIST) return errno;
  }
  return 0;
}

OpenedFolder refused(const fs::path& path, std::string_view why) {
  return {.folder = {},
          .read_only = false,
          .problem = fmt::format("the cache folder {} is not used: {}", path.string(), why)};
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

std::string reason(int code) { return std::generic_category().message(code); }

Or<Descriptor> open_at(int folder, const char* name, int flags, mode_t mode) {
  bool stale = false;
  for (;;) {
    const int fd = ::openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd >= 0) return Descriptor(fd);
    if (errno == EINTR) continue;
    if (errno != ESTALE || stale) return std::unexpected(errno);
    stale = true;
  }
}

Or<Descriptor> open_folder_at(int folder, const char* name, bool create) {
  auto opened = open_at(folder, name, O_RDONLY | O_DIRECTORY);
  if (opened || opened.error() != ENOENT || !create) return opened;
  if (::mkdirat(folder, name, 0700) != 0 && errno != EEXIST) return std::unexpected(errno);
  return open_at(folder, name, O_RDONLY | O_DIRECTORY);
}

Or<Bytes> read_whole(int fd, std::size_t limit) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return std::unexpected(errno);
  if (status.st_size < 0 || static_cast<std::uint64_t>(status.st_size) > limit) return std::unexpected(EFBIG);
  // One byte more than expected shows the end without growing.
  Bytes bytes(static_cast<std::size_t>(status.st_size) + 1);
  std::size_t filled = 0;
  for (;;) {
    if (filled == bytes.size()) bytes.resize(bytes.size() * 2);
    const ssize_t got = ::read(fd, bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
    if (filled > limit) return std::unexpected(EFBIG);
  }
  bytes.resize(filled);
  return bytes;
}

Or<Bytes> read_at(int fd, std::uint64_t offset, std::size_t size) {
  Bytes bytes(size);
  std::size_t filled = 0;
  while (filled < size) {
    const ssize_t got =
        ::pread(fd, bytes.data() + filled, size - filled, static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

int write_all(int fd, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    if (put == 0) return ENOSPC;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return 0;
}

int sync(int fd) {
  while (::fsync(fd) != 0) {
    if (errno == EINTR) continue;
    if (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP) return 0;
    return errno;
  }
  return 0;
}

bool trusted(const struct stat& status) {
  const bool ours = status.st_uid == ::geteuid() || status.st_uid == 0;
  return ours && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

OpenedFolder open_cache_folder(const fs::path& given, bool create) {
  if (given.empty()) return refused("(none)", "neither XDG_CACHE_HOME nor HOME names an absolute folder");
  std::error_code code;
  fs::path path = fs::absolute(given, code).lexically_normal();
  if (code) return refused(given, code.message());
  if (!path.has_filename()) path = path.parent_path();
  if (create)
    if (const int error = make_folders(path); error != 0) return refused(path, reason(error));
  // Its parent may be anybody's: whatever somebody else puts in this place has the wrong owner.
  auto folder = open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY);
  if (!folder && (folder.error() == ELOOP || folder.error() == ENOTDIR))
    return refused(path, "it is a symbolic link or no folder; name the folder itself");
  if (!folder) return refused(path, reason(folder.error()));
  struct stat status {};
  if (::fstat(folder->get(), &status) != 0) return refused(path, reason(errno));
  const bool ours = status.st_uid == ::geteuid();
  if (!ours && status.st_uid != 0)
    return refused(
        path, fmt::format("it belongs to user {}, not to {} or root; WAVEJIT_CACHE_DIR=... names another",
                          status.st_uid, ::geteuid()));
  if (!trusted(status))
    return refused(
        path, fmt::format("others may write it (mode {:04o}); \"chmod go-w {}\" by its owner would do, or "
                          "WAVEJIT_CACHE_DIR=... with another",
                          static_cast<unsigned>(status.st_mode) & 07777U, path.string()));
  return {.folder = std::move(*folder), .read_only = !ours, .problem = {}};
}

}  // namespace wavejit::cache::posix
