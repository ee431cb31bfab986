// SPDX-License-Identifier: MIT
// A progress bar on stderr, drawn only when stderr is a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace wavejit::tools {

class ProgressBar {
 public:
  /// `unit`: what is counted, "workgroups".
  explicit ProgressBar(std::string unit);
  ~ProgressBar() { finish(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Draws at most a few times a second. Not thread-safe: callers take turns.
  void update(std::uint64_t done, std::uint64_t all);
  /// Wipes the bar, so that ordinary output can follow.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  std::string unit_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point begin_, last_;
};

}  // namespace wavejit::tools
