// SPDX-License-Identifier: MIT
#include "tests/fake_hip/state.hpp"

#include <charconv>
#include <cstdlib>
#include <sstream>

#include "tests/fake_hip/control.hpp"

namespace wavejit::fake_hip {
namespace {

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> all;
  for (std::string word; in >> word;) all.push_back(word);
  return all;
}

bool number(const std::string& text, long& value) {
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  return wrong == std::errc() && end == text.data() + text.size();
}

/// One command of control.hpp; false when it is not one.
bool obey(const std::string& line) {
  auto w = words(line);
  if (w.empty()) return true;
  if (w[0] == "devices") {
    w.erase(w.begin());
    restart(std::move(w));
    return true;
  }
  long code = 0, count = 0;
  if (w[0] != "fail" || w.size() != 4 || !number(w[2], code) || !number(w[3], count)) return false;
  const std::scoped_lock lock(state().mutex);
  state().faults[w[1]] = {static_cast<Status>(code), count};
  return true;
}

bool obey_all(const std::string& commands) {
  bool good = true;
  std::istringstream in(commands);
  for (std::string line; std::getline(in, line, ';');) good = obey(line) && good;
  return good;
}

void start(State& s) {
  s.started = true;
  for (const std::string& target : s.targets) {
    device::SimOptions options;
    options.target = target;
    options.ordinal = static_cast<int>(s.devices.size());
    if (auto made = SimDevice::create(options)) s.devices.push_back(*std::move(made));
  }
}

}  // namespace

State& state() {
  static State& s = *[] {
    auto* made = new State;  // alive to the end of the process, as HIP's
    if (const char* commands = std::getenv("WAVEJIT_FAKE_HIP")) {
      std::istringstream in(commands);
      for (std::string line; std::getline(in, line, ';');) {
        const auto w = words(line);
        long code = 0, count = 0;
        if (!w.empty() && w[0] == "devices") made->targets.assign(w.begin() + 1, w.end());
        if (w.size() == 4 && w[0] == "fail" && number(w[2], code) && number(w[3], count))
          made->faults[w[1]] = {static_cast<Status>(code), count};
      }
    }
    return made;
  }();
  return s;
}

Thread& thread() {
  thread_local Thread t;
  return t;
}

Status enter(const char* function) {
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  // Found without making a string: tests count allocations of launches.
  const auto count = s.calls.find(std::string_view(function));
  if (count != s.calls.end()) {
    ++count->second;
  } else {
    s.calls.emplace(function, 1);
  }
  if (const auto it = s.faults.find(std::string_view(function));
      it != s.faults.end() && it->second.calls > 0) {
    --it->second.calls;
    return it->second.status;
  }
  if (!s.started) start(s);
  return s.devices.empty() ? status::no_device : status::success;
}

Status leave(Status code) {
  if (code != status::success) thread().last_error = code;
  return code;
}

void restart(std::vector<std::string> targets) {
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  s.executables.clear();
  s.graphs.clear();
  s.streams.clear();
  s.events.clear();
  s.modules.clear();
  s.functions.clear();
  s.devices.clear();
  s.faults.clear();
  s.calls.clear();
  s.used_after_unload = 0;
  s.last_fault.clear();
  s.started = false;
  s.targets = std::move(targets);
  thread() = {};
}

Status check_capture_supported() {
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  if (thread().mode == device::hip::mode_relaxed) return status::success;
  bool concerned = false;
  for (const auto& [handle, stream] : s.streams) {
    if (stream->capture == device::hip::capture_none || stream->mode == device::hip::mode_relaxed) continue;
    const bool own = stream->capturing_thread == &thread();
    const bool global = stream->mode == device::hip::mode_global && thread().mode == device::hip::mode_global;
    if (!own && !global) continue;
    stream->capture = device::hip::capture_is_invalidated;
    concerned = true;
  }
  return concerned ? status::capture_unsupported : status::success;
}

}  // namespace wavejit::fake_hip

using namespace wavejit::fake_hip;

extern "C" {

int wavejit_fake_hip(const char* commands) { return obey_all(commands) ? 0 : -1; }

long wavejit_fake_hip_calls(const char* function) {
  const std::scoped_lock lock(state().mutex);
  const auto it = state().calls.find(std::string_view(function));
  return it == state().calls.end() ? 0 : it->second;
}

long wavejit_fake_hip_modules() {
  const std::scoped_lock lock(state().mutex);
  return static_cast<long>(state().modules.size());
}

long wavejit_fake_hip_used_after_unload() {
  const std::scoped_lock lock(state().mutex);
  return state().used_after_unload;
}

const char* wavejit_fake_hip_last_fault() {
  const std::scoped_lock lock(state().mutex);
  return state().last_fault.c_str();
}
}
