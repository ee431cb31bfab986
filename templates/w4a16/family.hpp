// SPDX-License-Identifier: MIT
// Private to templates/: the W4A16 family's entry in the table of families.
#pragma once

#include "templates/family.hpp"

namespace wavejit::templates::w4a16 {

Result<Problem> normalise(const Problem& problem, const target::Target& target);
Result<Config> normalise(const Config& config, const Problem& problem, const target::Target& target);
Result<std::vector<Selection>> select(const Problem& problem, const target::Target& target,
                                      std::int64_t first, std::int64_t last);
Result<ir::Kernel> compile(const Problem& problem, Config& config, unsigned stage,
                           const target::Target& target, const passes::Observer& observer);
Result<Launch> launch(const Problem& problem, const Config& config, unsigned stage,
                      const target::Target& target, std::int64_t m);

inline constexpr Family family{
    .normalise = normalise,
    .normalise_config = normalise,
    .select = select,
    // Split along K on CDNA only: then a second kernel adds the slices.
    .stages = [](const Problem&, const Config& c) { return c.path == Path::mfma && c.split_k > 1 ? 2U : 1U; },
    .compile = compile,
    .launch = launch,
};

}  // namespace wavejit::templates::w4a16
