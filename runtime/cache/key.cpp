// SPDX-License-Identifier: MIT
#include "runtime/cache/key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <utility>

#include "generator/lower/lower.hpp"

namespace wavejit::cache {
namespace {

constexpr std::string_view first_line = "wavejit-key 1\n";

using Part = std::pair<std::string_view, std::string>;

/// Every part as text, sorted by name. parse_key() relies on this being all of them.
std::array<Part, 11> as_text(const KeyParts& p) {
  return {{{"build", p.build},
           {"code_object", std::to_string(p.code_object)},
           {"config", p.config},
           {"flags", p.flags},
           {"llvm", p.llvm},
           {"mode", p.wgp_mode ? "wgp" : "cu"},
           {"problem", p.problem},
           {"schema", std::to_string(p.schema)},
           {"stage", std::to_string(p.stage)},
           {"target_id", p.target_id},
           {"wave_size", std::to_string(p.wave_size)}}};
}

void append_escaped(std::string& out, std::string_view value) {
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    if (text[i] == '\\') {
      out += '\\';
    } else if (text[i] == 'n') {
      out += '\n';
    } else if (text[i] == 'x' && i + 2 < text.size()) {
      unsigned value = 0;
      const char* end = text.data() + i + 3;
      if (std::from_chars(text.data() + i + 1, end, value, 16).ptr != end) return std::nullopt;
      out += static_cast<char>(value);
      i += 2;
    } else {
      return std::nullopt;
    }
  }
  return out;
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool set(KeyParts& p, std::string_view name, std::string value) {
  const auto set_number = [&](std::uint32_t& to) {
    const auto parsed = number(value);
    to = parsed.value_or(0);
    return parsed.has_value();
  };
  if (name == "code_object") return set_number(p.code_object);
  if (name == "schema") return set_number(p.schema);
  if (name == "stage") return set_number(p.stage);
  if (name == "wave_size") return set_number(p.wave_size);
  if (name == "mode") {
    p.wgp_mode = value == "wgp";
    return true;
  }
  for (const auto& [text_name, field] : {std::pair{"build", &p.build},
                                         {"config", &p.config},
                                         {"flags", &p.flags},
                                         {"llvm", &p.llvm},
                                         {"problem", &p.problem},
                                         {"target_id", &p.target_id}})
    if (name == text_name) {
      *field = std::move(value);
      return true;
    }
  return false;
}

std::string llvm_text() {
  const std::string commit = lower::llvm_commit();
  return commit.empty() ? lower::llvm_version() : lower::llvm_version() + " " + commit;
}

}  // namespace

Result<std::string> canonical_target_id(std::string_view target_id) {
  const auto bad = [&](std::string allowed) {
    return fail_field(ErrorCode::unknown_target, "target_id", std::string(target_id), std::move(allowed));
  };
  std::string_view rest = target_id;
  const auto cut = [&rest] {
    const std::size_t colon = rest.find(':');
    const std::string_view part = rest.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
    return part;
  };
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  std::string out(cut());
  if (out.empty() || !std::ranges::all_of(out, plain)) return bad("a processor and features: gfx942:xnack-");
  if (target_id.ends_with(':')) return bad("without a colon at its end");
  std::vector<std::string_view> features;
  while (!rest.empty()) {
    const std::string_view feature = cut();
    const bool right = feature.size() >= 2 && (feature.back() == '+' || feature.back() == '-') &&
                       std::ranges::all_of(feature.substr(0, feature.size() - 1), plain);
    if (!right) return bad("such that each feature ends in + or -");
    features.push_back(feature);
  }
  std::ranges::sort(features);
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (i > 0 && features[i].substr(0, features[i].size() - 1) ==
                     features[i - 1].substr(0, features[i - 1].size() - 1))
      return bad("such that no feature is said twice");
    out += ':';
    out += features[i];
  }
  return out;
}

std::vector<std::string> compatible_target_ids(std::string_view target_id) {
  std::vector<std::string_view> features;
  const std::string_view processor = target_id.substr(0, target_id.find(':'));
  for (std::size_t at = processor.size(); at < target_id.size();) {
    const std::size_t end = std::min(target_id.find(':', at + 1), target_id.size());
    features.push_back(target_id.substr(at, end - at));
    at = end;
  }
  // No processor has more than a few; of an absurd number only all and none.
  constexpr std::size_t most = 8;
  if (features.size() > most) return {std::string(target_id), std::string(processor)};
  std::vector<std::pair<int, std::string>> all;
  for (unsigned set = 0; set < 1U << features.size(); ++set) {
    std::string id(processor);
    for (std::size_t i = 0; i < features.size(); ++i)
      if ((set >> i & 1) != 0) id += features[i];
    all.emplace_back(-std::popcount(set), std::move(id));
  }
  std::ranges::sort(all);
  std::vector<std::string> ids;
  for (auto& [fewest, id] : all) ids.push_back(std::move(id));
  return ids;
}

Result<KeyParts> key_parts(const templates::Problem& problem, const templates::Config& config,
                           const target::Target& target, std::string_view target_id, unsigned stage) {
  auto id = canonical_target_id(target_id);
  if (!id) return std::unexpected(id.error());
  if (id->substr(0, id->find(':')) != target.name)
    return fail_field(ErrorCode::unknown_target, "target_id", *id, fmt::format("of {}", target.name));
  KeyParts p;
  p.target_id = std::move(*id);
  p.wave_size = target.wave_size;
  p.wgp_mode = config.wgp_mode;
  p.llvm = llvm_text();
  p.build = generator_build_id();
  p.problem = templates::canonical(problem);
  p.config = templates::canonical(config);
  p.stage = stage;
  return p;
}

Key make_key(const KeyParts& parts) {
  std::string text(first_line);
  for (const auto& [part_name, value] : as_text(parts)) {
    text += part_name;
    text += '=';
    append_escaped(text, value);
    text += '\n';
  }
  return key_of_text(std::move(text));
}

Result<std::vector<Key>> device_keys(const templates::Problem& problem, const templates::Config& config,
                                     const target::Target& target, std::string_view target_id,
                                     unsigned stage) {
  auto parts = key_parts(problem, config, target, target_id, stage);
  if (!parts) return std::unexpected(parts.error());
  std::vector<Key> keys;
  for (std::string& id : compatible_target_ids(parts->target_id)) {
    parts->target_id = std::move(id);
    keys.push_back(make_key(*parts));
  }
  return keys;
}

Key key_of_text(std::string text) {
  const Digest d = digest(text);
  return {.text = std::move(text), .digest = d};
}

std::optional<KeyParts> parse_key(std::string_view text) {
  if (!text.starts_with(first_line)) return std::nullopt;
  KeyParts parts;
  for (std::string_view rest = text.substr(first_line.size()); !rest.empty();) {
    const std::size_t end = rest.find('\n'), equals = rest.find('=');
    if (end == std::string_view::npos || equals >= end) return std::nullopt;
    auto value = unescaped(rest.substr(equals + 1, end - equals - 1));
    if (!value || !set(parts, rest.substr(0, equals), std::move(*value))) return std::nullopt;
    rest.remove_prefix(end + 1);
  }
  // Order, completeness and spelling in one comparison.
  if (make_key(parts).text != text) return std::nullopt;
  return parts;
}

std::vector<Difference> differences(const KeyParts& ours, const KeyParts& theirs) {
  const auto a = as_text(ours), b = as_text(theirs);
  std::vector<Difference> out;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].second != b[i].second)
      out.push_back({.part = std::string(a[i].first), .ours = a[i].second, .theirs = b[i].second});
  return out;
}

std::string to_string(const std::vector<Difference>& all) {
  std::string out;
  for (const Difference& d : all)
    out += fmt::format("{}{} {} vs {}", out.empty() ? "" : ", ", d.part, d.ours, d.theirs);
  return out;
}

}  // namespace wavejit::cache
