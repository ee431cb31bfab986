// SPDX-License-Identifier: MIT
#include "runtime/device/simulated/work_queue.hpp"

#include <cstring>
#include <utility>

#include "runtime/support/guarded.hpp"

namespace wavejit::device {
namespace {

void complete(SimEvent& event) {
  const std::scoped_lock lock(event.mutex);
  ++event.completed;
  event.at = SimEvent::Clock::now();
  event.changed.notify_all();
}

}  // namespace

WorkQueue::WorkQueue(Run run)
    : run_(std::move(run)),
      ring_(std::make_unique_for_overwrite<Work[]>(slots)),
      thread_([this] { loop(); }) {}

WorkQueue::~WorkQueue() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  pushed_.notify_all();
  thread_.join();
}

template <class Fill>
void WorkQueue::push(Fill fill) {
  {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return pushed_count_ - done_count_ < slots; });
    fill(ring_[pushed_count_ % slots]);
    ++pushed_count_;
  }
  pushed_.notify_one();
}

void WorkQueue::push_launch(std::shared_ptr<const SimImage> image, const Geometry& geometry,
                            std::span<const std::byte> kernarg) {
  push([&](Work& work) {
    work.image = std::move(image);
    work.geometry = geometry;
    work.kernarg_bytes = kernarg.size();
    if (!kernarg.empty()) std::memcpy(work.kernarg.data(), kernarg.data(), kernarg.size());
  });
}

void WorkQueue::push_record(std::shared_ptr<SimEvent> event) {
  push([&](Work& work) { work.event = std::move(event); });
}

void WorkQueue::push_graph(std::shared_ptr<const SimGraph> graph) {
  push([&](Work& work) { work.graph = std::move(graph); });
}

void WorkQueue::drain() {
  std::unique_lock lock(mutex_);
  const std::uint64_t wanted = pushed_count_;
  done_.wait(lock, [&] { return done_count_ >= wanted; });
}

std::optional<Error> WorkQueue::take_error() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(error_, std::nullopt);
}

void WorkQueue::loop() {
  for (;;) {
    Work* work = nullptr;
    {
      std::unique_lock lock(mutex_);
      pushed_.wait(lock, [this] { return ending_ || pushed_count_ != done_count_; });
      if (pushed_count_ == done_count_) return;
      work = &ring_[done_count_ % slots];
    }
    // The slot stays this thread's until done_count_ passes it.
    perform(*work);
    work->image.reset();
    work->event.reset();
    work->graph.reset();
    {
      const std::scoped_lock lock(mutex_);
      ++done_count_;
    }
    done_.notify_all();
  }
}

void WorkQueue::perform(const Work& work) {
  if (work.image) launch(*work.image, work.geometry, std::span(work.kernarg).first(work.kernarg_bytes));
  if (work.event) complete(*work.event);
  if (!work.graph) return;
  const std::span<const std::byte> kernargs(work.graph->kernargs);
  for (const SimNode& node : work.graph->nodes) {
    if (node.image)
      launch(*node.image, node.geometry, kernargs.subspan(node.kernarg_offset, node.kernarg_bytes));
    if (node.event) complete(*node.event);
  }
}

void WorkQueue::launch(const SimImage& image, const Geometry& geometry, std::span<const std::byte> kernarg) {
  auto result = guarded([&] { return run_(image, geometry, kernarg); });
  if (result) return;
  const std::scoped_lock lock(mutex_);
  if (!error_) error_ = std::move(result.error());
}

}  // namespace wavejit::device
