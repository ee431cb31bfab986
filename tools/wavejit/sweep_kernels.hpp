// SPDX-License-Identifier: MIT
// Kernels that a sweep compiles: each once, however many problems and targets want it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "generator/target/target.hpp"
#include "templates/kernel.hpp"

namespace wavejit::tools {

/// The first target of all() whose kernels can be generated just when this one's can: its table says the same
/// but for the name, the numbers of the machine and of compute units, the rates that only choices read, and a
/// hazard (trans_use) whose waits are put in after registers are assigned. Kernels of a family
/// (gfx11-generic) and of one GPU otherwise differ in the header of the file alone.
const target::Target& same_code(const target::Target& target);

/// Two requests with one text get one kernel: everything that it is made of, and nothing else.
std::string kernel_key(const templates::Problem& problem, const templates::Config& config, unsigned stage,
                       const target::Target& target);

class SweptKernels {
 public:
  struct Answer {
    bool compiled = false;       ///< now; false: it was there
    std::optional<Error> error;  ///< of generate(), the same for all who ask
  };
  /// `problem` and `config` normalised. From any thread.
  Answer get(const templates::Problem& problem, const templates::Config& config, unsigned stage,
             const target::Target& target);

 private:
  struct Entry {
    std::once_flag once;
    std::optional<Error> error;
  };
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Entry>, std::less<>> entries_;
};

}  // namespace wavejit::tools
