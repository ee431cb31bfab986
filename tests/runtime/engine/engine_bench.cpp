// SPDX-License-Identifier: MIT
#include "tests/runtime/engine/engine_bench.hpp"

#include <algorithm>
#include <cstdlib>

namespace wavejit::test {

namespace fs = std::filesystem;

Folder::Folder() {
  std::string name = (fs::temp_directory_path() / "wavejit-test-XXXXXX").string();
  path_ = ::mkdtemp(name.data());
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::string> Folder::files() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(path_))
    if (entry.is_regular_file()) names.push_back(fs::relative(entry.path(), path_).string());
  std::ranges::sort(names);
  return names;
}

std::size_t Log::warnings() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(lines_, [](const auto& line) { return line.first == LogLevel::warning; }));
}

bool Log::contains(std::string_view text) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(lines_,
                             [&](const auto& line) { return line.second.find(text) != std::string::npos; });
}

EngineOptions quiet_options() {
  EngineOptions options;
  options.environment = false;
  options.devices = {"sim:gfx1151"};
  options.cache_folder = "";
  return options;
}

templates::Problem small_problem(int index) {
  templates::Problem p;
  p.n = 16 + 16 * (index % 10);
  p.k = 32 * (1 + index / 10);
  p.group = 32;
  return p;
}

}  // namespace wavejit::test
