// SPDX-License-Identifier: MIT
#include "tools/wavejit/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace wavejit::tools {

ProgressBar::ProgressBar(std::string unit)
    : unit_(std::move(unit)), terminal_(::isatty(STDERR_FILENO) != 0), begin_(Clock::now()), last_(begin_) {}

void ProgressBar::finish() {
  if (!drawn_) return;
  drawn_ = false;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

void ProgressBar::update(std::uint64_t done, std::uint64_t all) {
  constexpr auto interval = std::chrono::milliseconds(100);
  const Clock::time_point now = Clock::now();
  if (!terminal_ || all == 0 || (now - last_ < interval && done != all)) return;
  last_ = now;
  drawn_ = true;
  constexpr std::uint64_t width = 30;
  const std::uint64_t filled = done * width / all;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const double left = done == 0 ? 0 : seconds / static_cast<double>(done) * static_cast<double>(all - done);
  fmt::print(stderr, "\r[{}{}] {}/{} {}, {:.0f} s left \x1b[K", std::string(filled, '#'),
             std::string(width - filled, '.'), done, all, unit_, left);
  std::fflush(stderr);
}

}  // namespace wavejit::tools
