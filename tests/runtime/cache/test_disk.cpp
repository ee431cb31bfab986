// SPDX-License-Identifier: MIT
// The disk cache in one process: entries, bad entries, eviction, tools.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "runtime/cache/entry.hpp"
#include "tests/runtime/cache/scratch.hpp"

using namespace wavejit;
using namespace wavejit::test;
using cache::Bytes;
using cache::DiskCache;
using cache::Miss;

namespace {

namespace fs = std::filesystem;

std::uint64_t misses(const DiskCache& disk, Miss miss) {
  return disk.stats().misses[static_cast<std::size_t>(miss)];
}

struct Fixture {
  Scratch scratch;
  Log log;
  fs::path folder = scratch / "cache";
  cache::DiskOptions options{.folder = folder, .log = log.function()};
};

}  // namespace

TEST_CASE("the disk cache gives back what was put", "[cache]") {
  Fixture f;
  const Bytes payload = some_payload(10'000);
  {
    DiskCache disk(f.options);
    REQUIRE(disk.on());
    CHECK(disk.get(some_key()).miss == Miss::absent);
    CHECK(disk.put(some_key(), payload));
    CHECK(*disk.get(some_key()).payload == payload);
    CHECK(disk.get(some_key(2)).miss == Miss::absent);
    CHECK(disk.stats().hits == 1);
    CHECK(misses(disk, Miss::absent) == 2);
  }
  DiskCache again(f.options);
  CHECK(*again.get(some_key()).payload == payload);
  CHECK(again.contents().entries == 1);
  CHECK(f.log.warnings.empty());
  // Nothing but the entry, the lock and the total; nobody else can read them.
  CHECK(fs::exists(entry_path(f.folder, some_key())));
  CHECK(files_ending(f.folder, "").size() <= 3);
  for (const auto& entry : fs::recursive_directory_iterator(f.folder)) {
    struct stat status {};
    REQUIRE(::stat(entry.path().c_str(), &status) == 0);
    CHECK((status.st_mode & 07777U) == (entry.is_directory() ? 0700U : 0600U));
  }
  struct stat status {};
  REQUIRE(::stat(f.folder.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777U) == 0700U);
}

TEST_CASE("every byte of an entry flipped is a miss that the next put mends", "[cache]") {
  Fixture f;
  DiskCache disk(f.options);
  const Bytes payload = some_payload(40);
  disk.put(some_key(), payload);
  const fs::path path = entry_path(f.folder, some_key());
  const Bytes good = read_file(path);
  for (std::size_t i = 0; i < good.size(); ++i) {
    Bytes bad = good;
    bad[i] ^= 0x20;
    write_file(path, bad);
    CAPTURE(i);
    const cache::Lookup found = disk.get(some_key());
    CHECK_FALSE(found);
    CHECK(found.miss != Miss::absent);
    CHECK_FALSE(fs::exists(path));  // quarantined
    CHECK(disk.put(some_key(), payload));
    CHECK(*disk.get(some_key()).payload == payload);
    CHECK(read_file(path) == good);
  }
  CHECK(disk.stats().quarantined == good.size());
  CHECK(disk.contents().quarantined <= 32);
}

TEST_CASE("an entry cut to any length is a miss and made anew (case 66)", "[cache]") {
  Fixture f;
  DiskCache disk(f.options);
  const Bytes payload = some_payload(40);
  disk.put(some_key(), payload);
  const fs::path path = entry_path(f.folder, some_key());
  const Bytes good = read_file(path);
  for (std::size_t size = 0; size < good.size(); ++size) {
    write_file(path, {good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)});
    int made = 0;
    const auto got = disk.get_or_make(some_key(), [&]() -> Result<Bytes> {
      ++made;
      return payload;
    });
    CAPTURE(size);
    REQUIRE(got);
    CHECK(made == 1);
    CHECK(got->payload == payload);
    CHECK(read_file(path) == good);
  }
  CHECK(misses(disk, Miss::truncated) == good.size());
}

TEST_CASE("entries of another key, another format or another build are not used (cases 66, 67)", "[cache]") {
  Fixture f;
  DiskCache disk(f.options);
  const fs::path path = entry_path(f.folder, some_key());
  disk.put(some_key(), some_payload(10));
  // A sound entry of another key in this one's place, older and of another size.
  write_file(path, cache::serialise(some_key(2).text, some_payload(500)));
  set_times(path, 3600);
  CHECK(disk.get(some_key()).miss == Miss::wrong_key);
  CHECK(disk.get(some_key(2)).miss == Miss::absent);
  Bytes next_version = cache::serialise(some_key().text, some_payload(10));
  next_version[8] = 2;
  write_file(path, next_version);
  CHECK(disk.get(some_key()).miss == Miss::foreign_format);
  CHECK(disk.put(some_key(), some_payload(10)));
  CHECK(disk.get(some_key()));

  // Another build of the generator has another key for the same problem: its entry is beside ours.
  auto parts = *cache::parse_key(some_key().text);
  parts.build = "another";
  const cache::Key other = cache::make_key(parts);
  CHECK(disk.get(other).miss == Miss::absent);
  CHECK(disk.put(other, some_payload(10, 2)));
  CHECK(*disk.get(some_key()).payload == some_payload(10));
  CHECK(*disk.get(other).payload == some_payload(10, 2));
}

TEST_CASE("a payload that its reader cannot use is rejected and made anew", "[cache]") {
  Fixture f;
  DiskCache disk(f.options);
  disk.put(some_key(), some_payload(10, 1));
  const auto got = disk.get_or_make(
      some_key(), []() -> Result<Bytes> { return some_payload(10, 2); },
      [](const Bytes& b) { return b == some_payload(10, 2); });
  REQUIRE(got);
  CHECK_FALSE(got->from_disk);
  CHECK(*disk.get(some_key()).payload == some_payload(10, 2));
  CHECK(misses(disk, Miss::invalid_payload) == 1);
}

TEST_CASE("a failure to make is returned and not kept", "[cache]") {
  Fixture f;
  DiskCache disk(f.options);
  const auto failed =
      disk.get_or_make(some_key(), []() -> Result<Bytes> { return fail(ErrorCode::assembler, "no"); });
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message == "no");
  CHECK(disk.contents().entries == 0);
  CHECK(disk.get_or_make(some_key(), []() -> Result<Bytes> { return some_payload(1); }).has_value());
}

TEST_CASE("one request is one hit or one miss", "[cache]") {
  Fixture f;
  DiskCache disk(f.options);
  const auto make = []() -> Result<Bytes> { return some_payload(1); };
  REQUIRE(disk.get_or_make(some_key(), make));
  CHECK(misses(disk, Miss::absent) == 1);
  CHECK(disk.get_or_make(some_key(), make)->from_disk);
  CHECK(disk.stats().hits == 1);
  CHECK(disk.stats().puts == 1);
}

TEST_CASE("what was used longest ago goes first", "[cache]") {
  Fixture f;
  constexpr std::size_t size = 10'000;
  f.options.max_bytes = 45'000;  // four entries, not five
  f.options.touch_interval = std::chrono::seconds(0);
  DiskCache disk(f.options);
  for (int i = 0; i < 4; ++i) {
    REQUIRE(disk.put(some_key(i), some_payload(size)));
    set_times(entry_path(f.folder, some_key(i)), 1000 - i);
  }
  CHECK(disk.get(some_key(0)));  // used now, so 1 and 2 are the oldest
  REQUIRE(disk.put(some_key(4), some_payload(size)));
  // Nine tenths of the limit hold three entries of that size and their keys.
  CHECK(fs::exists(entry_path(f.folder, some_key(0))));
  CHECK_FALSE(fs::exists(entry_path(f.folder, some_key(1))));
  CHECK(fs::exists(entry_path(f.folder, some_key(3))));
  CHECK(fs::exists(entry_path(f.folder, some_key(4))));
  CHECK(disk.contents().entry_bytes <= 45'000);
  CHECK(disk.stats().evicted == 2);
}

TEST_CASE("the limit holds among processes that count together", "[cache]") {
  Fixture f;
  f.options.max_bytes = 100'000;
  for (int p = 0; p < 6; ++p)
    CHECK(in_child([&] {
            DiskCache disk(f.options);
            for (int i = 0; i < 5; ++i)
              if (!disk.put(some_key(p * 10 + i), some_payload(8000))) return 1;
            return 0;
          }) == 0);
  DiskCache disk(f.options);
  CHECK(disk.contents().entry_bytes <= 100'000);
  CHECK(disk.contents().entries >= 8);
}

TEST_CASE("a total that is wrong or gone is put right", "[cache]") {
  Fixture f;
  f.options.max_bytes = 45'000;
  DiskCache disk(f.options);
  for (int i = 0; i < 3; ++i) disk.put(some_key(i), some_payload(10'000));
  write_file(f.folder / "usage", some_payload(24));  // rubbish
  disk.put(some_key(3), some_payload(10'000));
  disk.put(some_key(4), some_payload(10'000));
  CHECK(disk.contents().entry_bytes <= 45'000);
  fs::remove(f.folder / "usage");
  disk.put(some_key(5), some_payload(10'000));
  disk.put(some_key(6), some_payload(10'000));
  CHECK(disk.contents().entry_bytes <= 45'000);
}

TEST_CASE("an entry larger than the cache is not written", "[cache]") {
  Fixture f;
  f.options.max_bytes = 1000;
  DiskCache disk(f.options);
  CHECK_FALSE(disk.put(some_key(), some_payload(2000)));
  CHECK(disk.contents().entries == 0);
  CHECK(f.log.warnings.empty());
}

TEST_CASE("temporaries go when their writer has gone, or after a time", "[cache]") {
  Fixture f;
  DiskCache disk(f.options);
  disk.put(some_key(), some_payload(10));
  const fs::path leaf = entry_path(f.folder, some_key()).parent_path();
  std::vector<int> writers;
  for (const char* name : {"dead-1-1-1.tmp", "live-1-1-1.tmp", "forked-1-1-1.tmp", "not-ours"}) {
    write_file(leaf / name, some_payload(10));
    // What a writer holds, or a child that was forked from it and lives on.
    struct flock lock {};
    lock.l_type = F_WRLCK;
    if (std::string_view(name).starts_with("dead")) continue;
    writers.push_back(::open((leaf / name).c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(::fcntl(writers.back(), F_OFD_SETLK, &lock) == 0);
  }
  set_times(leaf / "forked-1-1-1.tmp", 3700);
  disk.trim();
  CHECK(files_ending(f.folder, ".tmp").size() == 1);
  CHECK(fs::exists(leaf / "live-1-1-1.tmp"));
  CHECK(fs::exists(leaf / "not-ours"));
  CHECK(disk.stats().temporaries_removed == 2);
  CHECK(disk.get(some_key()));
  for (const int writer : writers) ::close(writer);
}

TEST_CASE("temporaries and quarantined files count in the size", "[cache]") {
  Fixture f;
  f.options.max_bytes = 10'000;
  DiskCache disk(f.options);
  for (int i = 0; i < 8; ++i) REQUIRE(disk.put(some_key(i), some_payload(700)));
  const fs::path leaf = entry_path(f.folder, some_key(0)).parent_path();
  write_file(leaf / "dead-1-1-1.tmp", some_payload(5000));
  fs::create_directory(f.folder / "quarantine");
  write_file(f.folder / "quarantine" / "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.wje.checksum", some_payload(5000));
  disk.trim();
  // Both are no use to anybody: entries stay.
  CHECK(disk.contents().entries == 8);
  CHECK(disk.contents().temporaries == 0);
  CHECK(disk.contents().quarantined == 0);
}

TEST_CASE("folders that cannot be written leave the others in use", "[cache]") {
  Fixture f;
  DiskCache disk(f.options);
  // Whatever stands where the first digit's folder would be.
  const std::string first = cache::to_hex(some_key(0).digest).substr(0, 1);
  switch (GENERATE(0, 1, 2)) {
    case 0:
      fs::create_symlink("/", f.folder / first);
      break;
    case 1:
      fs::create_symlink("nowhere", f.folder / first);
      break;
    default:
      write_file(f.folder / first, some_payload(1));
  }
  unsigned written = 0, elsewhere = 0;
  for (int i = 0; i < 60; ++i) {
    const bool blocked = cache::to_hex(some_key(i).digest).starts_with(first);
    CHECK(disk.put(some_key(i), some_payload(10)) == !blocked);
    CHECK(disk.get(some_key(i)).payload.has_value() == !blocked);
    written += disk.contents().entries > written ? 1U : 0U;
    elsewhere += blocked ? 0U : 1U;
  }
  CHECK(written == elsewhere);
  CHECK(elsewhere < 60);
  CHECK(f.log.warnings.size() == 1);
}

TEST_CASE("explain says why it is a miss", "[cache]") {
  Fixture f;
  DiskCache disk(f.options);
  CHECK(disk.explain(some_key()).summary == "the cache is empty");
  disk.put(some_key(1), some_payload(10));
  disk.put(some_key(2), some_payload(10));
  CHECK(disk.explain(some_key(1)).miss == Miss::none);

  auto parts = *cache::parse_key(some_key(1).text);
  parts.llvm = "22.1.9";
  cache::Explanation e = disk.explain(cache::make_key(parts));
  CHECK(e.miss == Miss::absent);
  REQUIRE(e.different.size() == 1);
  CHECK(e.different[0].part == "llvm");
  CHECK(e.summary.find("llvm 22.1.9 vs 22.1.8") != std::string::npos);
  CHECK(f.folder / e.nearest == entry_path(f.folder, some_key(1)));

  const fs::path path = entry_path(f.folder, some_key(1));
  Bytes bad = read_file(path);
  bad.back() ^= 1;
  write_file(path, bad);
  CHECK(disk.explain(some_key(1)).summary.find("corrupt or foreign: checksum") != std::string::npos);
  disk.get(some_key(1));  // moves it away
  e = disk.explain(some_key(1));
  CHECK(e.miss == Miss::absent);
  CHECK(e.summary.find("the entry was corrupt: checksum (kept as quarantine/") != std::string::npos);
  // Explaining is not using.
  CHECK(disk.stats().hits == 0);
}

TEST_CASE("verify finds the bad entries and purge removes all", "[cache]") {
  Fixture f;
  DiskCache disk(f.options);
  for (int i = 0; i < 4; ++i) disk.put(some_key(i), some_payload(10));
  const fs::path flipped = entry_path(f.folder, some_key(0)), misnamed = entry_path(f.folder, some_key(1));
  Bytes bad = read_file(flipped);
  bad[60] ^= 1;
  write_file(flipped, bad);
  write_file(misnamed, read_file(entry_path(f.folder, some_key(2))));
  const cache::VerifyReport report = disk.verify(false);
  CHECK(report.good == 2);
  REQUIRE(report.bad.size() == 2);
  CHECK(std::ranges::count(report.bad, Miss::checksum, &cache::VerifyReport::Bad::miss) == 1);
  CHECK(std::ranges::count(report.bad, Miss::wrong_key, &cache::VerifyReport::Bad::miss) == 1);
  CHECK(disk.verify(true).bad.size() == 2);
  CHECK(disk.verify(true).bad.empty());
  write_file(f.folder / "mine.txt", some_payload(3));
  CHECK(disk.purge() == 2);
  CHECK(disk.contents().entries == 0);
  CHECK(fs::exists(f.folder / "mine.txt"));
  CHECK(disk.put(some_key(), some_payload(10)));
}

TEST_CASE("a hit sets the access time, at most once an interval", "[cache]") {
  Fixture f;
  DiskCache disk(f.options);
  disk.put(some_key(), some_payload(10));
  const fs::path path = entry_path(f.folder, some_key());
  const auto age = [&] {
    struct stat status {};
    timespec now{};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    ::clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec - status.st_atim.tv_sec;
  };
  set_times(path, 5000);
  CHECK(disk.get(some_key()));
  CHECK(age() < 1000);
}

TEST_CASE("threads put, get and evict at once and read only what was written", "[cache]") {
  Fixture f;
  f.options.max_bytes = 60'000;
  f.options.touch_interval = std::chrono::seconds(0);
  DiskCache first(f.options), second(f.options);
  std::atomic<int> wrong = 0, hits = 0;
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      DiskCache& disk = t % 2 == 0 ? first : second;
      unsigned state = t + 1;
      for (int i = 0; i < 60; ++i) {
        state = state * 1664525 + 1013904223;
        const int k = static_cast<int>(state >> 20) % 12;
        const Bytes wanted = some_payload(8000, static_cast<unsigned>(k));
        const cache::Lookup found = disk.get(some_key(k));
        if (found) {
          ++hits;
          if (*found.payload != wanted) ++wrong;
        } else if (found.miss != Miss::absent) {
          ++wrong;
        } else {
          disk.put(some_key(k), wanted);
        }
      }
    });
  threads.clear();
  CHECK(wrong == 0);
  CHECK(hits > 0);
  CHECK(files_ending(f.folder, ".tmp").empty());
  CHECK(f.log.warnings.empty());
  CHECK(first.verify(false).bad.empty());
}
