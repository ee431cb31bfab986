// SPDX-License-Identifier: MIT
// The tuning database: which Config was quickest for a problem and a bucket of M, by measurement.
//
// A JSON file: {"wavejit_tuning": 1, "entries": [{"target_id", "build", "problem", "rows": [first, last],
// "m", "by", "machine", "rounds", "times": [{"config", "us"}]}]}. Target ID, build ID and canonical problem
// are those of cache keys, so what another build measured is not found: its kernels were others. An entry
// that leaves features open ("gfx942") serves devices that state them, after entries that state them, too.
// Several machines may have measured one key; measurements ("hip") go before the model ("model"), and between
// machines the Config with the least mean excess over each machine's best wins, of those that all have
// measured.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/engine.hpp"

namespace wavejit::engine {

/// The M that one measurement stands for: 16 rows up to 128, then 64 up to 1024, 256 up to 8192, then
/// octaves.
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

  /// The quickest Config of a bucket, canonical; nothing when the key is not there.
  [[nodiscard]] std::optional<std::string> best(std::string_view target_id, std::string_view build,
                                                std::string_view problem, MRange rows) const;
  /// `selections` with this build's tuned Configs in their places; nothing when there are none. A Config that
  /// does not suit the problem is left out with a warning.
  [[nodiscard]] std::optional<std::vector<templates::Selection>> apply(
      const templates::Problem& problem, const target::Target& target, std::string_view target_id,
      const std::vector<templates::Selection>& selections, const LogFunction& log) const;

 private:
  std::vector<TuningEntry> entries_;
};

}  // namespace wavejit::engine
