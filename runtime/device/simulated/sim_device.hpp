// SPDX-License-Identifier: MIT
// The built-in device: Device over runtime/device/sim. Each create() is a device of its own with its own
// memory. Its streams are in-order queues with a thread each; kernels of one device run one at a time,
// since each takes all host threads and the memory's checks.
//
// Order: streams are independent of one another, the default stream included. copy_in, copy_out and fill
// come after the default stream's work only; release waits for all streams. A program that forgets to
// synchronise therefore reads old bytes here, as it may on a GPU.
//
// Faults: the first fault of a stream's kernels comes out of its next synchronise() as
// ErrorCode::simulation, once; the stream works on.
//
// Time: milliseconds_between is host wall-clock time between the moments in which the stream reached the
// events. It measures the simulator, not a GPU.
//
// Capture: between begin_capture and end_capture, launch and record on that stream write a graph. As in a
// driver's global capture mode, load, allocate, release, copies, fill and collect are refused on this
// device meanwhile (capture_active), and so is synchronise of the captured stream. None of these costs the
// capture; invalidate_capture does what a driver does to a capture that somebody disturbed. A graph keeps
// what it launches loaded.
//
// Kernel arguments: a launch passes the kernel's explicit ones; hidden ones (grid and block sizes) are
// filled in here as a driver does.
#pragma once

#include <map>
#include <shared_mutex>

#include "runtime/device/common/fork.hpp"
#include "runtime/device/sim/memory.hpp"
#include "runtime/device/simulated/work_queue.hpp"

namespace wavejit::device {

struct SimOptions {
  std::string target = "gfx1151";  ///< with features if wanted: "gfx942:sramecc+:xnack-"
  int ordinal = 0;
  std::uint64_t memory_bytes = std::uint64_t{64} << 30;  ///< allocations together; address space only
  sim::Options run;                                      ///< of every launch
};

class SimDevice final : public Device, public std::enable_shared_from_this<SimDevice> {
 public:
  /// Errors: unknown_target, invalid_argument.
  static Result<std::shared_ptr<SimDevice>> create(const SimOptions& options);
  ~SimDevice() override;

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

  /// Errors: invalid_argument (no such stream, or it is being captured already).
  Result<void> begin_capture(Stream stream);
  /// Errors: invalid_argument (not being captured), capture_active (the capture was invalidated).
  Result<std::shared_ptr<const SimGraph>> end_capture(Stream stream);
  /// Errors: invalid_argument (not being captured).
  Result<void> invalidate_capture(Stream stream);
  Result<void> launch_graph(std::shared_ptr<const SimGraph> graph, Stream stream);
  /// Loaded images, those included whose unloading is deferred or that queued work and graphs hold.
  [[nodiscard]] std::size_t loaded() const { return *loaded_; }
  /// Bytes that allocate() handed out and release() has not had back.
  [[nodiscard]] std::uint64_t allocated_bytes() const { return allocated_; }

 private:
  struct StreamState;
  class LoadedModule;

  explicit SimDevice(const SimOptions& options, const target::Target& target);
  [[nodiscard]] Result<std::shared_ptr<StreamState>> find_stream(Stream stream) const;
  [[nodiscard]] Result<std::shared_ptr<SimEvent>> find_event(Event event) const;
  [[nodiscard]] Result<void> outside_capture(std::string_view what) const;
  Result<void> execute(const SimImage& image, const Geometry& geometry, std::span<const std::byte> kernarg);
  void retire(std::shared_ptr<const SimImage> image);
  void drain_all();
  [[nodiscard]] Result<void> before_copy();

  ForkMark made_;
  const target::Target& target_;
  sim::Options run_options_;
  Info info_;

  mutable std::mutex memory_mutex_;  ///< held for the whole of a kernel's run
  sim::Memory memory_;
  std::map<Address, std::uint64_t> sizes_;
  std::uint64_t named_ = 0;
  std::atomic<std::uint64_t> allocated_ = 0;

  mutable std::shared_mutex handles_;  ///< the two maps; never held while anything waits
  std::map<Stream, std::shared_ptr<StreamState>> streams_;
  std::map<Event, std::shared_ptr<SimEvent>> events_;
  std::atomic<int> capturing_ = 0;

  std::mutex retired_mutex_;
  std::vector<std::shared_ptr<const SimImage>> retired_;
  std::shared_ptr<std::atomic<std::size_t>> loaded_ = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace wavejit::device
