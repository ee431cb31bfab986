// SPDX-License-Identifier: MIT
#include "runtime/engine/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace wavejit::engine {
namespace {

constexpr auto table = std::to_array<Variable>({
    {"WAVEJIT_DEVICE",
     "device to open: auto (the first GPU; an error without one), hip, hip:N, sim, sim:TARGET; several with "
     "commas"},
    {"WAVEJIT_HIP_LIBRARY",
     "the HIP runtime to use in place of the one that the process has mapped or the loader finds"},
    {"WAVEJIT_HIPRTC_LIBRARY", "the hiprtc to use, likewise"},
    {"WAVEJIT_CACHE_DIR",
     "folder of the disk cache; `off` = none (default: $XDG_CACHE_HOME/wavejit, "
     "else ~/.cache/wavejit)"},
    {"WAVEJIT_CACHE_BYTES", "size limit of the disk cache in bytes"},
    {"WAVEJIT_BUNDLES", "bundle files to open before any cache, separated by colons"},
    {"WAVEJIT_OVERRIDE_DIR", "folder of edited .s files that replace generated kernels"},
    {"WAVEJIT_TUNING_DB", "database of measured choices made by `wavejit tune`"},
    {"WAVEJIT_DUMP_DIR", "folder to which compiled kernels are written (.s, .hsaco, .key)"},
    {"WAVEJIT_GENERIC", "1: kernels for a GPU's whole family (gfx11-generic) where there is one"},
    {"WAVEJIT_THREADS", "threads that prepare kernels in the background"},
    {"WAVEJIT_LOG",
     "log level: debug, info, warning, off; without a log function, to standard error; gives way to a level "
     "other "
     "than info that the program sets"},
    {"WAVEJIT_SIM_PORTABLE", "1: the simulator uses no AVX2 (for tests; read once)"},
    {"XDG_CACHE_HOME", "as the XDG base directory specification says"},
});

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == 0) return std::nullopt;
  return std::string(value);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

template <class T>
void set_number(const char* name, T& option, const LogFunction& log) {
  const auto value = variable(name);
  if (!value || option != 0) return;
  T number = 0;
  const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
  if (error == std::errc{} && end == value->data() + value->size()) {
    option = number;
  } else if (log) {
    log(LogLevel::warning, fmt::format("{} is {}, but must be a whole number; it is ignored", name, *value));
  }
}

void set_log(EngineOptions& options) {
  const auto value = variable("WAVEJIT_LOG");
  if (!value) return;
  const bool left = options.log_level == EngineOptions{}.log_level;
  if (*value == "off") {
    if (left) options.log = nullptr;
    return;
  }
  constexpr std::array<std::pair<std::string_view, LogLevel>, 3> levels{
      {{"debug", LogLevel::debug}, {"info", LogLevel::info}, {"warning", LogLevel::warning}}};
  const auto* level = std::ranges::find(levels, *value, &std::pair<std::string_view, LogLevel>::first);
  if (level == levels.end()) {
    if (options.log)
      options.log(
          LogLevel::warning,
          fmt::format("WAVEJIT_LOG is {}, but must be debug, info, warning or off; it is ignored", *value));
    return;
  }
  if (left) options.log_level = level->second;
  // Somebody who sets the variable wants to see something even where the server passes no function. This is
  // the one place where the library writes to a stream, and only when asked to.
  if (!options.log)
    options.log = [](LogLevel, std::string_view text) {
      std::fprintf(stderr, "wavejit: %.*s\n", static_cast<int>(text.size()), text.data());
    };
}

}  // namespace

std::span<const Variable> variables() { return table; }

void apply_environment(EngineOptions& options) {
  set_log(options);
  if (options.devices.empty() && options.opened.empty())
    if (const auto value = variable("WAVEJIT_DEVICE")) options.devices = split(*value, ',');
  if (!options.cache_folder)
    if (const auto value = variable("WAVEJIT_CACHE_DIR"))
      options.cache_folder = *value == "off" ? "" : *value;
  if (options.bundles.empty())
    if (const auto value = variable("WAVEJIT_BUNDLES")) options.bundles = split(*value, ':');
  if (options.override_folder.empty())
    options.override_folder = variable("WAVEJIT_OVERRIDE_DIR").value_or("");
  if (options.tuning_database.empty()) options.tuning_database = variable("WAVEJIT_TUNING_DB").value_or("");
  if (options.dump_folder.empty()) options.dump_folder = variable("WAVEJIT_DUMP_DIR").value_or("");
  if (variable("WAVEJIT_GENERIC") == "1") options.generic = true;
  set_number("WAVEJIT_CACHE_BYTES", options.cache_bytes, options.log);
  set_number("WAVEJIT_THREADS", options.threads, options.log);
}

}  // namespace wavejit::engine
