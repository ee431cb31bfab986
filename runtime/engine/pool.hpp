// SPDX-License-Identifier: MIT
// Internal: a fixed number of threads that prepare kernels in the background. Plain std::jthread and not
// TBB, whose uninstrumented synchronisation thread sanitizer does not see: the engine's promise of thread
// safety is tested under it.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace wavejit::engine {

class Pool {
 public:
  explicit Pool(unsigned threads) : limit_(threads) {}
  /// Waits for tasks that run; tasks that have not begun are called with `run` = false.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// `task(true)` runs on a thread of the pool; it must not throw. Threads start with the first tasks.
  void submit(std::function<void(bool run)> task);

 private:
  void work();

  const unsigned limit_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void(bool)>> tasks_;
  std::vector<std::jthread> threads_;
  unsigned idle_ = 0;
  bool stopping_ = false;
};

}  // namespace wavejit::engine
