// SPDX-License-Identifier: MIT
// An in-order stream of the simulated device: a ring of pending work and the one thread that does it.
// Pushing allocates nothing: kernel arguments are copied into the ring's own slots, and a full ring makes
// the caller wait, as a full hardware queue does. The first error of its work stays until it is taken.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "generator/lower/lower.hpp"
#include "runtime/device/common/kernel_facts.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/sim/simulator.hpp"

namespace wavejit::device {

/// What a loaded code object is once it is loaded. Handles, queued work and graphs share it.
struct SimImage {
  std::string kernel;
  std::uint64_t code_bytes = 0;
  KernelFacts facts;
  std::vector<lower::ArgMetadata> hidden;  ///< arguments that the driver fills
  sim::Program program;
};

struct SimEvent {
  using Clock = std::chrono::steady_clock;
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t recorded = 0;   ///< record() calls so far
  std::uint64_t completed = 0;  ///< of them, reached by their stream
  Clock::time_point at;         ///< when the last one was reached
};

/// One step of a graph; `kernarg_offset` and `kernarg_bytes` say where its arguments lie.
struct SimNode {
  std::shared_ptr<const SimImage> image;  ///< null = record `event`
  Geometry geometry;
  std::size_t kernarg_offset = 0, kernarg_bytes = 0;
  std::shared_ptr<SimEvent> event;
};

/// A captured sequence; immutable once capture ended, and launched as often as wanted.
struct SimGraph {
  std::vector<SimNode> nodes;
  std::vector<std::byte> kernargs;
};

class WorkQueue {
 public:
  static constexpr std::size_t slots = 128;
  static constexpr std::size_t max_kernarg = 4096;  ///< bytes of one launch's arguments

  /// Runs one kernel to its end; its error becomes the stream's.
  using Run =
      std::function<Result<void>(const SimImage&, const Geometry&, std::span<const std::byte> kernarg)>;

  explicit WorkQueue(Run run);
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;
  /// Does what is queued, then ends the thread.
  ~WorkQueue();

  void push_launch(std::shared_ptr<const SimImage> image, const Geometry& geometry,
                   std::span<const std::byte> kernarg);
  void push_record(std::shared_ptr<SimEvent> event);
  void push_graph(std::shared_ptr<const SimGraph> graph);

  /// Waits for all that was pushed before.
  void drain();
  /// The first error since the last take.
  std::optional<Error> take_error();

 private:
  struct Work {
    std::shared_ptr<const SimImage> image;
    Geometry geometry;
    std::size_t kernarg_bytes = 0;
    std::shared_ptr<SimEvent> event;
    std::shared_ptr<const SimGraph> graph;
    std::array<std::byte, max_kernarg> kernarg;
  };

  /// Waits for a free slot and lets `fill` write it.
  template <class Fill>
  void push(Fill fill);
  void loop();
  void perform(const Work& work);
  void launch(const SimImage& image, const Geometry& geometry, std::span<const std::byte> kernarg);

  Run run_;
  std::mutex mutex_;
  std::condition_variable pushed_, done_;
  std::unique_ptr<Work[]> ring_;
  std::uint64_t pushed_count_ = 0, done_count_ = 0;
  bool ending_ = false;
  std::optional<Error> error_;
  std::thread thread_;  ///< last: it uses all of the above
};

}  // namespace wavejit::device
