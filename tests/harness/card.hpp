// SPDX-License-Identifier: MIT
// A kernel's card: what it takes of the machine and what one iteration of its hot loop costs. Read off
// the final code object, so that generated, edited and foreign kernels are described alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generator/lower/lower.hpp"
#include "generator/model/mix.hpp"
#include "generator/target/target.hpp"

namespace wavejit::harness {

struct Card {
  std::string kernel;
  std::string target;
  std::uint32_t vgprs = 0, sgprs = 0;  ///< as the metadata declares them
  std::uint32_t lds_bytes = 0;         ///< per workgroup
  std::uint32_t waves = 0;             ///< per workgroup
  target::Occupancy occupancy{};
  std::uint32_t instructions = 0;  ///< of the whole kernel, VOPD pairs as one
  bool has_loop = false;           ///< the rest is zero without one
  model::Mix body;                 ///< hot loop, whole body
  model::BankConflicts conflicts;  ///< hot loop
  unsigned iterations = 1;         ///< K steps that one pass through the body does
};

/// `matrix_per_iteration`: matrix instructions of one wave in one K step, to tell an unrolled body
/// from a long one; 0 = take the body as one step.
Card card(const lower::DecodedKernel& kernel, const target::Target& target,
          unsigned matrix_per_iteration = 0);

/// What it takes of the machine, in two lines; no newline at the end.
std::string summary(const Card& card);

/// The summary and what the hot loop costs, for people; no newline at the end.
std::string to_text(const Card& card);

}  // namespace wavejit::harness
