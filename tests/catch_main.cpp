// SPDX-License-Identifier: MIT
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>
#include <map>

#include "tests/skip.hpp"

namespace wavejit::test {
namespace {

/// ctest calls a case skipped that ends so (tests/CMakeLists.txt), and a case failed that ends with 1.
constexpr int exit_skipped = 77;

std::string running;                         ///< name of the test case
std::map<std::string, std::string> skipped;  ///< name of a case and why
std::size_t cases = 0;

class Watch : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;
  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    running = info.name;
    ++cases;
  }
};
CATCH_REGISTER_LISTENER(Watch)

}  // namespace

void skip(const std::string& reason) {
  skipped.emplace(running, reason);
  throw Catch::TestFailureException();  // ends the case; without a failed assertion it counts as passed
}

std::filesystem::path shared(const std::string& part) {
  const char* given = std::getenv("WAVEJIT_SHARED");
  for (const std::filesystem::path& root : {std::filesystem::path(given != nullptr ? given : ""),
                                            std::filesystem::path(WAVEJIT_SOURCE) / "../shared"})
    if (!root.empty() && std::filesystem::exists(root / part)) return std::filesystem::canonical(root / part);
  skip("neither $WAVEJIT_SHARED nor ../shared holds " + part);
}

}  // namespace wavejit::test

int main(int argc, char** argv) {
  using namespace wavejit::test;
  const int failed = Catch::Session().run(argc, argv);
  for (const auto& [name, reason] : skipped) std::cout << "skipped: " << reason << " (" << name << ")\n";
  if (failed != 0) return 1;
  return cases != 0 && skipped.size() == cases ? exit_skipped : 0;
}
