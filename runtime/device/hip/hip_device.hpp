// SPDX-License-Identifier: MIT
// A GPU through libamdhip64. Everything of device.hpp holds; in HIP's terms:
//
// Streams made here are non-blocking (they do not wait for the default stream); any hipStream_t of the
// caller's is taken. Addresses are hipMalloc's.
//
// Capture. launch() asks whether the stream is being captured. A module that was launched into a capture
// stays loaded until the process ends, because HIP does not say when a graph dies. Streams that were seen
// capturing, and the streams made here, are asked again by load, collect, allocate, release, copies and
// fill, which return capture_active (collect: unload nothing) while one of them still captures. A capture
// that this device has never seen holds no kernel of ours; load and collect then go on in the thread's
// relaxed capture mode, which leaves that capture valid.
//
// Info: compute_units is hipDeviceAttributeMultiprocessorCount, which counts WGPs (half the CUs) on RDNA in
// WGP mode and CUs otherwise.
//
// Two open() of one ordinal of one library give the same device while it lives.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "runtime/device/common/fork.hpp"
#include "runtime/device/hip/library.hpp"

namespace wavejit::device::hip {

/// Errors: those of load_library.
Result<int> count_devices(const OpenOptions& options);
Result<Driver> driver(const OpenOptions& options);
/// Errors: those of load_library; no_device (ordinal), driver (unknown layout of the driver's structs).
Result<std::shared_ptr<Device>> open_device(int ordinal, const OpenOptions& options);

/// Info of a device. Errors: driver.
Result<Info> read_info(const Library& library, int ordinal);

/// Streams that were seen capturing, in a fixed number of slots: noting one neither locks nor allocates.
class CapturingStreams {
 public:
  void note(StreamHandle stream);
  /// Forgets those that no longer capture; true if one still does.
  bool any(const Api& api);

 private:
  std::array<std::atomic<StreamHandle>, 32> slots_{};
  std::atomic<bool> overflow_ = false;  ///< more than the slots hold at once: assume the worst once
};

class HipDevice final : public Device, public std::enable_shared_from_this<HipDevice> {
 public:
  HipDevice(std::shared_ptr<const Library> library, Info info);
  ~HipDevice() override;

  [[nodiscard]] const Info& info() const override { return info_; }
  [[nodiscard]] const ForkMark& made_in() const { return made_; }
  Result<std::shared_ptr<const Module>> load(std::span<const std::byte> code_object,
                                             std::string_view kernel) override;
  Result<void> launch(const Module& module, const Geometry& geometry, std::span<const std::byte> kernarg,
                      Stream stream) override;
  Result<CaptureState> capture_state(Stream stream) override;
  std::size_t collect() override;

  Result<Address> allocate(std::uint64_t bytes) override;
  Result<void> release(Address address) override;
  Result<void> copy_in(Address to, std::span<const std::byte> from) override;
  Result<void> copy_out(std::span<std::byte> to, Address from) override;
  Result<void> fill(Address to, std::uint64_t bytes, std::uint8_t value) override;
  Result<Stream> create_stream() override;
  Result<void> destroy_stream(Stream stream) override;
  Result<void> synchronise(Stream stream) override;
  Result<Event> create_event() override;
  Result<void> destroy_event(Event event) override;
  Result<void> record(Event event, Stream stream) override;
  Result<double> milliseconds_between(Event start, Event stop) override;

 private:
  struct Loaded;
  class LoadedModule;

  Result<std::unique_ptr<Loaded>> load_locked(std::span<const std::byte> code_object,
                                              std::string_view kernel);
  void retire(Loaded* loaded) noexcept;
  std::size_t unload_retired();
  [[nodiscard]] bool capturing();
  [[nodiscard]] Result<void> outside_capture(const char* what);
  /// Runs `call` with this device current; names `what` in its error.
  template <class Call>
  Result<void> with_device(const char* what, Call call, ErrorCode otherwise = ErrorCode::driver);

  /// Errors: no_device in a forked child.
  [[nodiscard]] Result<void> alive() const;

  ForkMark made_;
  std::shared_ptr<const Library> library_;
  const Api& api_;
  Info info_;
  std::mutex load_mutex_;  ///< loads and unloads
  CapturingStreams seen_;
  std::mutex streams_mutex_;
  std::vector<StreamHandle> streams_;             ///< made here
  std::atomic<Loaded*> retired_ = nullptr;        ///< a list that destructors push to without a lock
  std::vector<std::unique_ptr<Loaded>> waiting_;  ///< retired and seen, under load_mutex_
};

}  // namespace wavejit::device::hip
