// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

namespace wavejit::test {

/// Decodes, checks and, where it can be launched, simulates for a few instructions. Returns.
void judge_object(std::span<const std::uint8_t> bytes);

}  // namespace wavejit::test
