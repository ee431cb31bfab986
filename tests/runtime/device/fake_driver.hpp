// SPDX-License-Identifier: MIT
// One of the simulated HIP drivers of tests/fake_hip, opened beside the device under test: its control
// functions, and the HIP functions that only an application calls.
#pragma once

#include <string>

#include "runtime/device/device.hpp"

namespace wavejit::test {

class FakeDriver {
 public:
  /// "5", "6", "7" or "old"; starts anew with these devices.
  explicit FakeDriver(const std::string& variant, const std::string& devices = "gfx1151");

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] device::OpenOptions options() const { return {.hip_library = path_, .sim_target = {}}; }
  /// Commands of tests/fake_hip/control.hpp.
  void obey(const std::string& commands) const;
  [[nodiscard]] long calls(const char* function) const;
  [[nodiscard]] long modules() const;
  [[nodiscard]] long used_after_unload() const;

  // HIP's own.
  [[nodiscard]] int get_device() const;
  void set_device(int ordinal) const;
  [[nodiscard]] int last_error() const;
  [[nodiscard]] int begin_capture(void* stream, int mode = 0) const;
  [[nodiscard]] int end_capture(void* stream, void** graph) const;
  [[nodiscard]] int instantiate(void** executable, void* graph) const;
  [[nodiscard]] int launch_graph(void* executable, void* stream) const;
  [[nodiscard]] void* create_stream(unsigned flags) const;

 private:
  template <class Function>
  [[nodiscard]] Function* function(const char* name) const;

  std::string path_;
  void* handle_ = nullptr;
};

}  // namespace wavejit::test
