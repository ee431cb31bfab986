// SPDX-License-Identifier: MIT
#include "tools/wavejit/launch_file.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/support/json.hpp"
#include "tools/wavejit/files.hpp"

namespace wavejit::tools {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

std::unexpected<Error> bad(std::string field, const Json& given, std::string allowed) {
  return fail_field(ErrorCode::invalid_argument, std::move(field), given.dump(), std::move(allowed));
}

/// Bytes of a scalar as written: integers little-endian, floats as f32, strings as hex integers.
Result<std::array<std::uint8_t, 8>> scalar_bytes(const std::string& field, const Json& value) {
  std::array<std::uint8_t, 8> out{};
  std::uint64_t bits = 0;
  if (value.is_number_unsigned()) {
    bits = value.get<std::uint64_t>();
  } else if (value.is_number_integer()) {
    bits = static_cast<std::uint64_t>(value.get<std::int64_t>());
  } else if (value.is_number_float()) {
    const auto f = value.get<float>();
    std::uint32_t word = 0;
    std::memcpy(&word, &f, sizeof word);
    bits = word;
  } else if (value.is_string()) {
    const auto text = value.get<std::string>();
    std::size_t used = 0;
    try {
      bits = std::stoull(text, &used, 0);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != text.size()) return bad(field, value, "a number or a string like \"0x1F\"");
  } else {
    return bad(field, value, "a number or a string like \"0x1F\"");
  }
  for (unsigned i = 0; i < 8; ++i) out[i] = static_cast<std::uint8_t>(bits >> (8 * i));
  return out;
}

Result<std::array<std::uint32_t, 3>> triple(const std::string& field, const Json& root) {
  std::array<std::uint32_t, 3> out{1, 1, 1};
  if (!root.contains(field)) return out;
  const Json& j = root.at(field);
  if (!j.is_array() || j.empty() || j.size() > 3) return bad(field, j, "one to three positive integers");
  for (std::size_t i = 0; i < j.size(); ++i) {
    if (!j[i].is_number_unsigned() || j[i].get<std::uint64_t>() == 0 ||
        j[i].get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max())
      return bad(field, j, "one to three positive integers");
    out[i] = j[i].get<std::uint32_t>();
  }
  return out;
}

Result<std::uint64_t> whole(const std::string& field, const Json& value, std::uint64_t most) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most)
    return bad(field, value, fmt::format("an integer of 0 to {}", most));
  return value.get<std::uint64_t>();
}

Result<ElementType> type_of(const std::string& field, const Json& value) {
  const auto type = value.is_string() ? element_type(value.get<std::string>()) : std::nullopt;
  if (!type) return bad(field, value, "\"bf16\", \"f16\", \"f32\", \"u8\" or \"u32\"");
  return *type;
}

Result<Expectation> expectation(const std::string& where, const Json& j, const fs::path& folder) {
  Expectation e;
  if (!j.is_object() || !j.contains("file") || !j["file"].is_string())
    return bad(where + ".expect", j, "an object with \"file\", \"dtype\", \"atol\" and \"rtol\"");
  e.file = folder / j["file"].get<std::string>();
  if (j.contains("dtype")) {
    const auto type = type_of(where + ".expect.dtype", j["dtype"]);
    if (!type) return std::unexpected(type.error());
    e.type = *type;
  }
  for (const auto& [key, target] : {std::pair{"atol", &e.atol}, std::pair{"rtol", &e.rtol}}) {
    if (!j.contains(key)) continue;
    if (!j[key].is_number()) return bad(where + ".expect." + key, j[key], "a number");
    *target = j[key].get<double>();
  }
  return e;
}

Result<void> buffer(LaunchArgument& a, const std::string& where, const Json& j, const fs::path& folder) {
  using Source = LaunchArgument::Source;
  unsigned sources = 0;
  if (j.contains("file")) {
    if (!j["file"].is_string()) return bad(where + ".file", j["file"], "a path");
    a.source = Source::file;
    a.file = folder / j["file"].get<std::string>();
    ++sources;
  }
  if (j.contains("random")) {
    const auto type = type_of(where + ".random", j["random"]);
    if (!type) return std::unexpected(type.error());
    a.source = Source::random;
    a.random_type = *type;
    ++sources;
  }
  if (j.contains("fill")) {
    const auto value = whole(where + ".fill", j["fill"], 255);
    if (!value) return std::unexpected(value.error());
    a.source = Source::fill;
    a.fill = static_cast<std::uint8_t>(*value);
    ++sources;
  }
  if (j.contains("undefined")) ++sources;
  if (sources != 1)
    return bad(where, j, "given by exactly one of value, null, file, random, fill, undefined");
  for (const auto& [key, most] :
       {std::pair{"bytes", std::uint64_t{1} << 40}, std::pair{"seed", ~std::uint64_t{0}},
        std::pair{"alignment", std::uint64_t{1} << 20}}) {
    if (!j.contains(key)) continue;
    const auto value = whole(where + "." + key, j[key], most);
    if (!value) return std::unexpected(value.error());
    if (std::string_view(key) == "bytes") a.bytes = *value;
    if (std::string_view(key) == "seed") a.seed = *value;
    if (std::string_view(key) == "alignment") a.alignment = static_cast<std::uint32_t>(*value);
  }
  if (a.bytes == 0 && a.source != Source::file)
    return bad(where + ".bytes", a.bytes, "the buffer's size, at least 1");
  if (j.contains("output")) {
    if (!j["output"].is_string()) return bad(where + ".output", j["output"], "a path");
    a.output = folder / j["output"].get<std::string>();
  }
  if (j.contains("expect")) {
    auto e = expectation(where, j["expect"], folder);
    if (!e) return std::unexpected(e.error());
    a.expect = std::move(*e);
  }
  return {};
}

Result<LaunchArgument> argument(std::size_t index, const Json& j, const fs::path& folder) {
  const std::string where = fmt::format("args[{}]", index);
  if (!j.is_object()) return bad(where, j, "an object");
  LaunchArgument a;
  if (j.contains("name")) {
    if (!j["name"].is_string()) return bad(where + ".name", j["name"], "a string");
    a.name = j["name"].get<std::string>();
  }
  if (j.contains("value")) {
    const auto bits = scalar_bytes(where + ".value", j["value"]);
    if (!bits) return std::unexpected(bits.error());
    a.source = LaunchArgument::Source::scalar;
    a.scalar = *bits;
    return a;
  }
  if (j.contains("null")) {
    a.source = LaunchArgument::Source::null;
    return a;
  }
  if (auto ok = buffer(a, where, j, folder); !ok) return std::unexpected(ok.error());
  return a;
}

}  // namespace

std::optional<ElementType> element_type(const std::string& name) {
  if (name == "u8") return ElementType::u8;
  if (name == "u32") return ElementType::u32;
  if (name == "bf16") return ElementType::bf16;
  if (name == "f16") return ElementType::f16;
  if (name == "f32") return ElementType::f32;
  return std::nullopt;
}

unsigned bytes(ElementType type) {
  if (type == ElementType::u8) return 1;
  return type == ElementType::bf16 || type == ElementType::f16 ? 2 : 4;
}

Result<LaunchFile> read_launch_file(const fs::path& path) {
  const auto text = read_file(path, most_json_bytes);
  if (!text) return std::unexpected(text.error());
  const auto parsed = parse_json<Json>(*text);
  if (!parsed || !parsed->is_object())
    return fail_field(ErrorCode::invalid_argument, "args",
                      parsed ? path.string() : path.string() + ", " + parsed.error(), "a JSON object");
  const Json& root = *parsed;
  LaunchFile launch;
  if (root.contains("kernel")) {
    if (!root["kernel"].is_string()) return bad("kernel", root["kernel"], "a kernel's name");
    launch.kernel = root["kernel"].get<std::string>();
  }
  const auto grid = triple("grid", root), block = triple("block", root);
  if (!grid) return std::unexpected(grid.error());
  if (!block) return std::unexpected(block.error());
  launch.grid = *grid;
  launch.block = *block;
  if (root.contains("dynamic_lds_bytes")) {
    const auto lds = whole("dynamic_lds_bytes", root["dynamic_lds_bytes"], 1U << 20);
    if (!lds) return std::unexpected(lds.error());
    launch.dynamic_lds_bytes = static_cast<std::uint32_t>(*lds);
  }
  if (!root.contains("args") || !root["args"].is_array())
    return bad("args", root.contains("args") ? root["args"] : Json(),
               "an array with an entry per kernel argument");
  for (std::size_t i = 0; i < root["args"].size(); ++i) {
    auto a = argument(i, root["args"][i], path.parent_path());
    if (!a) return std::unexpected(a.error());
    launch.arguments.push_back(std::move(*a));
  }
  return launch;
}

Result<std::vector<BoundArgument>> bind(const lower::DecodedKernel& kernel, const LaunchFile& launch) {
  std::vector<BoundArgument> bound;
  for (const lower::ArgMetadata& a : kernel.args)
    if (!a.value_kind.starts_with("hidden_")) bound.push_back({&a, nullptr});
  if (bound.size() != launch.arguments.size())
    return fail_field(ErrorCode::invalid_argument, "args", fmt::format("{} entries", launch.arguments.size()),
                      fmt::format("{} for kernel {}", bound.size(), kernel.name));
  std::size_t next = 0;
  for (const LaunchArgument& given : launch.arguments) {
    BoundArgument* slot = nullptr;
    if (!given.name.empty())
      for (BoundArgument& b : bound)
        if (b.metadata->name == given.name) slot = &b;
    while (slot == nullptr && next < bound.size()) {
      if (bound[next].given == nullptr) slot = &bound[next];
      ++next;
    }
    if (slot == nullptr || slot->given != nullptr)
      return fail_field(ErrorCode::invalid_argument, "args", "'" + given.name + "' twice",
                        "one entry per argument");
    const bool scalar = given.source == LaunchArgument::Source::scalar;
    const bool pointer = slot->metadata->value_kind == "global_buffer";
    if (!scalar && !pointer)
      return fail_field(ErrorCode::invalid_argument,
                        fmt::format("argument at offset {}", slot->metadata->offset), "a buffer",
                        "a scalar (value_kind " + slot->metadata->value_kind + ")");
    slot->given = &given;
  }
  return bound;
}

}  // namespace wavejit::tools
