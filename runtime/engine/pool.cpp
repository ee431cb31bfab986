// SPDX-License-Identifier: MIT
#include "runtime/engine/pool.hpp"

#include <utility>

namespace wavejit::engine {

Pool::~Pool() {
  std::deque<std::function<void(bool)>> left;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    left.swap(tasks_);
  }
  wake_.notify_all();
  for (auto& task : left) task(false);
  threads_.clear();  // joins
}

void Pool::submit(std::function<void(bool)> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (idle_ < tasks_.size() && threads_.size() < limit_) threads_.emplace_back([this] { work(); });
  }
  wake_.notify_one();
}

void Pool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [&] { return stopping_ || !tasks_.empty(); });
    --idle_;
    if (stopping_) return;
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task(true);
    task = nullptr;  // what it holds may lock, too
    lock.lock();
  }
}

}  // namespace wavejit::engine
