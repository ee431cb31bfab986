// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

namespace wavejit::test {

enum class Verdict : std::uint8_t { refused, read, broken };

/// Parses the bytes as a GGUF file, with and without its data. `broken`: what was read points outside of the
/// bytes, tensors overlap, sizes do not agree, or an error says nothing.
Verdict judge_gguf(std::span<const std::uint8_t> bytes);

}  // namespace wavejit::test
