// SPDX-License-Identifier: MIT
// Which of the memory lines that a workgroup loads it has loaded a short while ago: a level-1 cache as a
// timing model sees it, of a given number of lines, the least recently used one leaving first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>

namespace wavejit::sim {

class LineCache {
 public:
  /// 0 lines: keeps nothing.
  void reset(std::size_t lines) {
    most_ = lines;
    recent_.clear();
    places_.clear();
  }

  /// Whether `line` is there; in either case it is the most recent one afterwards.
  bool touch(std::uint64_t line) {
    if (most_ == 0) return false;
    if (const auto found = places_.find(line); found != places_.end()) {
      recent_.splice(recent_.begin(), recent_, found->second);
      return true;
    }
    if (places_.size() == most_) {
      places_.erase(recent_.back());
      recent_.pop_back();
    }
    recent_.push_front(line);
    places_.emplace(line, recent_.begin());
    return false;
  }

 private:
  std::size_t most_ = 0;
  std::list<std::uint64_t> recent_;
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> places_;
};

}  // namespace wavejit::sim
