// SPDX-License-Identifier: MIT
#include "runtime/engine/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "runtime/cache/key.hpp"
#include "runtime/support/json.hpp"
#include "templates/select.hpp"

namespace wavejit::engine {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view measured = "hip";

auto identity(const TuningEntry& e) {
  return std::tie(e.target_id, e.build, e.problem, e.rows.first, e.rows.last, e.by, e.machine);
}

void sort_times(TuningEntry& entry) { std::ranges::stable_sort(entry.times, {}, &TunedTime::us); }

std::unexpected<Error> malformed(std::size_t index, const std::string& what) {
  return fail_field(ErrorCode::invalid_argument, fmt::format("entries[{}]", index), what,
                    "an entry as runtime/engine/tuning.hpp describes");
}

/// Throws nlohmann's exceptions for fields that are missing or of another type.
TuningEntry entry_of(const Json& j) {
  TuningEntry e;
  e.target_id = j.at("target_id").get<std::string>();
  e.build = j.at("build").get<std::string>();
  e.problem = j.at("problem").get<std::string>();
  e.rows = {j.at("rows").at(0).get<std::int64_t>(), j.at("rows").at(1).get<std::int64_t>()};
  e.m = j.at("m").get<std::int64_t>();
  e.by = j.at("by").get<std::string>();
  e.machine = j.at("machine").get<std::string>();
  e.rounds = j.at("rounds").get<unsigned>();
  for (const Json& t : j.at("times"))
    e.times.push_back({t.at("config").get<std::string>(), t.at("us").get<double>()});
  return e;
}

/// "" when the entry makes sense.
std::string nonsense(const TuningEntry& e) {
  if (e.rows.first < 1 || e.rows.last < e.rows.first) return "without a range of rows";
  if (e.by != measured && e.by != "model") return "by \"" + e.by + "\"";
  if (e.times.empty()) return "without times";
  for (const TunedTime& t : e.times)
    if (!(t.us > 0)) return fmt::format("with a time of {} us", t.us);
  return {};
}

}  // namespace

MRange tuning_bucket(std::int64_t m) {
  const templates::RowRange step = templates::tuning_step(m);
  return {step.first, step.last};
}

Result<TuningDatabase> TuningDatabase::parse(std::string_view text) {
  const auto parsed = parse_json<Json>(text);
  if (!parsed)
    return fail_field(ErrorCode::invalid_argument, "tuning database", parsed.error(), "a JSON file");
  const Json& all = *parsed;
  const auto version = all.is_object() ? all.find("wavejit_tuning") : all.end();
  if (version != all.end() && *version == 1)
    return fail_field(ErrorCode::invalid_argument, "tuning database", "version 1",
                      "version 2: version 1 has one Config for rows 1 to 16 and did not time decode kernels; "
                      "remove the file and run `wavejit tune` again");
  if (version == all.end() || *version != 2 || !all.contains("entries") || !all["entries"].is_array())
    return fail_field(ErrorCode::invalid_argument, "tuning database", "of another form",
                      "an object with \"wavejit_tuning\": 2 and \"entries\"");
  TuningDatabase database;
  for (std::size_t i = 0; i < all["entries"].size(); ++i) {
    try {
      TuningEntry entry = entry_of(all["entries"][i]);
      if (const std::string what = nonsense(entry); !what.empty()) return malformed(i, what);
      database.add(std::move(entry));
    } catch (const Json::exception& error) {
      return malformed(i, error.what());
    }
  }
  return database;
}

Result<TuningDatabase> TuningDatabase::read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  if (file) text << file.rdbuf();
  if (!file) return fail_field(ErrorCode::io, "tuning database", path.string(), "a file that can be read");
  auto database = parse(text.str());
  if (!database) database.error().message = path.string() + ": " + database.error().message;
  return database;
}

std::string TuningDatabase::text() const {
  Json entries = Json::array();
  for (const TuningEntry& e : entries_) {
    Json times = Json::array();
    for (const TunedTime& t : e.times) times.push_back({{"config", t.config}, {"us", t.us}});
    entries.push_back({{"target_id", e.target_id},
                       {"build", e.build},
                       {"problem", e.problem},
                       {"rows", {e.rows.first, e.rows.last}},
                       {"m", e.m},
                       {"by", e.by},
                       {"machine", e.machine},
                       {"rounds", e.rounds},
                       {"times", std::move(times)}});
  }
  return Json{{"wavejit_tuning", 2}, {"entries", std::move(entries)}}.dump(1) + "\n";
}

const TuningEntry* TuningDatabase::find(const TuningEntry& like) const {
  const auto it =
      std::ranges::find_if(entries_, [&](const TuningEntry& e) { return identity(e) == identity(like); });
  return it == entries_.end() ? nullptr : &*it;
}

void TuningDatabase::add(TuningEntry entry) {
  sort_times(entry);
  std::erase_if(entries_, [&](const TuningEntry& e) { return identity(e) == identity(entry); });
  const auto place = std::ranges::upper_bound(
      entries_, entry, [](const TuningEntry& a, const TuningEntry& b) { return identity(a) < identity(b); });
  entries_.insert(place, std::move(entry));
}

void TuningDatabase::merge(const TuningDatabase& other) {
  for (const TuningEntry& e : other.entries_) {
    const TuningEntry* ours = find(e);
    if (ours == nullptr || ours->rounds < e.rounds) add(e);
  }
}

std::optional<std::string> TuningDatabase::best(std::string_view target_id, std::string_view build,
                                                std::string_view problem, MRange rows,
                                                std::string_view own) const {
  struct Excess {
    std::size_t machines = 0;
    double sum = 0;
  };
  std::map<std::string, Excess> configs;
  std::size_t machines = 0;
  for (const std::string_view by : {measured, std::string_view("model")}) {
    for (const TuningEntry& e : entries_) {
      if (e.by != by || e.target_id != target_id || e.build != build || e.problem != problem ||
          e.rows != rows ||
          (!own.empty() && std::ranges::find(e.times, own, &TunedTime::config) == e.times.end()))
        continue;
      ++machines;
      for (const TunedTime& t : e.times) {
        Excess& x = configs[t.config];
        ++x.machines;
        x.sum += std::log(t.us / e.times.front().us);
      }
    }
    if (machines > 0) break;
  }
  std::optional<std::string> choice;
  Excess least;
  if (const auto it = configs.find(std::string(own)); it != configs.end()) {
    choice = it->first;
    least = it->second;
  }
  for (const auto& [config, x] : configs) {
    // Fewer machines count less; of equally many the mean decides.
    const bool better =
        !choice || x.machines > least.machines || (x.machines == least.machines && x.sum < least.sum);
    if (!better) continue;
    choice = config;
    least = x;
  }
  return choice;
}

std::optional<std::vector<templates::Selection>> TuningDatabase::apply(
    const templates::Problem& problem, const target::Target& target, std::string_view target_id,
    const std::vector<templates::Selection>& selections, const LogFunction& log) const {
  const auto id = cache::canonical_target_id(target_id);
  const std::string text = templates::canonical(problem);
  // Rows for the device's features first, then those that leave some open.
  const auto ids = id ? cache::compatible_target_ids(*id) : std::vector<std::string>{};
  const auto ours = [&](const TuningEntry& e) {
    return std::ranges::find(ids, e.target_id) != ids.end() && e.problem == text &&
           e.build == cache::generator_build_id();
  };
  if (std::ranges::none_of(entries_, ours)) return std::nullopt;
  const auto warn = [&](MRange bucket, const std::string& why) {
    if (log)
      log(LogLevel::warning, fmt::format("tuning database: the Config for {} rows {} to {} is not used: {}",
                                         text, bucket.first, bucket.last, why));
  };
  const auto tuned = [&](MRange bucket, const std::string& own) -> std::optional<templates::Config> {
    std::optional<std::string> config;
    bool known = false;
    for (const std::string& of : ids) {
      known = known || best(of, cache::generator_build_id(), text, bucket).has_value();
      if (!config) config = best(of, cache::generator_build_id(), text, bucket, own);
    }
    if (known && !config)
      warn(bucket, "it was not timed against selection's choice, " + own + "; run `wavejit tune` again");
    if (!config) return std::nullopt;
    auto parsed = templates::parse_config(*config);
    if (parsed) parsed = templates::normalise(*parsed, problem, target);
    if (parsed) return *parsed;
    warn(bucket, parsed.error().message);
    return std::nullopt;
  };
  std::vector<templates::Selection> result;
  bool any = false;
  for (const templates::Selection& s : selections)
    for (std::int64_t m = s.first; m <= s.last;) {
      const MRange bucket = tuning_bucket(m);
      const std::int64_t end = std::min(bucket.last, s.last);
      const auto config = tuned(bucket, templates::canonical(s.config));
      any = any || config.has_value();
      const templates::Config& taken = config ? *config : s.config;
      if (!result.empty() && templates::canonical(result.back().config) == templates::canonical(taken)) {
        result.back().last = end;
      } else {
        result.push_back({m, end, taken});
      }
      m = end + 1;
    }
  return any ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace wavejit::engine
