// SPDX-License-Identifier: MIT
// Instruction vectors from outside (tests/data/sim/*_vectors.json name their origin): the bytes are
// disassembled by LLVM and executed on the simulator with the recorded registers, and the result is
// compared bit for bit, but that any NaN equals any NaN.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace wavejit::test {

struct VectorOutcome {
  enum class Kind {
    passed,
    differs,      ///< `detail`: registers with what came out and what is recorded
    refused,      ///< not decoded or not simulated; `detail`: the error
    high_half,    ///< the recorder noted another register than the instruction names
    lacks_input,  ///< the recorder missed a source; `detail`: the simulator's report of it
  };
  Kind kind = Kind::passed;
  std::string key;  ///< "test opcode"
  std::string op;
  std::string detail;
  bool compared_with_hardware = false;
};

/// The entries of tests/data/sim/`file`. Fails the running test when it cannot be read.
nlohmann::json load_vectors(std::string_view file);

VectorOutcome run_vector(const nlohmann::json& vector, std::string_view target);

}  // namespace wavejit::test
