// SPDX-License-Identifier: MIT
// Everything that `wavejit explain` says of one kernel, as numbers. Text, JSON, page and trace are made of
// it. Times are shader clocks of the timing model (docs/model.md states its error).
#pragma once

#include <vector>

#include "generator/model/delay_hints.hpp"
#include "generator/model/mix.hpp"
#include "generator/model/register_map.hpp"
#include "generator/model/wave_time.hpp"
#include "generator/model/what_if.hpp"
#include "tools/wavejit/explain_subject.hpp"

namespace wavejit::tools {

struct AccessRow {
  std::size_t index = 0;  ///< in the code
  bool lds = false, store = false;
  double asked = 0, moved = 0;  ///< bytes of a wave: of active lanes, of the 128-byte lines that they touch
  double lines = 0, conflict_clocks = 0;
};

struct WhatIf {
  model::Cost cost{};
  double clocks = 0;
};

struct Report {
  Subject subject;
  model::Stretches stretches;
  model::Prepared prepared;
  model::Residency residency;
  model::Estimate estimate;
  bool looped = true;       ///< else the whole kernel stands for a loop that each workgroup runs once
  unsigned iterations = 0;  ///< of each workgroup in the window that was counted
  model::Mix mix;
  model::BankConflicts banks;
  std::vector<std::size_t> bank_conflicts;  ///< instructions with a conflict
  model::RegisterMap registers;
  std::vector<model::MissingHint> missing_hints;
  std::vector<AccessRow> accesses;  ///< of the loop
  model::TimeAccount time;
  double limit = 0;  ///< clocks per iteration of the matrix instructions alone
  std::vector<WhatIf> without;

  [[nodiscard]] double clocks() const { return estimate.cycles_per_iteration; }
  /// Matrix instructions of one SIMD per iteration of a workgroup: what iterations of unlike tiles are
  /// compared by. 0 = none.
  [[nodiscard]] double matrix_per_simd() const;
  /// Share of the tiles' work that is inside the matrix; 1 when not known.
  [[nodiscard]] double useful() const;
  /// Matrix clocks of the loop over its clocks.
  [[nodiscard]] double duty() const { return clocks() > 0 ? limit / clocks() : 0; }
};

/// Errors: out_of_registers when no workgroup of it fits.
Result<Report> analyse(Subject subject);

/// "line 120" or "0x1f00", and the instruction.
std::string place_of(const Report& report, std::size_t index);
std::string text_of(const Report& report, std::size_t index);

}  // namespace wavejit::tools
