// SPDX-License-Identifier: MIT
// Modelled times of many launches: each kernel is generated and played once per number of rows that its tile
// loads, whatever N, K and M it is asked about (its loop differs in constants only).
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "templates/candidates.hpp"
#include "tools/wavejit/model_kernel.hpp"

namespace wavejit::tools {

class ModelTable {
 public:
  explicit ModelTable(const target::Target& target) : target_(target) {}

  /// Microseconds of a launch. Errors: those of generate(), the simulator and the model. Any thread may call.
  Result<double> time_us(const templates::Problem& problem, const templates::Config& config, std::int64_t m);

 private:
  struct Entry {
    std::mutex mutex;
    std::optional<Result<model::Estimator>> estimator;
    std::int64_t peeled = 0;  ///< steps of bk along K outside the loop
  };
  const target::Target& target_;
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

}  // namespace wavejit::tools
