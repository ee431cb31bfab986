// SPDX-License-Identifier: MIT
// Which of many keys is nearest to one that missed. Private to this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/cache/lookup.hpp"

namespace wavejit::cache {

/// Nearest = most alike in what a person would call the same kernel: the problem counts most, then the
/// Config, then each other part alike. Of equals the first by place, so that the answer does not hang on a
/// folder's order.
class Nearest {
 public:
  explicit Nearest(const Key& key);
  void offer(std::string_view key_text, const std::string& place);
  /// `where`: "the cache", "bundle model.wjb".
  [[nodiscard]] Explanation explanation(std::string_view where) const;

 private:
  std::optional<KeyParts> ours_;
  std::size_t offered_ = 0;
  unsigned distance_ = ~0U;
  std::string place_;
  std::vector<Difference> different_;
};

}  // namespace wavejit::cache
