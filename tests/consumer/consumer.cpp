// SPDX-License-Identifier: MIT
// A C++ program against an installed wavejit, linked to the shared library or to the archive.
#include <cstdio>

#include "runtime/engine/engine.hpp"
#include "runtime/repack/repack.hpp"

int main() {
  wavejit::EngineOptions options;
  options.devices = {"sim:gfx1151"};
  options.cache_folder = "";
  auto engine = wavejit::Engine::create(options);
  if (!engine) return std::fprintf(stderr, "%s\n", engine.error().message.c_str()), 1;
  wavejit::templates::Problem problem;
  problem.n = 32;
  problem.k = 64;
  problem.group = 32;
  const auto plan = (*engine)->prepare(problem, {1, 16});
  if (!plan) return std::fprintf(stderr, "%s\n", plan.error().message.c_str()), 1;
  if (plan->workspace_bytes(3) != 0U || plan->variants().empty()) return 1;
  if (plan->launch(nullptr, {}).error().code != wavejit::ErrorCode::invalid_argument) return 1;
  using namespace wavejit::repack;
  if (recommended_stride(PaddingRule::none, PaddedTensor::weights, 64) != 64) return 1;
  std::printf("%s on %s\n", plan->variants().front().kernel.c_str(),
              (*engine)->device()->info().target.c_str());
  return 0;
}
