// SPDX-License-Identifier: MIT
// Every Config that selection weighs for a problem, and why the others are not weighed.
//
// A Config is counted before it is generated: what a workgroup does in one step of bk along K, by pipe, and
// the registers and LDS that decide how many workgroups a WGP holds. Counts follow the W4A16 emitter (the
// VALU count of dequantisation comes from the policy itself); registers are an estimate on the safe side,
// fitted to generated kernels (tests/templates/test_candidates.cpp holds it against them).
#pragma once

#include <string_view>
#include <vector>

#include "templates/problem.hpp"

namespace wavejit::templates {

/// One step of bk along K, all waves of a workgroup together, unless said otherwise.
struct Footprint {
  double matrix = 0;                     ///< matrix instructions
  double valu = 0;                       ///< VALU instructions of dequantisation
  double lds_loads = 0, lds_stores = 0;  ///< b128, instructions
  double activation_lines = 0;           ///< 128-byte lines of one row of activations …
  double other_lines = 0;                ///< … and of all rows of weights, scales, zero points
  unsigned rows = 0;                     ///< of activations that are loaded, padding included
  unsigned registers = 0;                ///< estimate of a wave's VGPRs at the highest occupancy
  unsigned lds_bytes = 0;
  unsigned workgroups = 0;  ///< resident per WGP by registers, LDS and whole workgroups
};

struct Candidate {
  Config config;  ///< normalised, occupancy left to generate()
  Footprint footprint;
};

/// How many Configs a rule took out; each is counted by the first rule that does.
struct Pruned {
  std::string_view rule;
  unsigned count = 0;
};

struct Candidates {
  unsigned considered = 0;
  std::vector<Pruned> pruned;
  std::vector<Candidate> legal;  ///< simpler ones first
};

/// Of a normalised problem; independent of M.
Candidates candidates(const Problem& problem, const target::Target& target);

/// `config` must be normalised for `problem`.
Footprint footprint(const Config& config, const Problem& problem, const target::Target& target);

/// VGPRs that an estimate of `registers` may turn out to be, at worst: what legality goes by.
unsigned cautious_registers(const Footprint& footprint, const Config& config, const target::Target& target);

}  // namespace wavejit::templates
