// SPDX-License-Identifier: MIT
// The disk cache among processes: one maker a key, killed writers, killed and stuck holders of locks.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <random>
#include <thread>

#include "runtime/cache/record.hpp"
#include "tests/runtime/cache/scratch.hpp"

using namespace wavejit;
using namespace wavejit::test;
using cache::Bytes;
using cache::DiskCache;
using cache::KeyLock;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

/// What processes of a test share.
struct Board {
  std::atomic<int> arrived, made, ready;
  std::atomic<std::uint64_t> digests[8];
};

class SharedBoard {
 public:
  SharedBoard()
      : board_(static_cast<Board*>(
            ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    REQUIRE(static_cast<void*>(board_) != MAP_FAILED);
  }
  ~SharedBoard() { ::munmap(board_, sizeof(Board)); }
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;
  Board* operator->() const { return board_; }

 private:
  Board* board_;
};

Result<Bytes> make_small_kernel(int round) {
  templates::Problem problem;
  problem.n = 64 + 16 * round;
  problem.k = 128;
  problem.group = 32;
  const target::Target& target = *target::find("gfx1151");
  const auto config = templates::select_config(problem, target, 16);
  if (!config) return std::unexpected(config.error());
  const auto kernel = templates::generate(problem, *config, target);
  if (!kernel) return std::unexpected(kernel.error());
  return serialise(cache::make_record(*kernel));
}

/// Every file below the folder, whatever it is.
std::uint64_t all_bytes(const std::filesystem::path& folder) {
  std::uint64_t total = 0;
  std::error_code gone;
  for (auto it = std::filesystem::recursive_directory_iterator(folder, gone);
       it != std::filesystem::recursive_directory_iterator(); it.increment(gone)) {
    if (gone) break;
    const auto size = it->is_regular_file(gone) ? it->file_size(gone) : 0;
    if (!gone) total += size;
  }
  return total;
}

/// Eight writers on a cache of 1 MiB, each killed at some moment and started anew, `kills` times in all.
void kill_writers(int kills) {
  const Scratch scratch;
  const auto folder = scratch / "cache";
  constexpr std::uint64_t bound = 1 << 20, entry = 20'000, processes = 8;
  const auto start = [&](unsigned seed) {
    return start_child([&folder, seed]() -> int {
      DiskCache disk({.folder = folder, .max_bytes = bound});
      std::mt19937 random(seed);
      for (;;) {
        const auto k = static_cast<unsigned>(random() % 200);
        disk.put(some_key(static_cast<int>(k)), some_payload(entry - 1000, k));
      }
    });
  };
  std::mt19937 random(3);
  std::vector<int> writers;
  for (unsigned p = 0; p < processes; ++p) writers.push_back(start(p));
  std::uint64_t peak = 0;
  for (int i = 0; i < kills; ++i) {
    const auto until = steady_clock::now() + std::chrono::microseconds(random() % 20'000);
    do peak = std::max(peak, all_bytes(folder));
    while (steady_clock::now() < until);
    int& victim = writers[random() % processes];
    ::kill(victim, SIGKILL);
    CHECK(wait_for_child(victim) == -1);
    victim = start(static_cast<unsigned>(100 + i));
  }
  for (const int writer : writers) {
    ::kill(writer, SIGKILL);
    wait_for_child(writer);
  }
  INFO("peak " << peak << " bytes");
  CHECK(peak > bound / 2);
  CHECK(peak <= bound + processes * entry);
  DiskCache disk({.folder = folder, .max_bytes = bound});
  CHECK(disk.verify(false).bad.empty());
  disk.trim();
  CHECK(files_ending(folder, ".tmp").empty());
  CHECK(all_bytes(folder) <= bound);
}

}  // namespace

TEST_CASE("writers that are killed leave the cache within its bound", "[cache]") { kill_writers(40); }

TEST_CASE("three hundred killed writers", "[.][kills]") { kill_writers(300); }

TEST_CASE("eight processes on an empty folder make a kernel once, thirty times (case 70)", "[cache]") {
  constexpr int processes = 8, rounds = 30;
  for (int round = 0; round < rounds; ++round) {
    const Scratch scratch;
    const SharedBoard board;
    std::vector<int> children;
    for (int p = 0; p < processes; ++p)
      children.push_back(start_child([&, p] {
        ++board->arrived;
        while (board->arrived < processes) std::this_thread::yield();
        Log log;
        DiskCache disk({.folder = scratch / "cache", .log = log.function()});
        const auto got = disk.get_or_make(some_key(round), [&] {
          ++board->made;
          return make_small_kernel(round);
        });
        if (!got || !cache::parse_record(got->payload) || !log.warnings.empty()) return 1;
        board->digests[p] = cache::digest(got->payload).low;
        return 0;
      }));
    for (const int child : children) CHECK(wait_for_child(child) == 0);
    CAPTURE(round);
    CHECK(board->made == 1);
    for (int p = 1; p < processes; ++p) CHECK(board->digests[p] == board->digests[0]);
    CHECK(files_ending(scratch.path(), ".tmp").empty());
    CHECK(files_ending(scratch.path(), ".wje").size() == 1);
  }
}

TEST_CASE("a writer killed at any point leaves nothing that is read as good", "[cache]") {
  const Scratch scratch;
  const auto folder = scratch / "cache";
  constexpr int kills = 220, key_count = 4;
  std::vector<Bytes> payloads;
  payloads.reserve(key_count);
  for (unsigned k = 0; k < key_count; ++k) payloads.push_back(some_payload(300'000, k));
  std::mt19937 random(7);
  std::size_t left_over = 0, seen_good = 0;
  for (int i = 0; i < kills; ++i) {
    const SharedBoard board;
    const int child = start_child([&]() -> int {
      DiskCache disk({.folder = folder});
      board->ready = 1;
      for (int n = 0;; ++n) {
        const cache::Key key = some_key(n % key_count);
        const KeyLock held = disk.lock(key);
        disk.put(key, payloads[static_cast<std::size_t>(n % key_count)]);
      }
    });
    while (board->ready == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 6000));
    ::kill(child, SIGKILL);
    CHECK(wait_for_child(child) == -1);

    DiskCache disk({.folder = folder, .lock_timeout = milliseconds(2000)});
    for (int k = 0; k < key_count; ++k) {
      const cache::Lookup found = disk.get(some_key(k));
      if (found) ++seen_good;
      const bool right =
          found ? *found.payload == payloads[static_cast<std::size_t>(k)] : found.miss == cache::Miss::absent;
      CHECK(right);
      CHECK(disk.lock(some_key(k)).held());
    }
    left_over += files_ending(folder, ".tmp").size();
    disk.trim();
    CHECK(files_ending(folder, ".tmp").empty());
    if (i % 10 == 9) disk.purge();
  }
  // The kills did hit writes, and writes did finish.
  CHECK(left_over > 20);
  CHECK(seen_good > 20);
}

TEST_CASE("a holder that dies lets go, one that is stuck is given up on", "[cache]") {
  const Scratch scratch;
  const auto folder = scratch / "cache";
  const SharedBoard board;
  const int child = start_child([&]() -> int {
    DiskCache disk({.folder = folder});
    const KeyLock held = disk.lock(some_key());
    board->ready = held.held() ? 1 : 2;
    for (;;) ::pause();
  });
  while (board->ready == 0) std::this_thread::yield();
  REQUIRE(board->ready == 1);

  Log log;
  DiskCache disk({.folder = folder, .lock_timeout = milliseconds(50), .log = log.function()});
  CHECK(disk.lock(some_key(2)).held());  // another key is free
  CHECK(disk.lock(some_key()).state() == KeyLock::State::timed_out);
  const auto made = disk.get_or_make(some_key(), []() -> Result<Bytes> { return some_payload(5); });
  REQUIRE(made);
  CHECK(made->payload == some_payload(5));
  CHECK(disk.contents().entries == 0);  // without the cache
  CHECK(disk.stats().lock_timeouts == 2);
  CHECK(log.warnings.empty());

  ::kill(child, SIGKILL);
  wait_for_child(child);
  CHECK(disk.lock(some_key()).held());
}

TEST_CASE("threads exclude each other by the same lock", "[cache]") {
  const Scratch scratch;
  DiskCache disk({.folder = scratch / "cache", .lock_timeout = milliseconds(20)});
  KeyLock first = disk.lock(some_key());
  REQUIRE(first.held());
  CHECK(disk.lock(some_key()).state() == KeyLock::State::timed_out);
  KeyLock moved = std::move(first);
  CHECK(disk.lock(some_key()).state() == KeyLock::State::timed_out);
  moved = KeyLock();
  CHECK(disk.lock(some_key()).held());
  CHECK(disk.lock(some_key()).held());
}

TEST_CASE("a child forked under a lock does not keep it", "[cache]") {
  const Scratch scratch;
  DiskCache disk({.folder = scratch / "cache", .lock_timeout = milliseconds(2000)});
  int child = 0;
  {
    const KeyLock held = disk.lock(some_key());
    REQUIRE(held.held());
    child = start_child([]() -> int {
      for (;;) ::pause();
    });
  }
  CHECK(disk.lock(some_key()).held());
  ::kill(child, SIGKILL);
  wait_for_child(child);
}

TEST_CASE("who waited for a lock finds what was made meanwhile", "[cache]") {
  const Scratch scratch;
  DiskCache first({.folder = scratch / "cache"}), second({.folder = scratch / "cache"});
  std::atomic<int> made = 0;
  std::atomic<bool> started = false;
  std::jthread maker([&] {
    first.get_or_make(some_key(), [&]() -> Result<Bytes> {
      started = true;
      std::this_thread::sleep_for(milliseconds(100));
      ++made;
      return some_payload(9);
    });
  });
  while (!started) std::this_thread::yield();
  const auto got = second.get_or_make(some_key(), [&]() -> Result<Bytes> {
    ++made;
    return some_payload(9);
  });
  maker.join();
  REQUIRE(got);
  CHECK(got->from_disk);
  CHECK(made == 1);
  CHECK(second.stats().lock_waits == 1);
}
