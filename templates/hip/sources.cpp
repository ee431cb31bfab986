// SPDX-License-Identifier: MIT
#include "templates/hip/sources.hpp"

#include <algorithm>

namespace wavejit::templates::hip {

const Source* find_source(std::string_view name) {
  const auto all = sources();
  const auto found = std::ranges::find(all, name, &Source::name);
  return found != all.end() ? &*found : nullptr;
}

}  // namespace wavejit::templates::hip
