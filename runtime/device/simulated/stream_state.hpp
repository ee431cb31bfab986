// SPDX-License-Identifier: MIT
// A stream of the simulated device: its queue and what is being captured from it.
#pragma once

#include "runtime/device/simulated/sim_device.hpp"

namespace wavejit::device {

struct SimDevice::StreamState {
  explicit StreamState(WorkQueue::Run run) : queue(std::move(run)) {}

  WorkQueue queue;
  std::mutex capture_mutex;  ///< orders launches with begin and end of a capture
  std::atomic<CaptureState> capture = CaptureState::none;
  std::shared_ptr<SimGraph> graph;  ///< being captured

  /// Under capture_mutex.
  void append(SimNode node, std::span<const std::byte> kernarg) {
    node.kernarg_offset = graph->kernargs.size();
    node.kernarg_bytes = kernarg.size();
    graph->kernargs.insert(graph->kernargs.end(), kernarg.begin(), kernarg.end());
    graph->nodes.push_back(std::move(node));
  }
};

}  // namespace wavejit::device
