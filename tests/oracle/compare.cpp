// SPDX-License-Identifier: MIT
#include "tests/oracle/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>
#include <vector>

namespace wavejit::oracle {
namespace {

/// Sums of one row, one column or the whole block.
struct Sums {
  double reference2 = 0, got2 = 0, product = 0, error2 = 0;
  double size2 = 0, both2 = 0;  ///< sums of size^2 and of (size ref)^2
  std::int64_t count = 0;

  void add(double reference, double got, double size) {
    reference2 += reference * reference;
    size2 += size * size;
    both2 += reference * reference * size * size;
    got2 += got * got;
    product += reference * got;
    error2 += (got - reference) * (got - reference);
    ++count;
  }
  /// What the squares of errors are a share of. Where the reference happens to be small its inputs were not.
  [[nodiscard]] double energy() const { return std::max(reference2, size2); }
};

enum class Kind : std::uint8_t { finite, special_equal, special_wrong };

/// NaN must meet NaN and an infinity the same infinity. A finite reference beyond the format's
/// range is an infinity; within one weight rounding of that threshold either is right.
Kind classify(double reference, double got, Format format) {
  if (std::isnan(reference)) return std::isnan(got) ? Kind::special_equal : Kind::special_wrong;
  const double threshold = overflow_threshold(format);
  const double slack = threshold * 0.01;
  const bool may_overflow = std::fabs(reference) >= threshold - slack;
  const bool must_overflow = std::fabs(reference) >= threshold + slack;
  if (std::isinf(got)) {
    return may_overflow && std::signbit(got) == std::signbit(reference) ? Kind::special_equal
                                                                        : Kind::special_wrong;
  }
  return std::isnan(got) || must_overflow ? Kind::special_wrong : Kind::finite;
}

/// A mean of `count` squares of Gaussian variables of variance up to `nmse` exceeds this once in 10^9
/// (Laurent and Massart 2000, lemma 1).
double few_bar(double nmse, std::int64_t count) {
  constexpr double log_of_chance = 20.72;
  const double t = log_of_chance / static_cast<double>(std::max<std::int64_t>(count, 1));
  return nmse * (1 + 2 * std::sqrt(t) + 2 * t);
}

struct Accumulated {
  Sums all;
  std::vector<Sums> rows, columns;
};

Accumulated accumulate(const Reference& reference, std::span<const double> got, Format format,
                       Metrics& metrics) {
  const Matrix& values = reference.value;
  Accumulated sums{.all = {},
                   .rows = std::vector<Sums>(static_cast<std::size_t>(values.rows())),
                   .columns = std::vector<Sums>(static_cast<std::size_t>(values.cols()))};
  for (Eigen::Index r = 0; r < values.rows(); ++r)
    for (Eigen::Index c = 0; c < values.cols(); ++c) {
      const double ref = values(r, c), size = reference.size(r, c);
      const double value = got[static_cast<std::size_t>(r * values.cols() + c)];
      const Kind kind = classify(ref, value, format);
      ++metrics.elements;
      if (kind == Kind::special_wrong) ++metrics.special_mismatches;
      if (kind != Kind::finite) continue;
      sums.all.add(ref, value, size);
      sums.rows[static_cast<std::size_t>(r)].add(ref, value, size);
      sums.columns[static_cast<std::size_t>(c)].add(ref, value, size);
    }
  metrics.finite = sums.all.count;
  return sums;
}

/// `most`: of a line's errors as many at most are independent of one another.
double worst_line(const std::vector<Sums>& lines, double nmse_bar, std::int64_t most) {
  double worst = 0;
  for (const Sums& line : lines)
    if (line.energy() > 0)
      worst = std::max(worst, line.error2 / line.energy() / few_bar(nmse_bar, std::min(line.count, most)));
  return worst;
}

void find_worst_element(const Reference& reference, std::span<const double> got, const Block& block,
                        Format format, double rms, const Bars& limit, Metrics& metrics) {
  // Nothing is closer than half a unit of the format's smallest subnormal.
  const double floor = decode(1, format);
  for (Eigen::Index r = 0; r < reference.value.rows(); ++r)
    for (Eigen::Index c = 0; c < reference.value.cols(); ++c) {
      const double ref = reference.value(r, c);
      const double value = got[static_cast<std::size_t>(r * reference.value.cols() + c)];
      if (classify(ref, value, format) != Kind::finite) continue;
      const double error = std::fabs(value - ref);
      const double allowed = limit.relative * std::fabs(ref) + limit.of_size * reference.size(r, c) + floor;
      if (rms > 0) metrics.max_error_of_rms = std::max(metrics.max_error_of_rms, error / rms);
      if (metrics.worst_row >= 0 && error / allowed <= metrics.worst_error) continue;
      metrics.worst_error = error / allowed;
      metrics.worst_row = block.row_begin + r;
      metrics.worst_column = block.column_begin + c;
      metrics.worst_got = value;
      metrics.worst_reference = ref;
    }
}

/// sum (size ref)^2, where elements of one value, whose errors are one error, stand for their sum.
double scatter(const Reference& reference, const Sums& all) {
  std::vector<std::pair<double, double>> elements;  // value, size times value
  elements.reserve(static_cast<std::size_t>(reference.value.size()));
  for (Eigen::Index i = 0; i < reference.value.size(); ++i) {
    const double value = reference.value.data()[i];
    if (std::isfinite(value)) elements.emplace_back(value, reference.size.data()[i] * std::fabs(value));
  }
  std::ranges::sort(elements);
  double sum = 0, same = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    same += elements[i].second;
    if (i + 1 < elements.size() && elements[i + 1].first == elements[i].first) continue;
    sum += same * same;
    same = 0;
  }
  return std::max(sum, all.both2);
}

/// The bars of that many elements: the gain scatters with the sum of errors times reference.
Bars widened(Bars limit, const Sums& all, double scatter, std::int64_t independent) {
  constexpr double sigmas = 6.1;
  const double margin = all.reference2 > 0 ? sigmas * std::sqrt(limit.nmse * scatter) / all.reference2 : 0;
  limit.nmse = few_bar(limit.nmse, independent);
  limit.gain_low -= margin;
  limit.gain_high += margin;
  return limit;
}

/// 0 in the middle, above 1 outside.
double out_of_range(double gain, const Bars& limit) {
  const double middle = (limit.gain_low + limit.gain_high) / 2;
  return std::fabs(gain - middle) / (limit.gain_high - middle);
}

std::string failures(const Metrics& m, const Bars& limit) {
  std::string text;
  const auto add = [&text](std::string sentence) {
    text += (text.empty() ? "" : "; ") + std::move(sentence);
  };
  if (m.special_mismatches > 0)
    add(fmt::format("{} of {} elements are NaN or infinite where the reference is not, or the reverse",
                    m.special_mismatches, m.elements));
  if (!(m.nmse <= limit.nmse)) add(fmt::format("NMSE {:.2e} > {:.1e}", m.nmse, limit.nmse));
  if (!(m.worst_line_nmse <= 1))
    add(fmt::format("NMSE of one row or column is {:.1f} times its bar", m.worst_line_nmse));
  if (!(m.worst_error <= 1))
    add(fmt::format(
        "element ({}, {}) is {:.6g} instead of {:.6g}, {:.1f} times the bar {:g} |ref| + {:g} size",
        m.worst_row, m.worst_column, m.worst_got, m.worst_reference, m.worst_error, limit.relative,
        limit.of_size));
  if (!(m.gain >= limit.gain_low && m.gain <= limit.gain_high))
    add(fmt::format("gain {:.6f} outside [{:.6f}, {:.6f}]", m.gain, limit.gain_low, limit.gain_high));
  return text;
}

}  // namespace

Bars bars(Format format, WeightRounding rounding) {
  if (format == Format::f16) {
    return {.nmse = 4e-7, .relative = 2e-3, .of_size = 3e-3, .gain_low = 0.9999, .gain_high = 1.0001};
  }
  const bool nearest = rounding == WeightRounding::nearest;
  return {.nmse = 2e-5,
          .relative = 1e-2,
          .of_size = 2e-2,
          .gain_low = nearest ? 0.9996 : 0.998,
          .gain_high = nearest ? 1.0004 : 1.0005};
}

Verdict compare(const Reference& reference, std::span<const std::uint16_t> got, const Block& block,
                Format format, WeightRounding rounding) {
  assert(reference.value.rows() == block.rows() && reference.value.cols() == block.columns());
  assert(static_cast<std::int64_t>(got.size()) == block.rows() * block.columns());
  Verdict verdict;
  Metrics& m = verdict.metrics;

  std::vector<double> values(got.size());
  for (std::size_t i = 0; i < got.size(); ++i) values[i] = decode(got[i], format);
  const Accumulated sums = accumulate(reference, values, format, m);
  const double mean_square =
      sums.all.count > 0 ? sums.all.reference2 / static_cast<double>(sums.all.count) : 0;
  // Weights of a group that have the same code are rounded alike, and those of a column for all its rows.
  const Bars many = bars(format, rounding);
  verdict.bars = widened(many, sums.all, scatter(reference, sums.all),
                         block.columns() * std::min<std::int64_t>(block.rows(), reference.groups));
  if (sums.all.energy() > 0) m.nmse = sums.all.error2 / sums.all.energy();
  if (sums.all.reference2 > 0) {
    m.gain = sums.all.product / sums.all.reference2;
    m.one_minus_cosine =
        sums.all.got2 > 0 ? 1.0 - sums.all.product / std::sqrt(sums.all.reference2 * sums.all.got2) : 1.0;
  }
  m.worst_line_nmse = std::max(worst_line(sums.rows, many.nmse, block.columns()),
                               worst_line(sums.columns, many.nmse, reference.groups));
  find_worst_element(reference, values, block, format, std::sqrt(mean_square), verdict.bars, m);
  verdict.reason = failures(m, verdict.bars);
  verdict.ok = verdict.reason.empty();
  return verdict;
}

Verdict merge(std::span<const Verdict> verdicts) {
  assert(!verdicts.empty());
  Verdict merged = verdicts.front();
  for (const Verdict& v : verdicts.subspan(1)) {
    Metrics& m = merged.metrics;
    const Metrics& other = v.metrics;
    m.elements += other.elements;
    m.finite += other.finite;
    m.special_mismatches += other.special_mismatches;
    m.one_minus_cosine = std::max(m.one_minus_cosine, other.one_minus_cosine);
    if (other.nmse / v.bars.nmse > m.nmse / merged.bars.nmse) {
      m.nmse = other.nmse;
      merged.bars.nmse = v.bars.nmse;
    }
    m.worst_line_nmse = std::max(m.worst_line_nmse, other.worst_line_nmse);
    m.max_error_of_rms = std::max(m.max_error_of_rms, other.max_error_of_rms);
    if (out_of_range(other.gain, v.bars) > out_of_range(m.gain, merged.bars)) {
      m.gain = other.gain;
      merged.bars.gain_low = v.bars.gain_low;
      merged.bars.gain_high = v.bars.gain_high;
    }
    if (other.worst_error > m.worst_error || m.worst_row < 0) {
      m.worst_error = other.worst_error;
      m.worst_row = other.worst_row;
      m.worst_column = other.worst_column;
      m.worst_got = other.worst_got;
      m.worst_reference = other.worst_reference;
    }
    if (!v.reason.empty()) merged.reason += (merged.reason.empty() ? "" : "; ") + v.reason;
    merged.ok = merged.ok && v.ok;
  }
  return merged;
}

}  // namespace wavejit::oracle
