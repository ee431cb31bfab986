// SPDX-License-Identifier: MIT
// Which folders a disk cache trusts, and what happens where it cannot write.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "runtime/cache/entry.hpp"
#include "tests/runtime/cache/scratch.hpp"
#include "tests/skip.hpp"

using namespace wavejit;
using namespace wavejit::test;
using cache::Bytes;
using cache::DiskCache;
using cache::Miss;

namespace {

namespace fs = std::filesystem;

/// That a cache on this folder is off, does no harm, and gave one warning that says `why`.
void check_off(const fs::path& folder, const std::string& why) {
  Log log;
  DiskCache disk({.folder = folder, .log = log.function()});
  CAPTURE(folder.string());
  CHECK_FALSE(disk.on());
  CHECK(disk.get(some_key()).miss == Miss::off);
  CHECK_FALSE(disk.put(some_key(), some_payload(10)));
  CHECK(disk.lock(some_key()).state() == cache::KeyLock::State::unavailable);
  CHECK(disk.get_or_make(some_key(), []() -> Result<Bytes> { return some_payload(3); })->payload ==
        some_payload(3));
  CHECK(disk.contents().entries == 0);
  CHECK(disk.explain(some_key()).miss == Miss::off);
  CHECK(disk.purge() == 0);
  disk.trim();
  REQUIRE(log.warnings.size() == 1);
  CHECK_THAT(log.warnings[0], Catch::Contains(why));
}

/// For a child process: that each of these keys is still served, that nothing is written and one warning
/// came.
int serves_without_writing(const fs::path& folder, int stored, std::size_t payload_size) {
  Log log;
  DiskCache disk({.folder = folder, .log = log.function()});
  if (!disk.on()) return 10;
  for (int i = 0; i < stored; ++i)
    if (!disk.get(some_key(i))) return 11;
  for (int i = 100; i < 103; ++i) {
    const auto made =
        disk.get_or_make(some_key(i), [&]() -> Result<Bytes> { return some_payload(payload_size); });
    if (!made || made->payload != some_payload(payload_size)) return 12;
    if (disk.get(some_key(i))) return 13;
  }
  if (log.warnings.size() != 1) return 14;
  if (!files_ending(folder, ".tmp").empty()) return 15;
  return disk.stats().put_failures == 1 ? 0 : 16;
}

}  // namespace

TEST_CASE("the default folder follows XDG_CACHE_HOME and HOME", "[cache]") {
  const auto with = [](const char* xdg, const char* home, const char* wanted) {
    return in_child([&] {
      xdg != nullptr ? ::setenv("XDG_CACHE_HOME", xdg, 1) : ::unsetenv("XDG_CACHE_HOME");
      home != nullptr ? ::setenv("HOME", home, 1) : ::unsetenv("HOME");
      return cache::default_folder() == wanted ? 0 : 1;
    });
  };
  CHECK(with("/x", "/h", "/x/wavejit") == 0);
  CHECK(with(nullptr, "/h", "/h/.cache/wavejit") == 0);
  CHECK(with("", "/h", "/h/.cache/wavejit") == 0);
  CHECK(with("relative", "/h", "/h/.cache/wavejit") == 0);  // the specification: ignore it
  CHECK(with(nullptr, nullptr, "") == 0);
  CHECK(with(nullptr, "relative", "") == 0);
}

TEST_CASE("without a home the cache is off, with one warning", "[cache]") {
  CHECK(in_child([] {
          ::unsetenv("XDG_CACHE_HOME");
          ::unsetenv("HOME");
          Log log;
          DiskCache disk({.log = log.function()});
          const bool made =
              disk.get_or_make(some_key(), []() -> Result<Bytes> { return some_payload(1); }).has_value();
          disk.put(some_key(), some_payload(1));
          return !disk.on() && made && log.warnings.size() == 1 ? 0 : 1;
        }) == 0);
}

TEST_CASE("missing parents are made, for their owner alone", "[cache]") {
  const Scratch scratch;
  const DiskCache disk({.folder = scratch / "a" / "b" / "c/"});
  CHECK(disk.on());
  for (const char* made : {"a", "a/b", "a/b/c"}) {
    struct stat status {};
    REQUIRE(::stat((scratch / made).c_str(), &status) == 0);
    CHECK((status.st_mode & 07777U) == 0700U);
  }
  const DiskCache not_made({.folder = scratch / "d", .create = false});
  CHECK_FALSE(not_made.on());
  CHECK_FALSE(fs::exists(scratch / "d"));
}

TEST_CASE("a folder that others may write is refused", "[cache]") {
  const Scratch scratch;
  const fs::path folder = scratch / "cache";
  fs::create_directory(folder);
  for (const unsigned mode : {0777U, 0702U, 0720U, 01777U}) {
    REQUIRE(::chmod(folder.c_str(), mode) == 0);
    check_off(folder, "others may write it");
  }
  REQUIRE(::chmod(folder.c_str(), 0755) == 0);
  CHECK(DiskCache({.folder = folder}).on());
}

TEST_CASE("somebody else's folder is refused, with what to do", "[cache]") {
  if (::geteuid() != 0) test::skip("only root can make a folder of somebody else's");
  const Scratch scratch;
  const fs::path folder = scratch / "cache";
  fs::create_directory(folder);
  REQUIRE(::chown(folder.c_str(), 65534, 65534) == 0);
  check_off(folder, "belongs to user 65534, not to 0");
  check_off(folder, "WAVEJIT_CACHE_DIR");
}

TEST_CASE("a folder of root's is read by others and never written", "[cache]") {
  // As an ordinary user: some folder that root owns, which has no entries; as root: one that is filled here
  // and read by nobody.
  if (::geteuid() != 0) {
    Log log;
    DiskCache disk({.folder = "/usr/share", .log = log.function()});
    CHECK(disk.on());
    CHECK(disk.read_only());
    CHECK(disk.get(some_key()).miss == Miss::absent);
    CHECK_FALSE(disk.put(some_key(), some_payload(10)));
    CHECK(log.warnings.empty());
    return;
  }
  const Scratch scratch;
  REQUIRE(::chmod(scratch.path().c_str(), 0755) == 0);
  const fs::path folder = scratch / "cache";
  {
    DiskCache disk({.folder = folder});
    for (int i = 0; i < 4; ++i) REQUIRE(disk.put(some_key(i), some_payload(100)));
  }
  const auto open_to_all = [&] {
    ::chmod(folder.c_str(), 0755);
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      REQUIRE(::chmod(entry.path().c_str(), entry.is_directory() ? 0755 : 0644) == 0);
  };
  open_to_all();
  // Not root's and not the reader's; writable by a group; no use.
  REQUIRE(::chown(entry_path(folder, some_key(1)).c_str(), 1000, 1000) == 0);
  REQUIRE(::chmod(entry_path(folder, some_key(2)).c_str(), 0664) == 0);
  write_file(entry_path(folder, some_key(3)), some_payload(50));
  const auto before = files_ending(folder, "");
  CHECK(in_child(
            [&] {
              Log log;
              DiskCache disk({.folder = folder, .log = log.function()});
              if (!disk.on() || !disk.read_only()) return 1;
              const auto found = disk.get(some_key(0));
              if (!found || *found.payload != some_payload(100)) return 2;
              if (disk.get(some_key(1)).miss != Miss::untrusted) return 3;
              if (disk.get(some_key(2)).miss != Miss::untrusted) return 4;
              if (disk.get(some_key(3))) return 5;
              for (int i = 100; i < 103; ++i) {
                const auto made =
                    disk.get_or_make(some_key(i), []() -> Result<Bytes> { return some_payload(9); });
                if (!made || made->payload != some_payload(9)) return 6;
              }
              if (disk.put(some_key(), some_payload(10)) || disk.stats().put_failures != 0) return 7;
              if (disk.contents().entries != 4 || disk.explain(some_key(0)).miss != Miss::none) return 8;
              disk.trim();
              // What cannot be kept is said, once, and is no warning.
              if (!log.warnings.empty()) return 9;
              const auto said = std::ranges::count_if(
                  log.others, [](const std::string& line) { return line.find("read") != std::string::npos; });
              return said == 1 ? 0 : 10;
            },
            true) == 0);
  CHECK(files_ending(folder, "") == before);
  // Writable by a group: refused for root's as for one's own, with what to do.
  REQUIRE(::chmod(folder.c_str(), 0775) == 0);
  CHECK(in_child(
            [&] {
              Log log;
              const DiskCache disk({.folder = folder, .log = log.function()});
              if (disk.on() || log.warnings.size() != 1) return 1;
              const std::string& line = log.warnings[0];
              return line.find("chmod go-w") != std::string::npos &&
                             line.find("WAVEJIT_CACHE_DIR") != std::string::npos
                         ? 0
                         : 2;
            },
            true) == 0);
}

TEST_CASE("an entry of root's in one's own folder is read, one of somebody else's is not", "[cache]") {
  if (::geteuid() != 0) test::skip("only root can make files of other owners");
  const Scratch scratch;
  REQUIRE(::chmod(scratch.path().c_str(), 0755) == 0);
  const fs::path folder = scratch / "cache";
  {
    DiskCache disk({.folder = folder});
    for (int i = 0; i < 2; ++i) REQUIRE(disk.put(some_key(i), some_payload(100)));
  }
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_directory()) REQUIRE(::chown(entry.path().c_str(), 65534, 65534) == 0);
  REQUIRE(::chown(folder.c_str(), 65534, 65534) == 0);
  for (int i = 0; i < 2; ++i) REQUIRE(::chmod(entry_path(folder, some_key(i)).c_str(), 0644) == 0);
  REQUIRE(::chown(entry_path(folder, some_key(1)).c_str(), 1000, 1000) == 0);
  CHECK(in_child(
            [&] {
              DiskCache disk({.folder = folder});
              if (!disk.on() || disk.read_only()) return 1;
              if (!disk.get(some_key(0))) return 2;
              return disk.get(some_key(1)).miss == Miss::untrusted ? 0 : 3;
            },
            true) == 0);
}

TEST_CASE("a folder on a volume that everybody may write is used: its owner and mode protect it", "[cache]") {
  const Scratch scratch;
  const fs::path parent = scratch / "volume";
  fs::create_directory(parent);
  for (const unsigned mode : {0777U, 01777U, 0770U}) {
    REQUIRE(::chmod(parent.c_str(), mode) == 0);
    Log log;
    DiskCache disk({.folder = parent / "cache", .log = log.function()});
    CHECK(disk.on());
    CHECK_FALSE(disk.read_only());
    CHECK(disk.put(some_key(), some_payload(10)));
    CHECK(disk.get(some_key()));
    CHECK(log.warnings.empty());
  }
  // What another user puts in its place is refused by its owner.
  if (::geteuid() != 0) return;
  fs::rename(parent / "cache", parent / "moved");
  fs::create_directory(parent / "cache");
  REQUIRE(::chown((parent / "cache").c_str(), 65534, 65534) == 0);
  check_off(parent / "cache", "belongs to user 65534");
}

TEST_CASE("a symbolic link or a file in the folder's place is refused", "[cache]") {
  const Scratch scratch;
  fs::create_directory(scratch / "target");
  REQUIRE(::chmod((scratch / "target").c_str(), 0700) == 0);
  fs::create_directory_symlink(scratch / "target", scratch / "link");
  check_off(scratch / "link", "symbolic link");
  check_off(scratch.path() / "link/", "symbolic link");
  write_file(scratch / "file", some_payload(3));
  check_off(scratch / "file", "no folder");
  check_off(scratch / "file" / "below", "");
}

TEST_CASE("links, pipes and folders in an entry's place are not read", "[cache]") {
  const Scratch scratch;
  const fs::path folder = scratch / "cache";
  DiskCache disk({.folder = folder});
  const Bytes payload = some_payload(10);
  disk.put(some_key(), payload);
  const fs::path path = entry_path(folder, some_key());
  fs::rename(path, scratch / "elsewhere");

  fs::create_symlink(scratch / "elsewhere", path);
  CHECK(disk.get(some_key()).miss == Miss::untrusted);
  CHECK(disk.put(some_key(), payload));  // replaces the link, not what it names
  CHECK(disk.get(some_key()));
  CHECK(fs::is_regular_file(fs::symlink_status(path)));

  fs::remove(path);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(disk.get(some_key()).miss == Miss::untrusted);  // and does not hang
  fs::remove(path);
  fs::create_directory(path);
  CHECK(disk.get(some_key()).miss == Miss::untrusted);
  fs::remove(path);

  // Others may write it.
  CHECK(disk.put(some_key(), payload));
  REQUIRE(::chmod(path.c_str(), 0666) == 0);
  CHECK(disk.get(some_key()).miss == Miss::untrusted);
  // The folder that entries lie in is a link.
  fs::rename(path.parent_path(), scratch / "moved");
  fs::create_directory_symlink(scratch / "moved", path.parent_path());
  CHECK(disk.get(some_key()).miss == Miss::untrusted);
  CHECK_FALSE(disk.put(some_key(), payload));
}

TEST_CASE("a read-only folder is read and not written, with one warning", "[cache]") {
  const Scratch scratch;
  REQUIRE(::chmod(scratch.path().c_str(), 0755) == 0);
  const fs::path home = scratch / "home";
  fs::create_directory(home);
  if (::geteuid() == 0) REQUIRE(::chown(home.c_str(), 65534, 65534) == 0);
  CHECK(in_child(
            [&] {
              const fs::path folder = home / "cache";
              DiskCache disk({.folder = folder});
              for (int i = 0; i < 3; ++i)
                if (!disk.put(some_key(i), some_payload(100))) return 1;
              for (const auto& entry : fs::recursive_directory_iterator(folder))
                ::chmod(entry.path().c_str(), entry.is_directory() ? 0500 : 0400);
              ::chmod(folder.c_str(), 0500);
              const int result = serves_without_writing(folder, 3, 100);
              fs::permissions(folder, fs::perms::owner_all);
              for (const auto& entry : fs::recursive_directory_iterator(folder))
                ::chmod(entry.path().c_str(), 0700);
              return result;
            },
            true) == 0);
}

TEST_CASE("a write that meets a limit leaves nothing and one warning", "[cache]") {
  const Scratch scratch;
  const fs::path folder = scratch / "cache";
  CHECK(in_child([&] {
          DiskCache disk({.folder = folder});
          if (!disk.put(some_key(), some_payload(100))) return 1;
          // What a quota does: writes stop in the middle of a file.
          ::signal(SIGXFSZ, SIG_IGN);
          const rlimit limit{20'000, 20'000};
          if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
          return serves_without_writing(folder, 1, 100'000);
        }) == 0);
}

TEST_CASE("a full or read-only file system leaves nothing and one warning", "[cache]") {
  const Scratch scratch;
  const fs::path mounted = scratch / "mount";
  fs::create_directory(mounted);
  if (::mount("wavejit-test", mounted.c_str(), "tmpfs", 0, "size=256k,mode=0700") != 0)
    test::skip("tmpfs cannot be mounted here");
  const fs::path folder = mounted / "cache";
  CHECK(in_child([&] { return DiskCache({.folder = folder}).put(some_key(), some_payload(100)) ? 0 : 1; }) ==
        0);
  CHECK(in_child([&] { return serves_without_writing(folder, 1, 500'000); }) == 0);
  CHECK(::mount("wavejit-test", mounted.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=256k,mode=0700") ==
        0);
  CHECK(in_child([&] { return serves_without_writing(folder, 1, 100); }) == 0);
  CHECK(::umount2(mounted.c_str(), MNT_DETACH) == 0);
}

TEST_CASE("after a failed write it is tried again when the time has come", "[cache]") {
  const Scratch scratch;
  const fs::path folder = scratch / "cache";
  Log log;
  DiskCache disk({.folder = folder, .write_retry = std::chrono::seconds(0), .log = log.function()});
  // A file where the entry's folder should be.
  const fs::path first_level = entry_path(folder, some_key()).parent_path().parent_path();
  write_file(first_level, {});
  CHECK_FALSE(disk.put(some_key(), some_payload(10)));
  CHECK_FALSE(disk.put(some_key(), some_payload(10)));
  CHECK(log.warnings.size() == 1);
  fs::remove(first_level);
  CHECK(disk.put(some_key(), some_payload(10)));
}

TEST_CASE("the folder may vanish under a running cache", "[cache]") {
  const Scratch scratch;
  Log log;
  DiskCache disk({.folder = scratch / "cache", .log = log.function()});
  disk.put(some_key(), some_payload(10));
  fs::remove_all(scratch / "cache");
  CHECK(disk.get(some_key()).miss == Miss::absent);
  CHECK_FALSE(disk.put(some_key(), some_payload(10)));
  CHECK(log.warnings.size() == 1);
}
