// SPDX-License-Identifier: MIT
// The Destination of a kernel's Problem. Apart from repack.hpp so that repacking alone needs no templates.
#pragma once

#include "runtime/repack/repack.hpp"
#include "templates/problem.hpp"

namespace wavejit::repack {

/// The group and strides of a Problem, normalised or not.
inline Destination destination(const templates::Problem& problem) {
  Destination d;
  d.n = problem.n;
  d.k = problem.k;
  d.group = problem.group;
  d.scales = problem.activation == templates::DataType::bf16  ? Dtype::bf16
             : problem.activation == templates::DataType::f16 ? Dtype::f16
                                                              : Dtype::f32;  // which plan() refuses
  d.zero_points = problem.zero_points == templates::ZeroPoints::symmetric ? ZeroPoints::symmetric
                                                                          : ZeroPoints::asymmetric;
  d.weight_stride = problem.weight_stride;
  d.scale_stride = problem.scale_stride;
  d.zero_point_stride = problem.zero_point_stride;
  return d;
}

}  // namespace wavejit::repack
