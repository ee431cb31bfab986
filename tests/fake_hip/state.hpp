// SPDX-License-Identifier: MIT
// The state of the simulated HIP driver. Devices are simulated devices; modules, streams, events, capture
// and graphs are kept here with HIP's rules. Rules and codes: ROCm/clr (hipamd/src: hip_internal.hpp,
// hip_graph.cpp, hip_stream.cpp, hip_module.cpp; the capture check of hipModuleUnload is of 7.x), as
// facts; nothing is copied.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "runtime/device/hip/api.hpp"
#include "runtime/device/simulated/sim_device.hpp"

namespace wavejit::fake_hip {

using device::SimDevice;
using device::hip::Status;
namespace status = device::hip::status;

struct Function {
  std::shared_ptr<const device::Module> module;
  int device = 0;
};

struct Module {
  int device = 0;
  std::vector<std::byte> image;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

struct Node {
  const Function* function = nullptr;  ///< may be gone by the time it is launched: that is looked up
  device::Geometry geometry;
  std::vector<std::byte> kernarg;
};

struct Graph {
  std::vector<Node> nodes;
};

struct Stream {
  int device = 0;
  device::Stream sim = nullptr;
  unsigned flags = 0;
  int capture = device::hip::capture_none;
  int mode = device::hip::mode_global;
  const void* capturing_thread = nullptr;
  Graph graph;
};

struct Event {
  int device = 0;
  device::Event sim = nullptr;
};

struct Fault {
  Status status = status::success;
  long calls = 0;  ///< how many more calls fail
};

struct State {
  std::recursive_mutex mutex;  ///< of everything; never held while a simulated stream is waited for
  std::vector<std::shared_ptr<SimDevice>> devices;
  bool started = false;
  std::vector<std::string> targets{"gfx1151"};
  std::map<std::string, Fault, std::less<>> faults;
  std::map<std::string, long, std::less<>> calls;
  std::map<const void*, std::unique_ptr<Module>> modules;
  std::set<const void*> functions;  ///< of the loaded modules
  std::map<const void*, std::unique_ptr<Stream>> streams;
  std::map<const void*, std::unique_ptr<Event>> events;
  std::map<const void*, std::unique_ptr<Graph>> graphs, executables;
  long used_after_unload = 0;
  std::string last_fault;  ///< text of the last simulated fault
};

struct Thread {
  int device = 0;
  int mode = device::hip::mode_global;
  Status last_error = status::success;
};

State& state();
Thread& thread();

/// Starts the driver at first use, counts the call and gives the injected failure if there is one.
/// `function` is the HIP function's own name.
Status enter(const char* function);
/// Leaves a HIP function: remembers a failure for hipGetLastError.
Status leave(Status status);
/// Forgets all devices, handles, faults and counts; the next call starts these targets.
void restart(std::vector<std::string> targets);

/// The check that HIP makes in calls that are unsafe during capture: fails and invalidates the captures
/// concerned, unless the thread's mode is relaxed.
Status check_capture_supported();

inline SimDevice& current() { return *state().devices[static_cast<std::size_t>(thread().device)]; }

}  // namespace wavejit::fake_hip

/// The head of every function: returns injected failures.
#define FAKE_HIP_ENTER() \
  if (const auto injected = enter(__func__); injected != status::success) return leave(injected)
