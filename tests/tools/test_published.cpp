// SPDX-License-Identifier: MIT
// `wavejit published`: its rows are the published ones, and every derived figure follows from the stated
// ones. Nothing here knows which Config is selected.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/tools/cli.hpp"
#include "tools/wavejit/published_rows.hpp"

namespace wavejit::test {
namespace {

using tools::PublishedTable;

/// Half a unit of the last digit given.
bool rounds_to(double value, double published, double digit) {
  return std::abs(value - published) <= 0.5 * digit * 1.001;
}

double number(const nlohmann::json& j, const char* name) { return j.at(name).get<double>(); }

// The published columns hang together: that pull request computes GB/s and TFLOP/s from its microseconds. A
// mistyped figure breaks the identity.
TEST_CASE("published rows agree with themselves", "[published]") {
  std::map<PublishedTable, int> count;
  for (const tools::PublishedRow& r : tools::published_rows()) {
    CAPTURE(tools::name(r.table), r.sets, r.m, r.n, r.k);
    ++count[r.table];
    const double n = static_cast<double>(r.n), k = static_cast<double>(r.k), m = static_cast<double>(r.m);
    if (r.table == PublishedTable::decode) {
      const double bytes = n * k / 2 + 4 * n * k / 64 + 2 * m * k + 2 * m * n + 8 * r.split_k * m * n;
      CHECK(rounds_to(bytes / r.us * 1e-3, r.rate, 1));
    } else if (r.us > 0) {
      const double flop = 2 * static_cast<double>(r.sets) * m * n * k;
      // The microseconds are rounded too.
      CHECK(flop / r.us * 1e-6 == Approx(r.rate).margin(0.05 + r.rate * 0.05 / r.us));
    }
  }
  CHECK(count[PublishedTable::decode] == 8);
  CHECK(count[PublishedTable::prefill] == 3);
  CHECK(count[PublishedTable::grouped] == 8);
  CHECK(count[PublishedTable::batched] == 6);
}

using DramRates = std::map<std::string, double>;

DramRates dram_rates(const nlohmann::json& json) {
  DramRates rates;
  for (const auto& t : json.at("targets")) rates[t.at("target")] = number(t, "dram_gigabytes_per_s");
  return rates;
}

/// Times, rates, shares and ratios follow from the stages and the shape. MI300X: 304 compute units of four
/// SIMDs, 512 bf16 operations a clock; MI350X: 256, 1024.
void check_derived(const nlohmann::json& row, double gap, double dram) {
  const bool mi350x = row.at("target") == "gfx950";
  const double peak = mi350x ? 256 * 4 * 1024 * 1360e-6 : 304 * 4 * 512 * 2100e-6;
  double time = 0, strict = 0;
  unsigned stage = 0;
  for (const auto& s : row.at("stages")) {
    const double computing = number(s, "computing_us"), bytes = number(s, "dram_us");
    // The second stage reads partial sums from the MALL: 7.3 and 8.5 TB/s.
    const double written = 2 * number(row, "sets") * number(row, "m") * number(row, "n");
    CHECK(bytes ==
          Approx(stage == 0
                     ? number(s, "dram_bytes") / dram * 1e-3
                     : std::max(written / dram, number(s, "dram_bytes") / (mi350x ? 8500 : 7300)) * 1e-3));
    ++stage;
    CHECK((s.at("binds") == "DRAM") == (bytes > computing));
    CHECK(number(s, "ramp_us") > 0);
    CHECK(number(s, "tail_us") > 0);
    time += std::max(computing, bytes);
    strict += std::max({computing, bytes, bytes + number(s, "ramp_us") + number(s, "tail_us")});
  }
  const double call = time + gap * static_cast<double>(row.at("stages").size());
  const double product = number(row, "sets") * number(row, "n") * number(row, "k");
  const double tflops = 2 * number(row, "m") * product / time * 1e-6;
  CHECK(number(row, "time_us") == Approx(time));
  CHECK(number(row, "strict_us") == Approx(strict));
  CHECK(number(row, "call_us") == Approx(call));
  CHECK(number(row, "gigabytes_per_s") == Approx(product / 2 / time * 1e-3));
  CHECK(number(row, "dram_share") == Approx(product / 2 / time * 1e-3 / dram));
  CHECK(number(row, "strict_dram_share") == Approx(product / 2 / strict * 1e-3 / dram));
  CHECK(number(row, "tflops") == Approx(tflops));
  CHECK(number(row, "peak_share") == Approx(tflops / peak));
  const auto& published = row.at("published");
  if (mi350x) {
    CHECK(number(published, "ratio") == Approx(number(published, "us") / call));
    CHECK(number(published, "strict_ratio") == Approx(number(published, "us") / (call - time + strict)));
  } else {  // they are of another GPU
    CHECK(published.at("ratio").is_null());
  }
}

TEST_CASE("every published row is modelled for both targets", "[cli][published]") {
  const Folder folder;
  const Ran ran = folder.wavejit("published --json -j 2");
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const auto json = ran.json();
  const auto& rows = json.at("rows");
  const auto published = tools::published_rows();
  REQUIRE(rows.size() == 2 * published.size());
  const DramRates dram = dram_rates(json);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& row = rows.at(i);
    const tools::PublishedRow& p = published[i % published.size()];
    INFO(row.dump(2));
    CHECK(row.at("target") == (i < published.size() ? "gfx942" : "gfx950"));
    CHECK(row.at("table") == tools::name(p.table));
    CHECK(row.at("sets") == p.sets);
    CHECK(row.at("m") == p.m);
    CHECK(row.at("n") == p.n);
    CHECK(row.at("k") == p.k);
    const auto& first = row.at("stages").at(0);
    const auto& counts = first.at("counts");
    CHECK(number(counts, "valu_per_weight") ==
          Approx(number(counts, "valu") / number(counts, "weights_of_a_lane")));
    CHECK(number(counts, "valu_per_weight") > 1);  // a weight is converted and packed
    CHECK(number(counts, "waits_for_all") <= number(counts, "vector_memory_waits"));
    CHECK(number(first, "vgprs") > 0);
    CHECK(number(first, "waves_per_simd") > 0);
    // No pipe is faster than its peak.
    CHECK(number(row, "peak_share") < 1);
    CHECK(number(row, "dram_share") < 1);
    check_derived(row, 0, dram.at(row.at("target")));
  }
}

TEST_CASE("a launch gap counts for each kernel of a call", "[cli][published]") {
  const Folder folder;
  const Ran ran = folder.wavejit("published --tables decode --json --launch-gap 2.5");
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const auto json = ran.json();
  CHECK(number(json, "launch_gap_us") == 2.5);
  const DramRates dram = dram_rates(json);
  for (const auto& row : json.at("rows")) {
    INFO(row.dump(2));
    CHECK(number(row, "call_us") >= number(row, "time_us") + 2.5);
    check_derived(row, 2.5, dram.at(row.at("target")));
  }
}

TEST_CASE("published names what it does not know", "[cli][published]") {
  const Folder folder;
  const Ran target = folder.wavejit("published --target gfx7 --json");
  CHECK(target.code == 2);
  CHECK(target.err.find("gfx7") != std::string::npos);
  CHECK(folder.wavejit("published --tables encode").code == 2);
  const Ran only = folder.wavejit("published --target gfx950 --only 3,4,5");
  CHECK(only.code == 2);
  CHECK(only.err.find("3,4,5") != std::string::npos);
  CHECK(folder.wavejit("published --config nonsense").code == 2);
  const Ran group = folder.wavejit("published --target gfx950 --tables prefill --group 96");
  CHECK(group.code == 2);
  CHECK(group.err.find("96") != std::string::npos);
}

// A Config goes out as text and comes back in: the same kernel.
TEST_CASE("a row can be asked for with another Config", "[cli][published]") {
  const Folder folder;
  const auto selected = folder.wavejit("published --target gfx950 --only 1,8192,3584 --json").json();
  REQUIRE(selected.at("rows").size() == 1);
  const auto& row = selected.at("rows").at(0);
  CHECK(row.at("m") == 1);
  CHECK(row.at("n") == 8192);
  const auto with = [&](const std::string& config) {
    const Ran ran =
        folder.wavejit("published --target gfx950 --only 1,8192,3584 --json --config '" + config + "'");
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    return ran.json().at("rows").at(0);
  };
  const auto same = with(row.at("config"));
  CHECK(same.at("config") == row.at("config"));
  CHECK(number(same, "time_us") == number(row, "time_us"));
  const std::string other =
      "mfma 32x64x128 waves 1x2 depth 1 unroll 1 lds 1 occupancy 0 split 1 techniques 11111";
  CHECK(with(other).at("config") == other);
}

TEST_CASE("the tables have a line for each row, in plain text and in Markdown", "[cli][published]") {
  const Folder folder;
  const Ran text = folder.wavejit("published --target gfx950 --tables decode");
  const Ran markdown = folder.wavejit("published --target gfx950 --tables decode --markdown");
  REQUIRE(text.code == 0);
  REQUIRE(markdown.code == 0);
  for (const char* published : {"15.6, 170", "27.3, 625", "75.0, 884"})
    for (const Ran* ran : {&text, &markdown}) CHECK(ran->out.find(published) != std::string::npos);
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = markdown.out.find("\n|", at)) != std::string::npos; ++at) ++lines;
  CHECK(lines == 2 + 8);  // head and rule
}

}  // namespace
}  // namespace wavejit::test
