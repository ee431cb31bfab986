// SPDX-License-Identifier: MIT
#include "tests/runtime/cache/scratch.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <random>

namespace wavejit::test {

namespace fs = std::filesystem;

Scratch::Scratch() {
  std::string path = (fs::temp_directory_path() / "wavejit-cache-XXXXXX").string();
  REQUIRE(::mkdtemp(path.data()) != nullptr);
  path_ = path;
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

cache::Key some_key(int number) {
  cache::KeyParts parts;
  parts.target_id = "gfx1151";
  parts.llvm = "22.1.8";
  parts.build = "0123";
  parts.problem = "problem " + std::to_string(number);
  parts.config = "tile 128x64x32";
  return cache::make_key(parts);
}

cache::Bytes some_payload(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  cache::Bytes bytes(size);
  std::ranges::generate(bytes, [&] { return static_cast<std::uint8_t>(random()); });
  return bytes;
}

fs::path entry_path(const fs::path& folder, const cache::Key& key) {
  const std::string hex = cache::to_hex(key.digest);
  return folder / hex.substr(0, 1) / hex.substr(1, 1) / (hex + ".wje");
}

cache::Bytes read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const fs::path& path, const cache::Bytes& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::vector<std::string> files_ending(const fs::path& folder, const std::string& suffix) {
  std::vector<std::string> all;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().string().ends_with(suffix))
      all.push_back(entry.path().lexically_relative(folder).string());
  std::ranges::sort(all);
  return all;
}

void set_times(const fs::path& path, long seconds_ago) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  now.tv_sec -= seconds_ago;
  const timespec times[2] = {now, now};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

cache::LogFunction Log::function() {
  return [this](cache::LogLevel level, std::string_view message) {
    const std::lock_guard lock(mutex);
    (level == cache::LogLevel::warning ? warnings : others).emplace_back(message);
  };
}

int start_child(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) ::_exit(body());
  return pid;
}

int wait_for_child(int pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int in_child(const std::function<int()>& body, bool as_nobody) {
  constexpr unsigned nobody = 65534;
  return wait_for_child(start_child([&] {
    if (as_nobody && ::geteuid() == 0 && (::setgid(nobody) != 0 || ::setuid(nobody) != 0)) return 99;
    return body();
  }));
}

}  // namespace wavejit::test
