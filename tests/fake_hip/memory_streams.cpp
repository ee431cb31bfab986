// SPDX-License-Identifier: MIT
// Memory, streams and events.
#include <span>

#include "tests/fake_hip/state.hpp"

using namespace wavejit::fake_hip;
namespace hip = wavejit::device::hip;

namespace {

Status of(const wavejit::Error& error) {
  switch (error.code) {
    case wavejit::ErrorCode::out_of_memory:
      return status::out_of_memory;
    case wavejit::ErrorCode::simulation:
      state().last_fault = error.message;
      return status::launch_failure;
    default:
      return status::invalid_value;
  }
}

template <class T>
Status of(const wavejit::Result<T>& result) {
  return leave(result ? status::success : of(result.error()));
}

std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

std::span<std::byte> bytes_of(void* pointer, std::size_t bytes) {
  return {static_cast<std::byte*>(pointer), bytes};
}

/// Null stream: the current device's default. nullptr: no such stream.
struct Found {
  wavejit::device::SimDevice* device = nullptr;
  wavejit::device::Stream sim = nullptr;
  Stream* own = nullptr;
};

Found find(hip::StreamHandle handle) {
  if (handle == nullptr) return {&current(), nullptr, nullptr};
  const auto it = state().streams.find(handle);
  if (it == state().streams.end()) return {};
  Stream& stream = *it->second;
  return {state().devices[static_cast<std::size_t>(stream.device)].get(), stream.sim, &stream};
}

}  // namespace

extern "C" {

Status hipMalloc(void** pointer, std::size_t bytes) {
  FAKE_HIP_ENTER();
  if (const Status s = check_capture_supported(); s != status::success) return leave(s);
  const auto made = current().allocate(bytes);
  *pointer = made ? reinterpret_cast<void*>(*made) : nullptr;
  return of(made);
}

Status hipFree(void* pointer) {
  FAKE_HIP_ENTER();
  if (const Status s = check_capture_supported(); s != status::success) return leave(s);
  // A real driver's addresses are unique; simulated devices' are not, so the current device's is meant.
  return of(current().release(address(pointer)));
}

Status hipMemcpyHtoD(void* to, void* from, std::size_t bytes) {
  FAKE_HIP_ENTER();
  return of(current().copy_in(address(to), bytes_of(from, bytes)));
}

Status hipMemcpyDtoH(void* to, void* from, std::size_t bytes) {
  FAKE_HIP_ENTER();
  return of(current().copy_out(bytes_of(to, bytes), address(from)));
}

Status hipMemset(void* to, int value, std::size_t bytes) {
  FAKE_HIP_ENTER();
  return of(current().fill(address(to), bytes, static_cast<std::uint8_t>(value)));
}

Status hipStreamCreateWithFlags(hip::StreamHandle* handle, unsigned flags) {
  FAKE_HIP_ENTER();
  const auto made = current().create_stream();
  if (!made) return of(made);
  auto stream = std::make_unique<Stream>();
  stream->device = thread().device;
  stream->sim = *made;
  stream->flags = flags;
  *handle = stream.get();
  const std::scoped_lock lock(state().mutex);
  state().streams.emplace(*handle, std::move(stream));
  return status::success;
}

Status hipStreamDestroy(hip::StreamHandle handle) {
  FAKE_HIP_ENTER();
  Found found;
  std::unique_ptr<Stream> gone;
  {
    const std::scoped_lock lock(state().mutex);
    if (handle == nullptr) return leave(status::invalid_handle);
    found = find(handle);
    if (found.device == nullptr) return leave(status::context_is_destroyed);
    gone = std::move(state().streams[handle]);
    state().streams.erase(handle);
  }
  return of(found.device->destroy_stream(gone->sim));
}

Status hipStreamSynchronize(hip::StreamHandle handle) {
  FAKE_HIP_ENTER();
  Found found;
  {
    const std::scoped_lock lock(state().mutex);
    found = find(handle);
    if (found.device == nullptr) return leave(status::context_is_destroyed);
    if (found.own != nullptr && found.own->capture != hip::capture_none) {
      found.own->capture = hip::capture_is_invalidated;
      return leave(status::capture_unsupported);
    }
  }
  const auto done = found.device->synchronise(found.sim);
  const std::scoped_lock lock(state().mutex);
  return of(done);
}

Status hipStreamIsCapturing(hip::StreamHandle handle, int* capture) {
  FAKE_HIP_ENTER();
  const std::scoped_lock lock(state().mutex);
  const Found found = find(handle);
  if (found.device == nullptr) return leave(status::context_is_destroyed);
  *capture = found.own != nullptr ? found.own->capture : hip::capture_none;
  if (handle != nullptr) return status::success;
  // The default stream waits for blocking streams, so it may not be touched while one is captured.
  for (const auto& [other, stream] : state().streams)
    if (stream->capture != hip::capture_none && stream->flags != hip::stream_non_blocking)
      return leave(status::capture_implicit);
  return status::success;
}

Status hipThreadExchangeStreamCaptureMode(int* mode) {
  FAKE_HIP_ENTER();
  if (*mode < hip::mode_global || *mode > hip::mode_relaxed) return leave(status::invalid_value);
  std::swap(*mode, thread().mode);
  return status::success;
}

Status hipEventCreate(hip::EventHandle* handle) {
  FAKE_HIP_ENTER();
  const auto made = current().create_event();
  if (!made) return of(made);
  auto event = std::make_unique<Event>(Event{thread().device, *made});
  *handle = event.get();
  const std::scoped_lock lock(state().mutex);
  state().events.emplace(*handle, std::move(event));
  return status::success;
}

Status hipEventDestroy(hip::EventHandle handle) {
  FAKE_HIP_ENTER();
  const std::scoped_lock lock(state().mutex);
  const auto it = state().events.find(handle);
  if (it == state().events.end()) return leave(status::invalid_handle);
  const auto gone =
      state().devices[static_cast<std::size_t>(it->second->device)]->destroy_event(it->second->sim);
  state().events.erase(it);
  return of(gone);
}

Status hipEventRecord(hip::EventHandle handle, hip::StreamHandle stream) {
  FAKE_HIP_ENTER();
  const std::scoped_lock lock(state().mutex);
  const auto it = state().events.find(handle);
  const Found found = find(stream);
  if (it == state().events.end() || found.device == nullptr) return leave(status::invalid_handle);
  return of(found.device->record(it->second->sim, found.sim));
}

Status hipEventElapsedTime(float* milliseconds, hip::EventHandle start, hip::EventHandle stop) {
  FAKE_HIP_ENTER();
  SimDevice* device = nullptr;
  wavejit::device::Event sim_start = nullptr, sim_stop = nullptr;
  {
    const std::scoped_lock lock(state().mutex);
    const auto a = state().events.find(start), b = state().events.find(stop);
    if (a == state().events.end() || b == state().events.end()) return leave(status::invalid_handle);
    device = state().devices[static_cast<std::size_t>(a->second->device)].get();
    sim_start = a->second->sim;
    sim_stop = b->second->sim;
  }
  const auto time = device->milliseconds_between(sim_start, sim_stop);
  if (time) *milliseconds = static_cast<float>(*time);
  return of(time);
}

Status hipEventSynchronize(hip::EventHandle handle) {
  float zero = 0;
  return hipEventElapsedTime(&zero, handle, handle);
}
}
