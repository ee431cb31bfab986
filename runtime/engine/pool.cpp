// SPDX-License-Identifier: MIT
#include "runtime/engine/pool.hpp"

#include <utility>

namespace wavejit::engine {

Pool::~Pool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  threads_.clear();  // joins; nobody takes a task any more
  for (auto& task : tasks_) task(false);
}

void Pool::submit(std::function<void(bool)> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    try {
      if (idle_ < tasks_.size() && threads_.size() < limit_) threads_.emplace_back([this] { work(); });
    } catch (...) {  // no further thread: those there are do it, if any
      if (threads_.empty()) {
        tasks_.pop_back();
        throw;
      }
    }
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
