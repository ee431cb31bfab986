// SPDX-License-Identifier: MIT
#include "tests/runtime/device/fake_driver.hpp"

#include <dlfcn.h>

#include <stdexcept>

namespace wavejit::test {

FakeDriver::FakeDriver(const std::string& variant, const std::string& devices)
    : path_(std::string(WAVEJIT_FAKE_HIP_FOLDER) + "/" + variant + "/libamdhip64.so." +
            (variant == "old" ? "5" : variant)),
      handle_(dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) throw std::runtime_error(dlerror());
  obey("devices " + devices);
}

template <class Function>
Function* FakeDriver::function(const char* name) const {
  auto* found = reinterpret_cast<Function*>(dlsym(handle_, name));
  if (found == nullptr) throw std::runtime_error(std::string("the fake driver lacks ") + name);
  return found;
}

void FakeDriver::obey(const std::string& commands) const {
  if (function<int(const char*)>("wavejit_fake_hip")(commands.c_str()) != 0)
    throw std::runtime_error("the fake driver does not understand: " + commands);
}

long FakeDriver::calls(const char* name) const {
  return function<long(const char*)>("wavejit_fake_hip_calls")(name);
}

long FakeDriver::modules() const { return function<long()>("wavejit_fake_hip_modules")(); }

long FakeDriver::used_after_unload() const {
  return function<long()>("wavejit_fake_hip_used_after_unload")();
}

int FakeDriver::get_device() const {
  int ordinal = -1;
  (void)function<int(int*)>("hipGetDevice")(&ordinal);
  return ordinal;
}

void FakeDriver::set_device(int ordinal) const { (void)function<int(int)>("hipSetDevice")(ordinal); }

int FakeDriver::last_error() const { return function<int()>("hipGetLastError")(); }

int FakeDriver::begin_capture(void* stream, int mode) const {
  return function<int(void*, int)>("hipStreamBeginCapture")(stream, mode);
}

int FakeDriver::end_capture(void* stream, void** graph) const {
  return function<int(void*, void**)>("hipStreamEndCapture")(stream, graph);
}

int FakeDriver::instantiate(void** executable, void* graph) const {
  return function<int(void**, void*, void*, char*, std::size_t)>("hipGraphInstantiate")(executable, graph,
                                                                                        nullptr, nullptr, 0);
}

int FakeDriver::launch_graph(void* executable, void* stream) const {
  return function<int(void*, void*)>("hipGraphLaunch")(executable, stream);
}

void* FakeDriver::create_stream(unsigned flags) const {
  void* stream = nullptr;
  (void)function<int(void**, unsigned)>("hipStreamCreateWithFlags")(&stream, flags);
  return stream;
}

}  // namespace wavejit::test
