// SPDX-License-Identifier: MIT
// Runs the built `wavejit` binary in a temporary folder.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace wavejit::test {

struct Ran {
  int code = -1;
  std::string out, err;
  /// The standard output as JSON; a failed test when it is none.
  [[nodiscard]] nlohmann::json json() const;
};

/// A fresh folder, removed at the end.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::vector<std::string> names() const;  ///< what is in it, sorted
  /// Runs `wavejit ARGUMENTS` in this folder, through the shell.
  [[nodiscard]] Ran wavejit(const std::string& arguments) const;
  /// Runs any shell command in this folder.
  [[nodiscard]] Ran shell(const std::string& command) const;

 private:
  std::string path_, streams_;  // output streams are kept beside the folder, not in it
};

std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& text);

}  // namespace wavejit::test
