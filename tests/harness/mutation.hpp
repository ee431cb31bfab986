// SPDX-License-Identifier: MIT
// Mutation testing of what judges kernels. A mutant is a correct kernel's `.s` with one thing removed
// or weakened: a wait, a barrier, a nop, a descriptor's size, an LDS offset, a shift, a half, a matrix
// operand. Static checker, simulator and oracle together must catch every mutant that changes what
// the ISA guarantees; a survivor is either explained by a rule stated here or a hole in the judges.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "generator/support/error.hpp"
#include "tests/harness/run.hpp"

namespace wavejit::harness {

enum class MutationKind : std::uint8_t {
  wait_dropped,     ///< an s_waitcnt or s_wait_*cnt removed
  wait_raised,      ///< one of its counts raised by one
  barrier_dropped,  ///< or one half of it
  nop_dropped,      ///< an s_nop, s_waitcnt_depctr or s_wait_alu removed
  records_grown,    ///< a descriptor's num_records one element larger
  records_shrunk,   ///< … one element smaller
  lds_offset,       ///< an LDS access's offset moved by 4 bytes
  shift_swapped,    ///< a nibble shift of 4, 8 or 12 exchanged for another
  op_sel,           ///< the half that a dot writes, or that a packed f16 instruction reads
  field_width,      ///< a nibble's field one bit narrower
  matrix_operand,   ///< a matrix operand off by one register
};
std::string_view name(MutationKind kind);

struct Mutant {
  MutationKind kind = MutationKind::wait_dropped;
  std::size_t line = 0;       ///< 1-based, in the original `.s`
  std::string before, after;  ///< the line; `after` empty = removed
  std::string text;           ///< the whole mutated `.s`
};

/// Every mutant of a kernel's `.s`, in the order of its lines.
std::vector<Mutant> mutants(std::string_view assembly);

enum class Catcher : std::uint8_t { assembler, checker, simulator, oracle, nobody };
std::string_view name(Catcher catcher);

struct Survivor {
  std::string config;       ///< canonical
  Mutant mutant;            ///< without its text
  std::string explanation;  ///< empty = a hole
};

struct MutationScore {
  std::size_t total = 0;
  std::map<Catcher, std::size_t> caught;                                ///< by the first that objects
  std::map<MutationKind, std::pair<std::size_t, std::size_t>> by_kind;  ///< caught, total
  std::vector<Survivor> survivors;

  /// Caught over those that change what the ISA guarantees: explained survivors do not count.
  [[nodiscard]] double score() const;
  void add(const MutationScore& other);
};

struct MutationRequest {
  Request run;            ///< problem, Config and m of the correct kernel
  std::size_t every = 1;  ///< take each `every`-th mutant (a fixed sample)
  std::function<void(std::size_t done, std::size_t all)> progress;
};

/// Errors: the unmutated kernel is refused or does not pass (then nothing can be said).
Result<MutationScore> mutation_score(const MutationRequest& request);

}  // namespace wavejit::harness
