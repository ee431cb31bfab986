// SPDX-License-Identifier: MIT
#include "tests/fake_hip/variant.hpp"

const int fake_hip_version = FAKE_HIP_VERSION;
