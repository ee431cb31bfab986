// SPDX-License-Identifier: MIT
// Private to this floor: one maker per architecture. Files by family: rdna3.cpp, rdna4.cpp, cdna.cpp;
// simulated.cpp: those that only the simulator knows.
#pragma once

#include "generator/target/target.hpp"

namespace wavejit::target {

Target make_gfx11_generic();
Target make_gfx1100();
Target make_gfx1101();
Target make_gfx1102();
Target make_gfx1103();
Target make_gfx1150();
Target make_gfx1151();
Target make_gfx1152();
Target make_gfx1153();
Target make_gfx12_generic();
Target make_gfx1200();
Target make_gfx1201();
Target make_gfx942();
Target make_gfx950();
Target make_gfx90a();
Target make_gfx1030();

}  // namespace wavejit::target
