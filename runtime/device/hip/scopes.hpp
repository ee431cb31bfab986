// SPDX-License-Identifier: MIT
// What a driver call needs around it: the device's ordinal, and a capture mode that touches nobody's graph.
#pragma once

#include "runtime/device/hip/api.hpp"

namespace wavejit::device::hip {

/// Makes `ordinal` the thread's device and puts the caller's back.
class OrdinalScope {
 public:
  OrdinalScope(const Api& api, int ordinal) : api_(api) {
    status_ = api.hipGetDevice(&before_);
    if (status_ != status::success || before_ == ordinal) return;
    status_ = api.hipSetDevice(ordinal);
    changed_ = status_ == status::success;
  }
  OrdinalScope(const OrdinalScope&) = delete;
  OrdinalScope& operator=(const OrdinalScope&) = delete;
  ~OrdinalScope() {
    if (changed_) (void)api_.hipSetDevice(before_);
  }
  [[nodiscard]] Status result() const { return status_; }

 private:
  const Api& api_;
  int before_ = 0;
  Status status_ = status::success;
  bool changed_ = false;
};

/// The thread's capture mode is relaxed inside. In the default (global) mode the driver answers hipMalloc,
/// hipFree and hipModuleUnload with an error *and invalidates the captures of other threads*; in relaxed
/// mode it leaves them alone. Graphs that hold kernels of ours are kept safe by other means.
class RelaxedScope {
 public:
  explicit RelaxedScope(const Api& api) : api_(api) {
    if (api.hipThreadExchangeStreamCaptureMode == nullptr) return;
    changed_ = api.hipThreadExchangeStreamCaptureMode(&mode_) == status::success;
  }
  RelaxedScope(const RelaxedScope&) = delete;
  RelaxedScope& operator=(const RelaxedScope&) = delete;
  ~RelaxedScope() {
    if (changed_) (void)api_.hipThreadExchangeStreamCaptureMode(&mode_);
  }

 private:
  const Api& api_;
  int mode_ = mode_relaxed;
  bool changed_ = false;
};

}  // namespace wavejit::device::hip
