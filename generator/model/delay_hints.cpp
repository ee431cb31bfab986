// SPDX-License-Identifier: MIT
#include "generator/model/delay_hints.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <ranges>

#include "generator/model/steps.hpp"

namespace wavejit::model {
namespace {

using isa::Pipe;

constexpr unsigned valu_reach = 4, trans_reach = 3, last_trans = 7, fewest = 1;

bool is_vector_alu(Unit u) { return u == Unit::valu || u == Unit::trans || u == Unit::matrix; }

/// An instruction of the vector pipe whose result may still be on its way.
struct Producer {
  std::size_t index = 0;
  bool trans = false;
  unsigned pipe = 0;  ///< clocks of the pipe from its execution to that of the next one
  unsigned issued = 0;
  unsigned latency = 0;
  bool waited = false;
  std::vector<std::uint16_t> writes;
};

/// instids of the s_delay_alu instructions before each step: by position in the list of steps.
std::vector<std::vector<unsigned>> hints_of(std::span<const isa::Instruction> code,
                                            std::span<const std::size_t> stretch) {
  std::vector<std::vector<unsigned>> hints(stretch.size() + 9);
  std::size_t step = 0;
  for (const std::size_t i : stretch) {
    const isa::Instruction& inst = code[i];
    if (inst.dual == isa::Dual::y) continue;
    if (inst.op != isa::Opcode::s_delay_alu) {
      ++step;
      continue;
    }
    const auto word = static_cast<unsigned>(inst.src[0].value);
    hints[step].push_back(word & 15U);
    hints[step + (word >> 4U & 7U)].push_back(word >> 7U & 15U);
  }
  return hints;
}

class Straight {
 public:
  Straight(const Steps& steps, std::vector<MissingHint>& missing) : steps_(steps), missing_(missing) {}

  void take(const Step& s, std::span<const unsigned> hints) {
    unsigned waits = 0;
    for (const unsigned id : hints) waits = std::max(waits, wait_for(id));
    for (Producer& p : pending_) p.issued += waits;  // the wave stands still, results come nearer
    if (s.unit == Unit::branch || s.unit == Unit::lds || s.unit == Unit::vmem_load ||
        s.unit == Unit::vmem_store)
      pending_.clear();
    if (is_vector_alu(s.unit)) {
      check(s);
      add(s);
    }
    for (Producer& p : pending_) ++p.issued;
  }

 private:
  /// A hint on the nth VALU (transcendental) instruction back: that one and all older of its kind are there,
  /// and VALU results older than a transcendental one, which takes longer. Returns the clocks that it waits.
  unsigned wait_for(unsigned id) {
    const bool trans = id > valu_reach && id <= last_trans;
    const unsigned distance = trans ? id - valu_reach : id;
    unsigned seen = 0, clocks = 0;
    if (distance < fewest || id > last_trans) return clocks;
    for (auto& p : std::views::reverse(pending_)) {
      if (p.trans == trans) ++seen;
      if (seen < distance || (p.trans != trans && !trans)) continue;
      const unsigned due = std::max(p.pipe, p.issued);
      if (!p.waited && due < p.latency) clocks = std::max(clocks, p.latency - due);
      p.waited = true;
    }
    return clocks;
  }

  void check(const Step& s) {
    unsigned valus = 0, transcendentals = 0;
    for (auto& p : std::views::reverse(pending_)) {
      const unsigned distance = p.trans ? ++transcendentals : ++valus;
      const unsigned due = std::max(p.pipe, p.issued);
      if (p.waited || due >= p.latency || distance > (p.trans ? trans_reach : valu_reach)) continue;
      const auto reads = std::span(steps_.atoms).subspan(s.first_read, s.reads);
      if (std::ranges::none_of(
              reads, [&](std::uint16_t a) { return std::ranges::find(p.writes, a) != p.writes.end(); }))
        continue;
      missing_.push_back({s.index, p.index, p.latency - due});
      p.waited = true;
    }
  }

  void add(const Step& s) {
    const auto writes = std::span(steps_.atoms).subspan(s.first_write, s.writes);
    for (Producer& p : pending_) {
      p.pipe += s.unit == Unit::trans ? 1 : s.hold;
      std::erase_if(p.writes, [&](std::uint16_t a) { return std::ranges::find(writes, a) != writes.end(); });
    }
    // Its own time in the pipe is counted from its execution on.
    pending_.push_back({s.index,
                        s.unit == Unit::trans,
                        s.unit == Unit::trans ? 1U : s.hold,
                        0,
                        s.latency,
                        false,
                        {writes.begin(), writes.end()}});
    constexpr std::size_t out_of_reach = 12;
    if (pending_.size() > out_of_reach) pending_.pop_front();
  }

  const Steps& steps_;
  std::vector<MissingHint>& missing_;
  std::deque<Producer> pending_;
};

}  // namespace

std::vector<MissingHint> missing_hints(std::span<const isa::Instruction> code,
                                       std::span<const std::size_t> stretch, const target::Target& target) {
  std::vector<MissingHint> missing;
  if (!target.has_delay_alu) return missing;
  Stretches stretches;
  stretches.body.assign(stretch.begin(), stretch.end());
  const Steps steps = prepare(code, stretches, {}, target).body;
  const auto hints = hints_of(code, stretch);
  Straight straight(steps, missing);
  for (std::size_t i = 0; i < steps.list.size(); ++i) straight.take(steps.list[i], hints[i]);
  return missing;
}

}  // namespace wavejit::model
