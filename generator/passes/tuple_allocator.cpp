// SPDX-License-Identifier: MIT
#include "generator/passes/tuple_allocator.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <numeric>
#include <tuple>

namespace wavejit::passes {
namespace {

using Order = std::vector<std::uint32_t>;  ///< indices into AllocationProblem::tuples

constexpr unsigned max_banks = 8;
using BankCosts = std::array<std::uint32_t, max_banks>;

/// How strictly a bank plan is followed.
enum class Banks : std::uint8_t {
  fit,     ///< a matrix tuple takes the first place whose bank its partners leave open
  hold,    ///< it takes its bank of the plan
  prefer,  ///< it would rather have its bank
  ignore,
};

/// One pass over the tuples in a given order.
class Attempt {
 public:
  Attempt(const AllocationProblem& problem, std::uint32_t limit, Banks mode)
      : problem_(problem), mode_(mode), file_(limit, problem.positions) {
    result_.base.assign(problem.vreg_count, -1);
    for (std::uint32_t r = 0; r < std::min<std::size_t>(limit, problem.occupied.size()); ++r) {
      if (problem.occupied[r]->empty()) continue;
      file_.take(r, *problem.occupied[r]);
      result_.used = r + 1;
    }
    if (problem.banks != nullptr && mode != Banks::ignore) banks_ = problem.banks->banks;
    if (banks_ > 0 && mode == Banks::fit) open_ = problem.banks->open;
    index_copies();
  }

  /// Nothing if all were placed, else the tuple that found no room.
  std::optional<std::uint32_t> run(const Order& order) {
    for (const std::uint32_t t : order) {
      const std::int64_t base = choose(problem_.tuples[t]);
      if (base < 0) return t;
      put(problem_.tuples[t], static_cast<std::uint32_t>(base));
    }
    return std::nullopt;
  }

  /// Moves tuples whose banks still collide where a better register is free.
  void improve() {
    if (banks_ == 0) return;
    for (const TupleRequest& t : problem_.tuples) {
      if (t.fixed || is_matrix(t) || problem_.banks->partners[t.vreg].empty()) continue;
      const auto base = static_cast<std::uint32_t>(result_.base[t.vreg]);
      const std::uint32_t cost = costs(t)[base % banks_];
      if (cost == 0) continue;
      remove(t, base);
      const std::int64_t next = choose(t);
      const bool better = next >= 0 && costs(t)[static_cast<std::uint32_t>(next) % banks_] < cost;
      put(t, better ? static_cast<std::uint32_t>(next) : base);
    }
  }

  Placement take_result() {
    for (const TupleRequest& t : problem_.tuples) {
      const auto end = static_cast<std::uint32_t>(result_.base[t.vreg]) + t.width;
      result_.used = std::max(result_.used, end);
    }
    return std::move(result_);
  }

 private:
  void index_copies() {
    copies_.resize(problem_.vreg_count);
    for (const CopyHint& c : problem_.copies) {
      copies_[c.a].emplace_back(c.b, c.distance);
      copies_[c.b].emplace_back(c.a, -c.distance);
    }
  }

  bool fits(const TupleRequest& t, std::uint32_t base) const {
    if (base % t.align != 0 || base + t.width > file_.size()) return false;
    for (unsigned d = 0; d < t.width; ++d)
      if (!file_.is_free(base + d, t.masks[d])) return false;
    return true;
  }

  void put(const TupleRequest& t, std::uint32_t base) {
    for (unsigned d = 0; d < t.width; ++d) file_.take(base + d, *t.dwords[d]);
    result_.base[t.vreg] = static_cast<std::int32_t>(base);
    if (is_matrix(t))
      for (const BankEdge& e : problem_.banks->edges[t.vreg])
        open_[e.other] = static_cast<std::uint8_t>(open_[e.other] & ~(1U << partner_bank(base, e)));
  }

  /// Whether banks are chosen while placing, and this tuple takes part.
  bool is_matrix(const TupleRequest& t) const {
    return !open_.empty() && problem_.banks->matrix_bank[t.vreg] >= 0;
  }

  /// The bank that a tuple starting at `base` closes to a partner.
  unsigned partner_bank(std::uint32_t base, const BankEdge& e) const {
    return (base + banks_ - e.distance) % banks_;
  }

  /// A place in `bank` would leave each partner that is still to be placed another bank.
  bool leaves_partners_room(const TupleRequest& t, std::uint32_t base) const {
    for (const BankEdge& e : problem_.banks->edges[t.vreg])
      if (result_.base[e.other] < 0 && (open_[e.other] & ~(1U << partner_bank(base, e))) == 0) return false;
    return true;
  }

  bool bank_is_open(const TupleRequest& t, std::uint32_t base) const {
    return (open_[t.vreg] >> (base % banks_) & 1) != 0 && leaves_partners_room(t, base);
  }

  void remove(const TupleRequest& t, std::uint32_t base) {
    for (unsigned d = 0; d < t.width; ++d) file_.release(base + d, *t.dwords[d]);
    result_.base[t.vreg] = -1;
  }

  int matrix_bank(const TupleRequest& t) const { return problem_.banks->matrix_bank[t.vreg]; }

  /// What starting in each bank costs, given what has been placed.
  BankCosts costs(const TupleRequest& t) const {
    constexpr std::uint32_t matrix_cost = 4096, wish_cost = 1024;
    BankCosts cost{};
    const int matrix = matrix_bank(t);
    for (unsigned b = 0; b < banks_; ++b) {
      if (matrix >= 0 && static_cast<unsigned>(matrix) != b) cost[b] += matrix_cost;
      if (matrix < 0 && t.wish >= 0 && static_cast<unsigned>(t.wish) % banks_ != b) cost[b] += wish_cost;
    }
    for (const BankPartner& p : problem_.banks->partners[t.vreg]) {
      std::uint32_t other = p.register_or_sub;
      if (p.vreg >= 0) {
        const std::int32_t base = result_.base[static_cast<std::size_t>(p.vreg)];
        if (base < 0) continue;
        other += static_cast<std::uint32_t>(base);
      }
      cost[(other + max_banks * banks_ * 32 - p.own_sub) % banks_] += p.weight;
    }
    return cost;
  }

  /// The first place that starts in one of the banks whose bits are set.
  std::int64_t first_fit(const TupleRequest& t, unsigned in_banks) const {
    const unsigned period = std::max<unsigned>(std::max(banks_, 1U), t.align);
    assert(64 % period == 0);
    std::uint64_t starts = 0;
    for (unsigned base = 0; base < period; base += t.align)
      if ((in_banks >> (base % std::max(banks_, 1U)) & 1) != 0) starts |= std::uint64_t{1} << base;
    const auto base = file_.first_free(t.masks, starts, period);
    return base ? std::int64_t{*base} : -1;
  }

  unsigned open_banks(const TupleRequest& t) const {
    unsigned open = 0;
    for (unsigned b = 0; b < banks_; ++b) open |= bank_is_open(t, b) ? 1U << b : 0;
    return open;
  }

  bool misses_bank(const TupleRequest& t, std::int64_t base) const {
    return banks_ > 0 && mode_ == Banks::hold && matrix_bank(t) >= 0 && base % banks_ != matrix_bank(t);
  }

  /// The register that lets a copy vanish, if it is free.
  std::int64_t beside_copy(const TupleRequest& t) const {
    for (const auto& [other, distance] : copies_[t.vreg]) {
      const std::int64_t base = std::int64_t{result_.base[other]} + distance;
      if (result_.base[other] < 0 || base < 0 || !fits(t, static_cast<std::uint32_t>(base))) continue;
      const bool wrong_bank =
          is_matrix(t) ? !bank_is_open(t, static_cast<std::uint32_t>(base)) : misses_bank(t, base);
      if (!wrong_bank) return base;
    }
    return -1;
  }

  std::int64_t choose(const TupleRequest& t) const {
    if (t.fixed) return fits(t, *t.fixed) ? std::int64_t{*t.fixed} : -1;
    if (const std::int64_t base = beside_copy(t); base >= 0) return base;
    if (banks_ == 0) return first_fit(t, 1);
    if (is_matrix(t)) return first_fit(t, open_banks(t));
    if (mode_ == Banks::hold && matrix_bank(t) >= 0)
      return first_fit(t, 1U << static_cast<unsigned>(matrix_bank(t)));
    // The cheapest banks first, those of one cost together.
    const BankCosts cost = costs(t);
    for (unsigned left = (1U << banks_) - 1; left != 0;) {
      unsigned cheapest = 0;
      for (unsigned b = 0; b < banks_; ++b) {
        if ((left >> b & 1) == 0) continue;
        const unsigned best = static_cast<unsigned>(std::countr_zero(cheapest));
        if (cheapest == 0 || cost[b] < cost[best])
          cheapest = 1U << b;
        else if (cost[b] == cost[best])
          cheapest |= 1U << b;
      }
      if (const std::int64_t base = first_fit(t, cheapest); base >= 0) return base;
      left &= ~cheapest;
    }
    return -1;
  }

  const AllocationProblem& problem_;
  Banks mode_;
  RegisterFile file_;
  unsigned banks_ = 0;
  std::vector<std::uint8_t> open_;  ///< mode fit: by vreg, banks left by placed partners
  std::vector<std::vector<std::pair<std::uint32_t, std::int32_t>>> copies_;
  Placement result_;
};

/// The orders that are tried, best first: fixed tuples always lead.
std::vector<Order> orders(const AllocationProblem& problem) {
  const auto key = [&](unsigned which, std::uint32_t i) {
    const TupleRequest& t = problem.tuples[i];
    const std::int64_t width = t.width, length = static_cast<std::int64_t>(t.length / t.width),
                       begin = t.begin;
    const std::int64_t first = t.fixed ? 0 : 1;
    switch (which) {
      case 0:  // wide first, long-lived first among equals
        return std::tuple(first, -width, -length, begin);
      case 1:  // long-lived first
        return std::tuple(first, -length, -width, begin);
      case 2:  // by area
        return std::tuple(first, -static_cast<std::int64_t>(t.length), -width, begin);
      default:  // quads and more first, each group in program order
        return std::tuple(first, std::int64_t{width >= 4 ? 0 : 1}, begin, -width);
    }
  };
  std::vector<Order> result;
  for (unsigned which = 0; which < 4; ++which) {
    Order order(problem.tuples.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return key(which, i); });
    result.push_back(std::move(order));
  }
  return result;
}

/// Tries one order; a tuple that finds no room goes to the front of it, behind the fixed ones.
std::optional<Placement> place_in_order(const AllocationProblem& problem, std::uint32_t limit, Banks mode,
                                        Order order, unsigned repairs) {
  const auto movable = std::ranges::find_if(order, [&](std::uint32_t i) { return !problem.tuples[i].fixed; });
  const auto front = movable - order.begin();
  for (unsigned i = 0; i <= repairs; ++i) {
    Attempt attempt(problem, limit, mode);
    const std::optional<std::uint32_t> failed = attempt.run(order);
    if (!failed) {
      for (unsigned sweep = 0; sweep < 2; ++sweep) attempt.improve();
      return attempt.take_result();
    }
    if (problem.tuples[*failed].fixed) return std::nullopt;
    const auto at = std::ranges::find(order, *failed);
    if (at - order.begin() == front) return std::nullopt;  // no room even alone
    std::rotate(order.begin() + front, at, at + 1);
  }
  return std::nullopt;
}

/// The ways to keep the matrix rule, best first.
std::vector<Banks> matrix_modes(const BankPlan& plan) {
  const bool any = std::ranges::any_of(plan.matrix_bank, [](std::int8_t bank) { return bank >= 0; });
  return any ? std::vector{Banks::fit, Banks::hold} : std::vector{Banks::fit};
}

/// Whole granules that could hold `peak` registers, up to and with `limit` itself.
std::vector<std::uint32_t> limits(const AllocationProblem& problem, std::uint32_t peak, std::uint32_t limit) {
  std::vector<std::uint32_t> result;
  if (problem.granule > 0)
    for (std::uint32_t l = (peak + problem.granule - 1) / problem.granule * problem.granule; l < limit;
         l += problem.granule)
      if (l > 0) result.push_back(l);
  result.push_back(limit);
  return result;
}

std::optional<Placement> place_in_mode(const AllocationProblem& problem, std::uint32_t limit, Banks mode,
                                       const std::vector<Order>& all, unsigned repairs) {
  // Another order is a better bet than a repair.
  for (const unsigned allowed : {0U, repairs})
    for (const Order& order : all)
      if (auto placed = place_in_order(problem, limit, mode, order, allowed)) return placed;
  return std::nullopt;
}

}  // namespace

std::uint32_t peak_pressure(const AllocationProblem& problem) {
  std::vector<const Segments*> lives = problem.occupied;
  for (const TupleRequest& t : problem.tuples) lives.insert(lives.end(), t.dwords.begin(), t.dwords.end());
  return peak_pressure(problem.positions, lives);
}

std::uint32_t peak_pressure(std::uint32_t positions, const std::vector<const Segments*>& lives) {
  std::vector<std::int32_t> change(positions + 1, 0);
  for (const Segments* life : lives)
    for (const Segment& s : *life) {
      ++change[s.begin];
      --change[s.end];
    }
  std::int32_t live = 0, peak = 0;
  for (const std::int32_t c : change) peak = std::max(peak, live += c);
  return static_cast<std::uint32_t>(peak);
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> fixed_conflict(const AllocationProblem& problem) {
  const auto overlap = [](const Segments& a, const Segments& b) {
    for (const Segment& x : a)
      for (const Segment& y : b)
        if (x.begin < y.end && y.begin < x.end) return true;
    return false;
  };
  for (const TupleRequest& a : problem.tuples) {
    if (!a.fixed) continue;
    for (unsigned d = 0; d < a.width; ++d) {
      const std::uint32_t reg = *a.fixed + d;
      if (reg < problem.occupied.size() && overlap(*a.dwords[d], *problem.occupied[reg]))
        return std::pair(a.vreg, reg);
      for (const TupleRequest& b : problem.tuples)
        if (b.vreg > a.vreg && b.fixed && *b.fixed <= reg && reg < *b.fixed + b.width &&
            overlap(*a.dwords[d], *b.dwords[reg - *b.fixed]))
          return std::pair(a.vreg, reg);
    }
  }
  return std::nullopt;
}

std::optional<Placement> place(const AllocationProblem& asked, std::uint32_t limit) {
  constexpr unsigned few_repairs = 4, many_repairs = 16;
  const std::uint32_t peak = peak_pressure(asked);
  if (peak > limit) return std::nullopt;
  AllocationProblem problem = asked;
  for (TupleRequest& t : problem.tuples)
    for (const Segments* s : t.dwords) t.masks.push_back(RegisterFile::masks(*s));
  const std::vector<Order> all = orders(problem);
  // Banks only narrow the choice, so what does not fit without them is refused at once.
  auto plain = place_in_mode(problem, limit, Banks::ignore, all, many_repairs);
  if (!plain || problem.banks == nullptr) return plain;
  const std::vector<std::uint32_t> rungs = limits(problem, peak, limit);
  const auto repairs = [&](std::uint32_t rung) { return rung == limit ? many_repairs : few_repairs; };
  for (const std::uint32_t rung : rungs)
    for (const Banks mode : matrix_modes(*problem.banks)) {
      if (auto placed = place_in_mode(problem, rung, mode, all, repairs(rung))) return placed;
      if (rung != limit) break;  // the dearer modes only where it matters most
    }
  for (const std::uint32_t rung : rungs)
    if (auto placed = place_in_mode(problem, rung, Banks::prefer, all, repairs(rung))) return placed;
  return plain;
}

}  // namespace wavejit::passes
