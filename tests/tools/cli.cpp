// SPDX-License-Identifier: MIT
#include "tests/tools/cli.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace wavejit::test {
namespace {

namespace fs = std::filesystem;

std::string make_folder() {
  std::string path = (fs::temp_directory_path() / "wavejit-cli-XXXXXX").string();
  REQUIRE(::mkdtemp(path.data()) != nullptr);
  return path;
}

}  // namespace

nlohmann::json Ran::json() const {
  auto parsed = nlohmann::json::parse(out, nullptr, false);
  INFO(out << err);
  REQUIRE_FALSE(parsed.is_discarded());
  return parsed;
}

Folder::Folder() : path_(make_folder()), streams_(make_folder()) {}

Folder::~Folder() {
  fs::remove_all(path_);
  fs::remove_all(streams_);
}

std::vector<std::string> Folder::names() const {
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(path_)) all.push_back(entry.path().filename().string());
  std::ranges::sort(all);
  return all;
}

Ran Folder::wavejit(const std::string& arguments) const {
  return shell(fmt::format("{} {}", WAVEJIT_COMMAND, arguments));
}

Ran Folder::shell(const std::string& command) const {
  const std::string out = streams_ + "/out", err = streams_ + "/err";
  const int status =
      std::system(fmt::format("cd {} && {{ {} ; }} >{} 2>{} </dev/null", path_, command, out, err).c_str());
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1, .out = read_text(out), .err = read_text(err)};
}

std::string read_text(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace wavejit::test
