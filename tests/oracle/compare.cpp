// SPDX-License-Identifier: MIT
#include "tests/oracle/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

namespace wavejit::oracle {
namespace {

/// Sums of one row, one column or the whole block.
struct Sums {
  double reference2 = 0, got2 = 0, product = 0, error2 = 0;
  std::int64_t count = 0;

  void add(double reference, double got) {
    reference2 += reference * reference;
    got2 += got * got;
    product += reference * got;
    error2 += (got - reference) * (got - reference);
    ++count;
  }
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

/// A line of few elements scatters about the expected NMSE: six sigma of a mean of squares.
double line_bar(double nmse, std::int64_t count) {
  return nmse * (1.0 + 6.0 * std::sqrt(2.0 / static_cast<double>(count)));
}

struct Accumulated {
  Sums all;
  std::vector<Sums> rows, columns;
};

Accumulated accumulate(const Matrix& reference, std::span<const double> got, Format format,
                       Metrics& metrics) {
  Accumulated sums{.all = {},
                   .rows = std::vector<Sums>(static_cast<std::size_t>(reference.rows())),
                   .columns = std::vector<Sums>(static_cast<std::size_t>(reference.cols()))};
  for (Eigen::Index r = 0; r < reference.rows(); ++r)
    for (Eigen::Index c = 0; c < reference.cols(); ++c) {
      const double ref = reference(r, c);
      const double value = got[static_cast<std::size_t>(r * reference.cols() + c)];
      const Kind kind = classify(ref, value, format);
      ++metrics.elements;
      if (kind == Kind::special_wrong) ++metrics.special_mismatches;
      if (kind != Kind::finite) continue;
      sums.all.add(ref, value);
      sums.rows[static_cast<std::size_t>(r)].add(ref, value);
      sums.columns[static_cast<std::size_t>(c)].add(ref, value);
    }
  metrics.finite = sums.all.count;
  return sums;
}

double worst_line(const std::vector<Sums>& lines, double mean_square, double nmse_bar) {
  double worst = 0;
  for (const Sums& line : lines) {
    if (line.count == 0) continue;
    // A line that happens to be small is judged by the block's size: its inputs were not small.
    const double energy = std::max(line.reference2, mean_square * static_cast<double>(line.count));
    if (energy > 0) worst = std::max(worst, line.error2 / energy / line_bar(nmse_bar, line.count));
  }
  return worst;
}

void find_worst_element(const Matrix& reference, std::span<const double> got, const Block& block,
                        Format format, double rms, const Bars& limit, Metrics& metrics) {
  // Nothing is closer than half a unit of the format's smallest subnormal.
  const double floor = decode(1, format);
  for (Eigen::Index r = 0; r < reference.rows(); ++r)
    for (Eigen::Index c = 0; c < reference.cols(); ++c) {
      const double ref = reference(r, c);
      const double value = got[static_cast<std::size_t>(r * reference.cols() + c)];
      if (classify(ref, value, format) != Kind::finite) continue;
      const double error = std::fabs(value - ref);
      const double allowed = limit.relative * std::fabs(ref) + limit.of_rms * rms + floor;
      if (rms > 0) metrics.max_error_of_rms = std::max(metrics.max_error_of_rms, error / rms);
      if (metrics.worst_row >= 0 && error / allowed <= metrics.worst_error) continue;
      metrics.worst_error = error / allowed;
      metrics.worst_row = block.row_begin + r;
      metrics.worst_column = block.column_begin + c;
      metrics.worst_got = value;
      metrics.worst_reference = ref;
    }
}

/// The gain of few elements scatters by sqrt(nmse / count): five sigma beside the bar.
double gain_margin(const Bars& limit, std::int64_t count) {
  return 5.0 * std::sqrt(limit.nmse / static_cast<double>(std::max<std::int64_t>(count, 1)));
}

std::string failures(const Metrics& m, const Bars& limit) {
  std::string text;
  const auto add = [&text](std::string sentence) {
    text += (text.empty() ? "" : "; ") + std::move(sentence);
  };
  if (m.special_mismatches > 0)
    add(fmt::format("{} of {} elements are NaN or infinite where the reference is not, or the reverse",
                    m.special_mismatches, m.elements));
  if (!(m.one_minus_cosine <= limit.one_minus_cosine))
    add(fmt::format("1-cos {:.2e} > {:.1e}", m.one_minus_cosine, limit.one_minus_cosine));
  if (!(m.nmse <= limit.nmse)) add(fmt::format("NMSE {:.2e} > {:.1e}", m.nmse, limit.nmse));
  if (!(m.worst_line_nmse <= 1))
    add(fmt::format("NMSE of one row or column is {:.1f} times its bar", m.worst_line_nmse));
  if (!(m.worst_error <= 1))
    add(fmt::format(
        "element ({}, {}) is {:.6g} instead of {:.6g}, {:.1f} times the bar {:g} |ref| + {:g} rms",
        m.worst_row, m.worst_column, m.worst_got, m.worst_reference, m.worst_error, limit.relative,
        limit.of_rms));
  const double margin = gain_margin(limit, m.finite);
  if (!(m.gain >= limit.gain_low - margin && m.gain <= limit.gain_high + margin))
    add(fmt::format("gain {:.6f} outside [{:g}, {:g}] +- {:.1e}", m.gain, limit.gain_low, limit.gain_high,
                    margin));
  return text;
}

}  // namespace

Bars bars(Format format, WeightRounding rounding) {
  if (format == Format::f16) {
    return {.one_minus_cosine = 2e-7,
            .nmse = 4e-7,
            .relative = 2e-3,
            .of_rms = 3e-3,
            .gain_low = 0.9999,
            .gain_high = 1.0001};
  }
  const bool nearest = rounding == WeightRounding::nearest;
  return {.one_minus_cosine = 1e-5,
          .nmse = 2e-5,
          .relative = 1e-2,
          .of_rms = 2e-2,
          .gain_low = nearest ? 0.9996 : 0.998,
          .gain_high = nearest ? 1.0004 : 1.0005};
}

Verdict compare(const Matrix& reference, std::span<const std::uint16_t> got, const Block& block,
                Format format, WeightRounding rounding) {
  assert(reference.rows() == block.rows() && reference.cols() == block.columns());
  assert(static_cast<std::int64_t>(got.size()) == block.rows() * block.columns());
  Verdict verdict;
  verdict.bars = bars(format, rounding);
  Metrics& m = verdict.metrics;

  std::vector<double> values(got.size());
  for (std::size_t i = 0; i < got.size(); ++i) values[i] = decode(got[i], format);
  const Accumulated sums = accumulate(reference, values, format, m);
  const double mean_square =
      sums.all.count > 0 ? sums.all.reference2 / static_cast<double>(sums.all.count) : 0;
  if (sums.all.reference2 > 0) {
    m.nmse = sums.all.error2 / sums.all.reference2;
    m.gain = sums.all.product / sums.all.reference2;
    m.one_minus_cosine =
        sums.all.got2 > 0 ? 1.0 - sums.all.product / std::sqrt(sums.all.reference2 * sums.all.got2) : 1.0;
  }
  m.worst_line_nmse = std::max(worst_line(sums.rows, mean_square, verdict.bars.nmse),
                               worst_line(sums.columns, mean_square, verdict.bars.nmse));
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
    m.nmse = std::max(m.nmse, other.nmse);
    m.worst_line_nmse = std::max(m.worst_line_nmse, other.worst_line_nmse);
    m.max_error_of_rms = std::max(m.max_error_of_rms, other.max_error_of_rms);
    if (std::fabs(other.gain - 1) > std::fabs(m.gain - 1)) m.gain = other.gain;
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
