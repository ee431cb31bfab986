// SPDX-License-Identifier: MIT
// Folders, keys and payloads for the caches' tests, and a way to run something in a process of its own.
#pragma once

#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cache/disk_cache.hpp"

namespace wavejit::test {

/// A fresh folder of mode 0700, removed at the end.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// A key of the right form; different numbers give different problems.
cache::Key some_key(int number = 0);
/// Bytes that look random and depend on the seed.
cache::Bytes some_payload(std::size_t size, unsigned seed = 1);

/// Where the entry of a key must lie: <first digit>/<second digit>/<32 digits>.wje.
std::filesystem::path entry_path(const std::filesystem::path& folder, const cache::Key& key);
cache::Bytes read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const cache::Bytes& bytes);
/// Regular files below a folder whose names end so, sorted.
std::vector<std::string> files_ending(const std::filesystem::path& folder, const std::string& suffix);
void set_times(const std::filesystem::path& path, long seconds_ago);

/// What a cache said, by level.
struct Log {
  std::mutex mutex;
  std::vector<std::string> warnings, others;
  cache::LogFunction function();
};

/// Forks, runs `body` there (as user nobody when this process is root and `as_nobody`), and returns what it
/// returned; -1 when the child died otherwise.
int in_child(const std::function<int()>& body, bool as_nobody = false);
/// The pid of a child that runs `body` and exits with what it returns.
int start_child(const std::function<int()>& body);
int wait_for_child(int pid);

}  // namespace wavejit::test
