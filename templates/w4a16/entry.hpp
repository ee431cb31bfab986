// SPDX-License-Identifier: MIT
// Private to the W4A16 families: how their kernels begin. Workgroup id x counts tiles of rows, y of columns.
#pragma once

#include <vector>

#include "generator/ir/builder.hpp"

namespace wavejit::templates::w4a16 {

/// Registers that hardware fills: kernarg pointer, workgroup ids x and y, work-item id.
void enter(ir::Builder& b);

struct WorkgroupIds {
  isa::Operand x, y;
};
/// Both ids by themselves; call in the first block.
WorkgroupIds workgroup_ids(ir::Builder& b);

/// All pointers in as few scalar loads as they take, four at most in one; SGPR pairs in argument order.
std::vector<isa::Operand> load_pointers(ir::Builder& b);

}  // namespace wavejit::templates::w4a16
