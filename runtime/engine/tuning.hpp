// SPDX-License-Identifier: MIT
// The tuning database: which Config was quickest for a problem and a bucket of M, by measurement.
//
// A JSON file: {"wavejit_tuning": 2, "entries": [{"target_id", "build", "problem", "rows": [first, last],
// "m", "by", "machine", "rounds", "times": [{"config", "us"}]}]}. Target ID, build ID and canonical problem
// are those of cache keys, so what another build measured is not found: its kernels were others. An entry
// that leaves features open ("gfx942") serves devices that state them, after entries that state them, too.
// Several machines may have measured one key; measurements ("hip") go before the model ("model"), and between
// machines the Config with the least mean excess over each machine's best wins, of those that all have
// measured.
//
// An entry is used for its own rows only, and only where selection's own choice was timed too and is slower:
// what was never compared with the choice does not replace it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/engine.hpp"

namespace wavejit::engine {

/// The M that one measurement stands for: templates::tuning_step.
MRange tuning_bucket(std::int64_t m);

struct TunedTime {
  std::string config;  ///< canonical
  double us = 0;       ///< median of the rounds
};

struct TuningEntry {
  std::string target_id, build, problem;
  MRange rows;
  std::int64_t m = 1;  ///< measured
  std::string by;      ///< "hip" or "model"
  std::string machine;
  unsigned rounds = 0;
  std::vector<TunedTime> times;  ///< quickest first
};

class TuningDatabase {
 public:
  /// Errors: io; invalid_argument with what of the file is wrong.
  static Result<TuningDatabase> read(const std::filesystem::path& path);
  static Result<TuningDatabase> parse(std::string_view text);
  [[nodiscard]] std::string text() const;

  [[nodiscard]] const std::vector<TuningEntry>& entries() const { return entries_; }
  /// Replaces what the same machine found for the same key in the same way.
  void add(TuningEntry entry);
  /// Adds the other's entries; of two by one machine the one of more rounds stays.
  void merge(const TuningDatabase& other);
  /// The entry of `like`'s key, machine and way, if there is one.
  [[nodiscard]] const TuningEntry* find(const TuningEntry& like) const;

  /// The quickest Config of a bucket, canonical; nothing when the key is not there. With `own`, only entries
  /// that timed that Config count, and it is the answer where nothing is quicker.
  [[nodiscard]] std::optional<std::string> best(std::string_view target_id, std::string_view build,
                                                std::string_view problem, MRange rows,
                                                std::string_view own = {}) const;
  /// `selections` with this build's tuned Configs in their places; nothing when there are none. A Config that
  /// does not suit the problem, and an entry that did not time selection's choice, are left out with a
  /// warning.
  [[nodiscard]] std::optional<std::vector<templates::Selection>> apply(
      const templates::Problem& problem, const target::Target& target, std::string_view target_id,
      const std::vector<templates::Selection>& selections, const LogFunction& log) const;

 private:
  std::vector<TuningEntry> entries_;
};

}  // namespace wavejit::engine
