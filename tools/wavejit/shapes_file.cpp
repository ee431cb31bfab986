// SPDX-License-Identifier: MIT
#include "tools/wavejit/shapes_file.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/support/json.hpp"
#include "tools/wavejit/files.hpp"

namespace wavejit::tools {
namespace {

using Json = nlohmann::ordered_json;

std::unexpected<Error> bad(const std::string& place, const std::string& field, std::string given,
                           std::string allowed) {
  Error error = fail_field(ErrorCode::invalid_argument, field, std::move(given), std::move(allowed)).error();
  error.message = place + ": " + error.message;
  return std::unexpected(std::move(error));
}

std::string plain(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::string as_flag(std::string field) {
  std::ranges::replace(field, '_', '-');
  return "--" + field;
}

/// What one would type for this field. A list of texts repeats the flag, a list of numbers is one value.
std::vector<std::string> as_flags(const std::string& field, const Json& value) {
  const std::string flag = as_flag(field);
  if (!value.is_array()) return {flag + "=" + plain(value)};
  if (std::ranges::all_of(value, [](const Json& v) { return v.is_string(); })) {
    std::vector<std::string> all;
    for (const Json& v : value) all.push_back(flag + "=" + plain(v));
    return all;
  }
  std::string joined;
  for (const Json& v : value) joined += (joined.empty() ? "" : ",") + plain(v);
  return {flag + "=" + joined};
}

Result<void> read_rows(const Json& m, ShapeItem& item) {
  const auto rows = [](const Json& v) { return v.is_number_integer() && v.get<std::int64_t>() >= 1; };
  if (rows(m)) {
    item.first = item.last = m.get<std::int64_t>();
  } else if (m.is_array() && m.size() == 2 && rows(m[0]) && rows(m[1]) && m[0] <= m[1]) {
    item.first = m[0].get<std::int64_t>();
    item.last = m[1].get<std::int64_t>();
  } else {
    return bad(item.place, "m", m.dump(),
               "a number of rows, or the first and the last of a range: [1, 2048]");
  }
  return {};
}

Result<ShapeItem> read_item(const Json& json, std::string place) {
  ShapeItem item;
  item.place = std::move(place);
  if (!json.is_object())
    return bad(item.place, "item", json.dump(), "an object with the fields of a problem");
  if (!json.contains("m")) return bad(item.place, "m", "missing", "given: 16, or [1, 2048]");
  CLI::App app;
  app.set_help_flag();
  add_problem_options(app, item.options);
  std::vector<std::string> flags;
  for (const auto& [field, value] : json.items()) {
    if (field == "target") return bad(item.place, "target", plain(value), "left out: --arch says it");
    if (field == "m") {
      if (auto ok = read_rows(value, item); !ok) return std::unexpected(ok.error());
      continue;
    }
    if (app.get_option_no_throw(as_flag(field)) == nullptr)
      return bad(item.place, field, plain(value),
                 "left out: `wavejit emit --help` lists the fields of a problem and its Config");
    for (std::string& flag : as_flags(field, value)) flags.push_back(std::move(flag));
  }
  std::ranges::reverse(flags);  // CLI11 takes them last first
  try {
    app.parse(flags);
  } catch (const CLI::ParseError& error) {
    return fail(ErrorCode::invalid_argument, fmt::format("{}: {}", item.place, error.what()));
  }
  return item;
}

}  // namespace

Result<std::vector<ShapeItem>> read_shapes(const std::filesystem::path& path) {
  const auto bytes = read_file(path, most_json_bytes);
  if (!bytes) return std::unexpected(bytes.error());
  const auto parsed = parse_json<Json>(*bytes);
  const std::string file = path.filename().string();
  if (!parsed) return fail(ErrorCode::invalid_argument, file + " is " + parsed.error());
  const Json& json = *parsed;
  if (json.is_object())
    for (const auto& [key, value] : json.items())
      if (key != "shapes") return bad(file, key, "given", "left out: the list is under \"shapes\"");
  const Json& list = json.is_object() && json.contains("shapes") ? json["shapes"] : json;
  if (!list.is_array() || list.empty())
    return bad(file, "shapes", "no list", "a list of problems, one at least");
  std::vector<ShapeItem> items;
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto item = read_item(list[i], fmt::format("{}, item {}", file, i + 1));
    if (!item) return std::unexpected(item.error());
    items.push_back(*std::move(item));
  }
  return items;
}

}  // namespace wavejit::tools
