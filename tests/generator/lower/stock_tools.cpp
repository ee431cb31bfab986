// SPDX-License-Identifier: MIT
#include "tests/generator/lower/stock_tools.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/skip.hpp"

namespace wavejit::test {
namespace {

namespace fs = std::filesystem;

class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_((fs::temp_directory_path() / "wavejit-test-XXXXXX").string()) {
    REQUIRE(mkdtemp(path_.data()) != nullptr);
  }
  ~TemporaryDirectory() { fs::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::vector<std::uint8_t> read(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

std::vector<std::uint8_t> run_tool(const std::string& tool, const std::string& arguments,
                                   const std::vector<InputFile>& inputs) {
  if (std::system(fmt::format("command -v {} >/dev/null 2>&1", tool).c_str()) != 0)
    skip(tool + " is not installed");
  const TemporaryDirectory directory;
  std::string command = tool + " " + arguments;
  for (const InputFile& input : inputs) {
    const std::string path = directory.file(input.name);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(input.bytes.data()),
               static_cast<std::streamsize>(input.bytes.size()));
    replace_all(command, "{" + input.name + "}", path);
  }
  const std::string out = directory.file("out");
  const std::string messages = directory.file("messages");
  replace_all(command, "{out}", out);
  const int status = std::system(fmt::format("{} >{} 2>&1", command, messages).c_str());
  const std::vector<std::uint8_t> said = read(messages);
  INFO(command << "\n" << std::string(said.begin(), said.end()));
  REQUIRE(status == 0);
  return arguments.find("{out}") == std::string::npos ? said : read(out);
}

}  // namespace wavejit::test
