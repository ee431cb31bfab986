// SPDX-License-Identifier: MIT
// Everything the command says, as JSON. Field names are a contract that others read: they may be
// added to, never renamed.
#pragma once

#include <nlohmann/json.hpp>

#include "generator/support/error.hpp"
#include "generator/support/error_name.hpp"
#include "templates/kernel.hpp"
#include "tests/harness/card.hpp"
#include "tests/harness/run.hpp"

namespace wavejit::tools {

/// Keeps fields in the order they were added, so that arguments and tiles read top-down.
using Json = nlohmann::ordered_json;

Json to_json(const Error& error);
Json to_json(const templates::Problem& problem);
Json to_json(const templates::Config& config);
/// Kernel arguments in kernarg order.
Json to_json(const std::vector<templates::Argument>& arguments);
/// vgprs, sgprs, lds_bytes, waves_per_simd and the hot loop.
Json to_json(const harness::Card& card);
Json to_json(const oracle::Verdict& verdict);
Json to_json(const sim::Fault& fault);

}  // namespace wavejit::tools
