// SPDX-License-Identifier: MIT
// Fork. A child has neither the threads of its parent's devices and engines nor a driver that works, and a
// lock that some thread held at the fork is held for ever. So what was made before a fork refuses every call
// in the child, before it takes a lock, and is never destroyed there.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>

#include "generator/support/error.hpp"

namespace wavejit::device {

/// The process in which an object was made.
class ForkMark {
 public:
  ForkMark();
  /// True in a child that was forked since. Neither locks nor calls the system.
  [[nodiscard]] bool crossed() const { return forks_.load(std::memory_order_relaxed) != made_at_; }
  /// Errors, in such a child: no_device. `what` begins the sentence: "HIP device 0".
  [[nodiscard]] Result<void> check(std::string_view what) const;

 private:
  static std::atomic<unsigned> forks_;  ///< between this process and the one that loaded the library
  unsigned made_at_;
};

/// Keeps what must not be destroyed in a forked child to its end, where leak checkers see that it is meant.
void keep_for_ever(std::shared_ptr<void> object);

/// shared_ptr's deleter for a T that has `made_in()`, a ForkMark: in a forked child nothing is destroyed.
struct DestroyWhereMade {
  template <class T>
  void operator()(T* object) const {
    if (object->made_in().crossed()) return keep_for_ever(std::shared_ptr<T>(object, [](T*) {}));
    delete object;
  }
};

}  // namespace wavejit::device
