// SPDX-License-Identifier: MIT
// What differs between the libraries that are built of these sources; see CMakeLists.txt.
#pragma once

/// HIP_VERSION of this library.
extern const int fake_hip_version;
