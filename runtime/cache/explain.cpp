// SPDX-License-Identifier: MIT
#include "runtime/cache/explain.hpp"

#include <fmt/format.h>

namespace wavejit::cache {

Nearest::Nearest(const Key& key) : ours_(parse_key(key.text)) {}

void Nearest::offer(std::string_view key_text, const std::string& place) {
  ++offered_;
  const auto theirs = parse_key(key_text);
  if (!ours_ || !theirs) return;
  std::vector<Difference> different = differences(*ours_, *theirs);
  unsigned distance = 0;
  for (const Difference& d : different) distance += d.part == "problem" ? 32 : (d.part == "config" ? 16 : 1);
  if (distance > distance_ || (distance == distance_ && place >= place_)) return;
  distance_ = distance;
  place_ = place;
  different_ = std::move(different);
}

Explanation Nearest::explanation(std::string_view where) const {
  Explanation e;
  e.miss = Miss::absent;
  if (offered_ == 0) {
    e.summary = fmt::format("{} is empty", where);
  } else if (place_.empty()) {
    e.summary = fmt::format("{} has {} entries, none with a key of this form", where, offered_);
  } else {
    e.nearest = place_;
    e.different = different_;
    e.summary = fmt::format("{} has no such entry; the nearest of {} ({}) differs: {}", where, offered_,
                            place_, to_string(different_));
  }
  return e;
}

}  // namespace wavejit::cache
