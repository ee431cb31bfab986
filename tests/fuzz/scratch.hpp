// SPDX-License-Identifier: MIT
// A folder for one process of a fuzzer, in memory where the machine has such a file system.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

namespace wavejit::test {

class Scratch {
 public:
  Scratch() {
    const std::filesystem::path memory = "/dev/shm";
    const auto root = std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path();
    std::string name = (root / "wavejit-fuzz-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] std::filesystem::path path(std::string_view name) const { return folder_ / name; }
  std::filesystem::path write(std::string_view name, std::span<const std::uint8_t> bytes) const {
    std::filesystem::create_directories(path(name).parent_path());
    std::ofstream(path(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path(name);
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace wavejit::test
