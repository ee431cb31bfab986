// SPDX-License-Identifier: MIT
#include "runtime/device/common/fork.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <mutex>
#include <vector>

namespace wavejit::device {

std::atomic<unsigned> ForkMark::forks_ = 0;

ForkMark::ForkMark() {
  static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { forks_.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
  made_at_ = forks_.load(std::memory_order_relaxed);
}

Result<void> ForkMark::check(std::string_view what) const {
  if (!crossed()) return {};
  return fail(
      ErrorCode::no_device,
      fmt::format("{} belongs to the process that this one was forked from; a fork copies neither its "
                  "threads nor the state of a GPU's driver. Open devices and engines after the fork, in "
                  "the child, and use HIP in no process before it forks (Python: the start method "
                  "\"spawn\")",
                  what));
}

void keep_for_ever(std::shared_ptr<void> object) {
  struct Kept {
    std::mutex mutex;
    std::vector<std::shared_ptr<void>> objects;
  };
  static Kept& kept = *new Kept;
  const std::lock_guard lock(kept.mutex);
  kept.objects.push_back(std::move(object));
}

}  // namespace wavejit::device
