// SPDX-License-Identifier: MIT
// What `wavejit published` says, for people, for documents and for machines.
#pragma once

#include <vector>

#include "tools/wavejit/json.hpp"
#include "tools/wavejit/published_model.hpp"

namespace wavejit::tools {

Json to_json(const std::vector<PublishedResult>& results, const PublishedOptions& options);

/// A table per target and published table, behind the assumptions. `markdown`: with pipes.
void print_published(const std::vector<PublishedResult>& results, const PublishedOptions& options,
                     bool markdown);

}  // namespace wavejit::tools
