// SPDX-License-Identifier: MIT
// What `wavejit explain` speaks of: a kernel generated for a problem, or a file, with everything that the
// model needs to know of it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "generator/lower/lower.hpp"
#include "generator/model/estimate.hpp"
#include "tools/wavejit/options.hpp"

namespace wavejit::tools {

struct Subject {
  std::string name;   ///< of the file or the shape
  std::string about;  ///< problem, Config, where addresses came from
  const target::Target* target = nullptr;
  lower::DecodedKernel kernel;  ///< lines refer to kernel.source, or to the text that emit would write
  std::vector<isa::Instruction> code;
  model::KernelFacts facts;
  std::vector<model::AccessNote> notes;
  bool simulated = false;                   ///< `notes` are from simulated addresses
  std::optional<model::LaunchShape> shape;  ///< unset: only the loop can be spoken of
  double others_us = 0;                     ///< modelled time of the launch's other kernels
  unsigned kernels = 1;                     ///< of the launch
  std::int64_t bm = 0, bn = 0, bk = 0;      ///< tile; 0 = not known
  std::int64_t m = 0, n = 0, k = 0;
};

/// A launch to be assumed for a file that does not name one.
struct AssumedSizes {
  std::optional<std::int64_t> m, n, k;
  std::filesystem::path args;  ///< launch file of `wavejit run`; goes before all else
};

/// Generates. Errors: those of generate(), simulator, model.
Result<Subject> subject_of(const Job& job, std::string name);

/// `.hsaco` or `.s` at `path`: with a JSON description beside it in the format of shared/peers (launched as
/// that says, or for `sizes`), with a launch file, with the header of our own `.s`, or without any: then no
/// address is known.
/// Errors: io, those of assembler, decoder and simulator.
Result<Subject> subject_of(const std::filesystem::path& path, const target::Target& target,
                           const AssumedSizes& sizes);

}  // namespace wavejit::tools
