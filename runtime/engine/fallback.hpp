// SPDX-License-Identifier: MIT
// Internal: the plain HIP kernel of templates/hip/w4a16_gemm.hip, compiled by hiprtc, for problems that no
// kernel family serves: other targets, groups or K that the families refuse, K = 0. Right, not fast.
#pragma once

#include "runtime/cache/record.hpp"
#include "runtime/device/device.hpp"
#include "runtime/engine/engine.hpp"

namespace wavejit::engine::fallback {

/// Workgroup tile: rows and columns.
inline constexpr std::uint32_t tile = 16;
/// Rows lie along grid y.
inline constexpr std::int64_t most_rows = 65535 * std::int64_t{tile};

/// Fills in strides and group and checks every field. Errors: invalid_problem, unsupported.
Result<templates::Problem> normalise(const templates::Problem& problem);

/// `problem` normalised. Errors: unknown_target.
Result<cache::Key> key(const templates::Problem& problem, const device::Info& device);
Layout layout(const templates::Problem& problem);
/// A Record. Errors: hiprtc.
Result<cache::Bytes> compile(const templates::Problem& problem, const device::Info& device);
/// Whether a record is this kernel for this device. Errors: invalid_code_object.
Result<void> agrees(const cache::Record& record, const device::Info& device);

}  // namespace wavejit::engine::fallback
