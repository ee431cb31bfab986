// SPDX-License-Identifier: MIT
// The simulated device's memory, streams and events.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/device/simulated/stream_state.hpp"

namespace wavejit::device {
namespace {

constexpr std::uint64_t allocation_alignment = 256;  ///< as hipMalloc promises

}  // namespace

Result<Address> SimDevice::allocate(std::uint64_t bytes) {
  if (auto ok = outside_capture("allocating"); !ok) return std::unexpected(ok.error());
  const std::scoped_lock lock(memory_mutex_);
  if (bytes > info_.memory_bytes - allocated_) {
    return fail(ErrorCode::out_of_memory, fmt::format("{} bytes asked for, {} of {} bytes are free", bytes,
                                                      info_.memory_bytes - allocated_, info_.memory_bytes));
  }
  auto address = memory_.allocate(bytes, allocation_alignment, fmt::format("allocation {}", named_++));
  if (!address) {
    if (address.error().code == ErrorCode::io) address.error().code = ErrorCode::out_of_memory;
    return address;
  }
  sizes_.emplace(*address, bytes);
  allocated_ += bytes;
  return address;
}

Result<void> SimDevice::release(Address address) {
  if (auto ok = outside_capture("releasing memory"); !ok) return ok;
  drain_all();
  const std::scoped_lock lock(memory_mutex_);
  if (auto ok = memory_.release(address); !ok) return ok;
  const auto it = sizes_.find(address);
  allocated_ -= it->second;
  sizes_.erase(it);
  return {};
}

Result<void> SimDevice::copy_in(Address to, std::span<const std::byte> from) {
  if (auto ok = before_copy(); !ok) return ok;
  const std::scoped_lock lock(memory_mutex_);
  return memory_.write(to, from);
}

Result<void> SimDevice::copy_out(std::span<std::byte> to, Address from) {
  if (auto ok = before_copy(); !ok) return ok;
  const std::scoped_lock lock(memory_mutex_);
  return memory_.read(from, to);
}

Result<void> SimDevice::fill(Address to, std::uint64_t bytes, std::uint8_t value) {
  if (auto ok = before_copy(); !ok) return ok;
  const std::scoped_lock lock(memory_mutex_);
  return memory_.fill(to, bytes, std::byte{value});
}

Result<void> SimDevice::before_copy() {
  if (auto ok = outside_capture("copying"); !ok) return ok;
  (*find_stream(nullptr))->queue.drain();
  return {};
}

void SimDevice::drain_all() {
  std::vector<std::shared_ptr<StreamState>> streams;
  {
    const std::shared_lock lock(handles_);
    for (const auto& [handle, state] : streams_) streams.push_back(state);
  }
  for (const auto& state : streams) state->queue.drain();
}

Result<Stream> SimDevice::create_stream() {
  if (auto ok = made_.check(info_.name); !ok) return std::unexpected(std::move(ok.error()));
  auto state = std::make_shared<StreamState>(
      [this](const SimImage& image, const Geometry& geometry, std::span<const std::byte> kernarg) {
        return execute(image, geometry, kernarg);
      });
  const Stream handle = state.get();
  const std::unique_lock lock(handles_);
  streams_.emplace(handle, std::move(state));
  return handle;
}

Result<void> SimDevice::destroy_stream(Stream stream) {
  if (auto ok = made_.check(info_.name); !ok) return ok;
  if (stream == nullptr) return fail(ErrorCode::invalid_argument, "the default stream cannot be destroyed");
  std::shared_ptr<StreamState> state;
  {
    const std::unique_lock lock(handles_);
    const auto it = streams_.find(stream);
    if (it == streams_.end()) {
      return fail(ErrorCode::invalid_argument, fmt::format("{} is not a stream of {}", stream, info_.unique));
    }
    state = std::move(it->second);
    streams_.erase(it);
  }
  if (state->capture != CaptureState::none) --capturing_;
  return {};  // the queue ends with what it has been given
}

Result<void> SimDevice::synchronise(Stream stream) {
  auto found = find_stream(stream);
  if (!found) return std::unexpected(std::move(found.error()));
  StreamState& state = **found;
  if (state.capture != CaptureState::none)
    return fail(ErrorCode::capture_active, "a stream that is being captured cannot be waited for");
  state.queue.drain();
  if (auto error = state.queue.take_error()) return std::unexpected(*std::move(error));
  return {};
}

Result<Event> SimDevice::create_event() {
  if (auto ok = made_.check(info_.name); !ok) return std::unexpected(std::move(ok.error()));
  auto event = std::make_shared<SimEvent>();
  const Event handle = event.get();
  const std::unique_lock lock(handles_);
  events_.emplace(handle, std::move(event));
  return handle;
}

Result<void> SimDevice::destroy_event(Event event) {
  if (auto ok = made_.check(info_.name); !ok) return ok;
  const std::unique_lock lock(handles_);
  if (events_.erase(event) != 0) return {};
  return fail(ErrorCode::invalid_argument, fmt::format("{} is not an event of {}", event, info_.unique));
}

Result<void> SimDevice::record(Event event, Stream stream) {
  auto found = find_event(event);
  if (!found) return std::unexpected(std::move(found.error()));
  auto stream_found = find_stream(stream);
  if (!stream_found) return std::unexpected(std::move(stream_found.error()));
  StreamState& state = **stream_found;
  const std::scoped_lock lock(state.capture_mutex);
  if (state.capture == CaptureState::active) {
    state.append({.image = {}, .geometry = {}, .event = *found}, {});
    return {};
  }
  {
    const std::scoped_lock event_lock((*found)->mutex);
    ++(*found)->recorded;
  }
  state.queue.push_record(*std::move(found));
  return {};
}

Result<double> SimDevice::milliseconds_between(Event start, Event stop) {
  std::array<SimEvent::Clock::time_point, 2> at;
  for (std::size_t i = 0; i < 2; ++i) {
    auto found = find_event(i == 0 ? start : stop);
    if (!found) return std::unexpected(std::move(found.error()));
    SimEvent& event = **found;
    std::unique_lock lock(event.mutex);
    if (event.recorded == 0 && event.completed == 0) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("the {} event was never recorded", i == 0 ? "start" : "stop"));
    }
    event.changed.wait(lock, [&] { return event.completed >= event.recorded; });
    at[i] = event.at;
  }
  return std::chrono::duration<double, std::milli>(at[1] - at[0]).count();
}

}  // namespace wavejit::device
