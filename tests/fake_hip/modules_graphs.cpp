// SPDX-License-Identifier: MIT
// Modules, launches, capture and graphs.
#include <cstring>

#include "runtime/device/common/code_object_target.hpp"
#include "tests/fake_hip/state.hpp"

using namespace wavejit::fake_hip;
namespace hip = wavejit::device::hip;

namespace {

/// A driver gets a pointer only: it finds the end by the ELF header's section table, as ROCclr does.
std::span<const std::byte> whole_elf(const void* image) {
  const auto* bytes = static_cast<const std::byte*>(image);
  std::uint64_t table = 0;
  std::uint16_t entry = 0, count = 0;
  std::memcpy(&table, bytes + 40, sizeof table);
  std::memcpy(&entry, bytes + 58, sizeof entry);
  std::memcpy(&count, bytes + 60, sizeof count);
  return {bytes, table + std::uint64_t{entry} * count};
}

struct Packed {
  std::span<const std::byte> kernarg;
  bool good = false;
};

/// The list of HIP_LAUNCH_PARAM keys: pointer (1), size (2), end (3).
Packed unpack(void** extra) {
  if (extra == nullptr) return {};
  const void* pointer = nullptr;
  std::size_t size = 0;
  for (;; extra += 2) {
    switch (reinterpret_cast<std::uintptr_t>(*extra)) {
      case 1:
        pointer = extra[1];
        break;
      case 2:
        std::memcpy(&size, extra[1], sizeof size);
        break;
      case 3:
        return {{static_cast<const std::byte*>(pointer), size}, true};
      default:
        return {};
    }
  }
}

Stream* stream_of(hip::StreamHandle handle) {
  const auto it = state().streams.find(handle);
  return it == state().streams.end() ? nullptr : it->second.get();
}

Status enqueue(const Function& function, const wavejit::device::Geometry& geometry,
               std::span<const std::byte> kernarg, wavejit::device::Stream sim) {
  auto& device = *state().devices[static_cast<std::size_t>(function.device)];
  const auto done = device.launch(*function.module, geometry, kernarg, sim);
  return done ? status::success : status::invalid_value;
}

bool blocking_capture() {
  for (const auto& [handle, stream] : state().streams)
    if (stream->capture != hip::capture_none && stream->flags != hip::stream_non_blocking) return true;
  return false;
}

}  // namespace

extern "C" {

Status hipModuleLoadData(hip::ModuleHandle* handle, const void* image) {
  FAKE_HIP_ENTER();
  if (const Status s = check_capture_supported(); s != status::success) return leave(s);
  if (image == nullptr || std::memcmp(image, "\177ELF", 4) != 0) return leave(status::invalid_image);
  const auto elf = whole_elf(image);
  const auto fits = wavejit::device::check_target(elf, current().info().target_id);
  if (!fits) return leave(status::no_binary_for_gpu);
  auto module = std::make_unique<Module>();
  module->device = thread().device;
  module->image.assign(elf.begin(), elf.end());
  *handle = module.get();
  const std::scoped_lock lock(state().mutex);
  state().modules.emplace(*handle, std::move(module));
  return status::success;
}

Status hipModuleUnload(hip::ModuleHandle handle) {
  FAKE_HIP_ENTER();
  if (handle == nullptr) return leave(status::invalid_handle);
  if (const Status s = check_capture_supported(); s != status::success) return leave(s);
  const std::scoped_lock lock(state().mutex);
  const auto it = state().modules.find(handle);
  if (it == state().modules.end()) return leave(status::not_found);
  for (const auto& [name, function] : it->second->functions) state().functions.erase(function.get());
  state().modules.erase(it);
  return status::success;
}

Status hipModuleGetFunction(hip::FunctionHandle* handle, hip::ModuleHandle module, const char* name) {
  FAKE_HIP_ENTER();
  const std::scoped_lock lock(state().mutex);
  const auto it = state().modules.find(module);
  if (it == state().modules.end()) return leave(status::invalid_handle);
  Module& m = *it->second;
  auto& slot = m.functions[name];
  if (slot == nullptr) {
    auto loaded = state().devices[static_cast<std::size_t>(m.device)]->load(m.image, name);
    if (!loaded) {
      m.functions.erase(name);
      return leave(status::not_found);
    }
    slot = std::make_unique<Function>(Function{*std::move(loaded), m.device});
    state().functions.insert(slot.get());
  }
  *handle = slot.get();
  return status::success;
}

Status hipModuleLaunchKernel(hip::FunctionHandle handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                             unsigned block_x, unsigned block_y, unsigned block_z, unsigned lds_bytes,
                             hip::StreamHandle stream_handle, void** parameters, void** extra) {
  FAKE_HIP_ENTER();
  const std::scoped_lock lock(state().mutex);
  if (!state().functions.contains(handle)) return leave(status::invalid_image);
  const auto& function = *static_cast<const Function*>(handle);
  const Packed packed = unpack(extra);
  if (parameters != nullptr || !packed.good) return leave(status::invalid_value);
  const wavejit::device::Geometry geometry{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, lds_bytes};
  if (grid_x == 0 || grid_y == 0 || grid_z == 0 || std::uint64_t{block_x} * block_y * block_z == 0 ||
      std::uint64_t{block_x} * block_y * block_z > 1024)
    return leave(status::invalid_configuration);
  if (stream_handle == nullptr) {
    if (blocking_capture()) return leave(status::capture_implicit);
    if (function.device != thread().device) return leave(status::invalid_device);
    return leave(enqueue(function, geometry, packed.kernarg, nullptr));
  }
  Stream* stream = stream_of(stream_handle);
  if (stream == nullptr) return leave(status::context_is_destroyed);
  if (function.device != stream->device) return leave(status::invalid_device);
  if (stream->capture == hip::capture_is_invalidated) return leave(status::capture_invalidated);
  if (stream->capture == hip::capture_is_active) {
    stream->graph.nodes.push_back({&function, geometry, {packed.kernarg.begin(), packed.kernarg.end()}});
    return status::success;
  }
  return leave(enqueue(function, geometry, packed.kernarg, stream->sim));
}

Status hipStreamBeginCapture(hip::StreamHandle handle, int mode) {
  FAKE_HIP_ENTER();
  const std::scoped_lock lock(state().mutex);
  if (handle == nullptr) return leave(status::capture_unsupported);
  Stream* stream = stream_of(handle);
  if (stream == nullptr) return leave(status::context_is_destroyed);
  if (mode < hip::mode_global || mode > hip::mode_relaxed) return leave(status::invalid_value);
  if (stream->capture != hip::capture_none) return leave(401);  // hipErrorIllegalState
  stream->capture = hip::capture_is_active;
  stream->mode = mode;
  stream->capturing_thread = &thread();
  stream->graph = {};
  return status::success;
}

Status hipStreamEndCapture(hip::StreamHandle handle, void** graph) {
  FAKE_HIP_ENTER();
  const std::scoped_lock lock(state().mutex);
  Stream* stream = stream_of(handle);
  if (stream == nullptr) return leave(status::context_is_destroyed);
  if (stream->capture == hip::capture_none) return leave(401);  // hipErrorIllegalState
  if (stream->mode != hip::mode_relaxed && stream->capturing_thread != &thread())
    return leave(908);  // hipErrorStreamCaptureWrongThread
  const bool invalidated = stream->capture == hip::capture_is_invalidated;
  stream->capture = hip::capture_none;
  *graph = nullptr;
  if (invalidated) return leave(status::capture_invalidated);
  auto made = std::make_unique<Graph>(std::move(stream->graph));
  *graph = made.get();
  state().graphs.emplace(*graph, std::move(made));
  return status::success;
}

/// Only the parameters that matter here: HIP 5 takes five.
Status hipGraphInstantiate(void** executable, void* graph, void*, char*, std::size_t) {
  FAKE_HIP_ENTER();
  const std::scoped_lock lock(state().mutex);
  const auto it = state().graphs.find(graph);
  if (it == state().graphs.end()) return leave(status::invalid_value);
  auto made = std::make_unique<Graph>(*it->second);
  *executable = made.get();
  state().executables.emplace(*executable, std::move(made));
  return status::success;
}

Status hipGraphLaunch(void* executable, hip::StreamHandle handle) {
  FAKE_HIP_ENTER();
  const std::scoped_lock lock(state().mutex);
  const auto it = state().executables.find(executable);
  Stream* stream = stream_of(handle);
  if (it == state().executables.end() || stream == nullptr) return leave(status::invalid_value);
  for (const Node& node : it->second->nodes) {
    if (!state().functions.contains(node.function)) {
      ++state().used_after_unload;
      return leave(status::invalid_device_function);
    }
    if (const Status s = enqueue(*node.function, node.geometry, node.kernarg, stream->sim);
        s != status::success)
      return leave(s);
  }
  return status::success;
}

Status hipGraphExecDestroy(void* executable) {
  FAKE_HIP_ENTER();
  const std::scoped_lock lock(state().mutex);
  return leave(state().executables.erase(executable) != 0 ? status::success : status::invalid_value);
}

Status hipGraphDestroy(void* graph) {
  FAKE_HIP_ENTER();
  const std::scoped_lock lock(state().mutex);
  return leave(state().graphs.erase(graph) != 0 ? status::success : status::invalid_value);
}
}
