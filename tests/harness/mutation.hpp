// SPDX-License-Identifier: MIT
// Mutation testing of what judges kernels. A mutant is a correct kernel's `.s` with one thing removed
// or weakened: a wait, a barrier, a nop, a descriptor's size, an offset, a shift, an operand, an operation.
// Static checker, simulator and oracle together must catch every mutant that changes what the ISA guarantees;
// a survivor is either explained by a rule stated here or a hole in the judges.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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
  descriptor_word,  ///< the bounds rule in a descriptor's last word
  memory_offset,    ///< a load or store moved by what it takes
  lds_offset,       ///< an LDS access's offset moved by 4 bytes
  shift_swapped,    ///< a nibble shift of 4, 8 or 12 exchanged for another
  op_sel,          ///< the half that a dot writes or a packed f16 instruction reads; signs of a dot's factors
  field_width,     ///< a nibble's field one bit narrower
  matrix_operand,  ///< a matrix operand off by one register
  dot_operand,     ///< a factor of a dot product off by one register
  byte_select,     ///< another byte converted; v_perm_b32's sources exchanged
  lane_exchange,   ///< a sum over lanes that meets the wrong ones
  constant,        ///< a mask's lowest bit, a float's exponent
  operation,       ///< an instruction exchanged for one that is easily taken for it: add and subtract, …
  choice_swapped,  ///< a select's two values exchanged
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

/// What a run of a kernel showed.
enum class Judgement : std::uint8_t {
  faulty,  ///< it was refused or did what no kernel may
  wrong,   ///< a result is wrong, missing or elsewhere
  right,
};

/// One correct kernel of those that a problem takes, and how another in its place is judged.
struct Subject {
  std::string kind;      ///< of kernel and its target: "skinny gfx1151", "quantiser gfx1201"
  std::string config;    ///< canonical, with the number of its stage
  std::string assembly;  ///< of the correct kernel
  const target::Target* target = nullptr;
  templates::Problem problem;  ///< normalised
  bool exact_descriptors = true;
  /// Runs it on every set of inputs until one shows something. A description where it is not right.
  std::function<std::pair<Judgement, std::string>(std::span<const std::uint8_t> code_object)> run;
};

/// Every kernel of one problem. `config` unset: the selected one. Errors: as generate's.
Result<std::vector<Subject>> subjects(const Request& request);

/// Small problems with tails, one for each kind of kernel, way of its code and family of targets.
std::vector<Request> standard_problems();

enum class Catcher : std::uint8_t { assembler, checker, simulator, oracle, nobody };
std::string_view name(Catcher catcher);

struct Survivor {
  std::string kind, config;  ///< of the Subject
  Mutant mutant;             ///< without its text
  std::string explanation;   ///< empty = a hole
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

/// Judges the mutants number `first`, `first` + `every`, … Errors: the unmutated kernel does not pass (then
/// nothing can be said).
using Progress = std::function<void(std::size_t done, std::size_t all)>;
Result<MutationScore> mutation_score(const Subject& subject, std::size_t first = 0, std::size_t every = 1,
                                     const Progress& progress = {});

}  // namespace wavejit::harness
