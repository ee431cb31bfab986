// SPDX-License-Identifier: MIT
// What the engine's tests share: an engine on simulated devices with a log, and a folder of its own.
#pragma once

#include <atomic>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/device/simulated/sim_device.hpp"
#include "runtime/engine/engine.hpp"

namespace wavejit::test {

/// A fresh empty folder, removed at the end.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string path(const std::string& below = {}) const {
    return below.empty() ? path_.string() : (path_ / below).string();
  }
  /// Regular files below, relative, sorted.
  [[nodiscard]] std::vector<std::string> files() const;

 private:
  std::filesystem::path path_;
};

/// Keeps what the engine says.
class Log {
 public:
  [[nodiscard]] LogFunction function() {
    return [this](LogLevel level, std::string_view text) {
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(level, text);
    };
  }
  [[nodiscard]] std::size_t warnings() const;
  [[nodiscard]] bool contains(std::string_view text) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<LogLevel, std::string>> lines_;
};

/// No environment, no disk cache, one gfx1151 unless told otherwise.
EngineOptions quiet_options();

/// A problem that compiles and runs quickly; `index` makes different ones.
templates::Problem small_problem(int index = 0);

}  // namespace wavejit::test
