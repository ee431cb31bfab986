// SPDX-License-Identifier: MIT
// libFuzzer's program for all targets: $WAVEJIT_FUZZ names one. With $WAVEJIT_FUZZ_SEEDS it writes that
// target's seeds into the folder of that name and ends; without a target it lists them.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "tests/fuzz/targets.hpp"

namespace {

const wavejit::test::FuzzTarget* target = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const char* name = std::getenv("WAVEJIT_FUZZ");
  target = name == nullptr ? nullptr : wavejit::test::find_fuzz_target(name);
  if (target == nullptr) {
    for (const auto& t : wavejit::test::fuzz_targets()) std::cout << t.name << '\n';
    std::exit(name == nullptr ? 0 : 2);
  }
  const char* folder = std::getenv("WAVEJIT_FUZZ_SEEDS");
  if (folder == nullptr) return 0;
  std::size_t i = 0;
  for (const auto& seed : target->seeds())
    std::ofstream(std::filesystem::path(folder) / ("seed" + std::to_string(i++)), std::ios::binary)
        .write(reinterpret_cast<const char*>(seed.data()), static_cast<std::streamsize>(seed.size()));
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  target->take({data, size});
  return 0;
}
