// SPDX-License-Identifier: MIT
// Memory, streams and events. Modules and launches are in modules.cpp.
#include "runtime/device/hip/hip_device.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/device/hip/scopes.hpp"

namespace wavejit::device::hip {
namespace {

void* pointer(Address address) { return reinterpret_cast<void*>(address); }

}  // namespace

void CapturingStreams::note(StreamHandle stream) {
  for (const auto& slot : slots_)
    if (slot.load(std::memory_order_relaxed) == stream) return;
  for (auto& slot : slots_) {
    StreamHandle empty = nullptr;
    if (slot.compare_exchange_strong(empty, stream)) return;
  }
  overflow_ = true;
}

bool CapturingStreams::any(const Api& api) {
  bool found = overflow_.exchange(false);
  for (auto& slot : slots_) {
    StreamHandle stream = slot.load();
    if (stream == nullptr) continue;
    int state = capture_none;
    // AMD's driver keeps a set of its streams and answers one that was destroyed with an error.
    if (api.hipStreamIsCapturing(stream, &state) != status::success) (void)api.hipGetLastError();
    if (state == capture_none) {
      slot.compare_exchange_strong(stream, nullptr);
    } else {
      found = true;
    }
  }
  return found;
}

Result<void> HipDevice::alive() const {
  if (!made_.crossed()) return {};
  return made_.check(fmt::format("HIP device {}", info_.ordinal));
}

template <class Call>
Result<void> HipDevice::with_device(const char* what, Call call, ErrorCode otherwise) {
  if (auto ok = alive(); !ok) return ok;
  const OrdinalScope ordinal(api_, info_.ordinal);
  if (ordinal.result() != status::success) return driver_failure(api_, "hipSetDevice", ordinal.result());
  if (const Status s = call(); s != status::success) return driver_failure(api_, what, s, otherwise);
  return {};
}

bool HipDevice::capturing() {
  const std::scoped_lock lock(streams_mutex_);
  for (const StreamHandle stream : streams_) {
    int state = capture_none;
    if (api_.hipStreamIsCapturing(stream, &state) != status::success) (void)api_.hipGetLastError();
    if (state != capture_none) return true;
  }
  return seen_.any(api_);
}

Result<void> HipDevice::outside_capture(const char* what) {
  if (auto ok = alive(); !ok) return ok;
  if (!capturing()) return {};
  return fail(ErrorCode::capture_active,
              fmt::format("{} is not possible while a stream of HIP device {} is being captured; do it "
                          "before the capture begins or after it ends",
                          what, info_.ordinal));
}

Result<Address> HipDevice::allocate(std::uint64_t bytes) {
  if (auto ok = outside_capture("allocating"); !ok) return std::unexpected(std::move(ok.error()));
  void* address = nullptr;
  const RelaxedScope relaxed(api_);
  auto ok = with_device("hipMalloc", [&] { return api_.hipMalloc(&address, bytes); });
  if (!ok) return std::unexpected(std::move(ok.error()));
  return reinterpret_cast<Address>(address);
}

Result<void> HipDevice::release(Address address) {
  if (auto ok = outside_capture("releasing memory"); !ok) return ok;
  const RelaxedScope relaxed(api_);
  return with_device("hipFree", [&] { return api_.hipFree(pointer(address)); });
}

Result<void> HipDevice::copy_in(Address to, std::span<const std::byte> from) {
  if (auto ok = outside_capture("copying"); !ok) return ok;
  return with_device("hipMemcpyHtoD", [&] {
    return api_.hipMemcpyHtoD(pointer(to), const_cast<std::byte*>(from.data()), from.size());
  });
}

Result<void> HipDevice::copy_out(std::span<std::byte> to, Address from) {
  if (auto ok = outside_capture("copying"); !ok) return ok;
  return with_device("hipMemcpyDtoH",
                     [&] { return api_.hipMemcpyDtoH(to.data(), pointer(from), to.size()); });
}

Result<void> HipDevice::fill(Address to, std::uint64_t bytes, std::uint8_t value) {
  if (auto ok = outside_capture("filling"); !ok) return ok;
  auto ok = with_device("hipMemset", [&] { return api_.hipMemset(pointer(to), value, bytes); });
  // hipMemset of device memory may return before it is done.
  return ok ? synchronise(nullptr) : ok;
}

Result<Stream> HipDevice::create_stream() {
  StreamHandle stream = nullptr;
  auto ok = with_device("hipStreamCreateWithFlags",
                        [&] { return api_.hipStreamCreateWithFlags(&stream, stream_non_blocking); });
  if (!ok) return std::unexpected(std::move(ok.error()));
  const std::scoped_lock lock(streams_mutex_);
  streams_.push_back(stream);
  return stream;
}

Result<void> HipDevice::destroy_stream(Stream stream) {
  if (auto ok = alive(); !ok) return ok;
  {
    const std::scoped_lock lock(streams_mutex_);
    std::erase(streams_, stream);
  }
  return with_device("hipStreamDestroy", [&] { return api_.hipStreamDestroy(stream); });
}

Result<void> HipDevice::synchronise(Stream stream) {
  // Asked first: the driver's refusal would cost the caller the capture.
  if (stream != nullptr) {
    auto state = capture_state(stream);
    if (!state) return std::unexpected(std::move(state.error()));
    if (*state != CaptureState::none)
      return fail(ErrorCode::capture_active, "a stream that is being captured cannot be waited for");
  }
  return with_device(
      "hipStreamSynchronize", [&] { return api_.hipStreamSynchronize(stream); }, ErrorCode::launch_failed);
}

Result<Event> HipDevice::create_event() {
  EventHandle event = nullptr;
  auto ok = with_device("hipEventCreate", [&] { return api_.hipEventCreate(&event); });
  if (!ok) return std::unexpected(std::move(ok.error()));
  return event;
}

Result<void> HipDevice::destroy_event(Event event) {
  return with_device("hipEventDestroy", [&] { return api_.hipEventDestroy(event); });
}

Result<void> HipDevice::record(Event event, Stream stream) {
  return with_device("hipEventRecord", [&] { return api_.hipEventRecord(event, stream); });
}

Result<double> HipDevice::milliseconds_between(Event start, Event stop) {
  auto waited = with_device("hipEventSynchronize", [&] { return api_.hipEventSynchronize(stop); });
  if (!waited) return std::unexpected(std::move(waited.error()));
  float milliseconds = 0;
  auto ok = with_device("hipEventElapsedTime",
                        [&] { return api_.hipEventElapsedTime(&milliseconds, start, stop); });
  if (!ok) return std::unexpected(std::move(ok.error()));
  return milliseconds;
}

}  // namespace wavejit::device::hip
