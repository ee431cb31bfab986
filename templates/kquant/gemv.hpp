// SPDX-License-Identifier: MIT
// Private to the K-quant family: the product as kernel IR.
#pragma once

#include "templates/kquant/kquant.hpp"

namespace wavejit::templates::kquant {

/// Before any pass. Problem and Config are normalised.
ir::Kernel build(const Problem& problem, const Config& config, const target::Target& target);

}  // namespace wavejit::templates::kquant
