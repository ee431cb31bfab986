// SPDX-License-Identifier: MIT
// How a test steers the simulated HIP driver. These functions are exported by each library beside HIP's;
// get them with dlsym. The environment's WAVEJIT_FAKE_HIP holds commands that are obeyed at the start.
//
// Commands, separated by ';':
//   devices TARGET…            all state is forgotten; these devices ("gfx942:sramecc+:xnack-"), or none
//   fail FUNCTION CODE COUNT   the next COUNT calls of a HIP function return CODE and do nothing else
#pragma once

extern "C" {
/// 0, or -1 when a command was not understood.
int wavejit_fake_hip(const char* commands);
/// Calls of a HIP function since the start.
long wavejit_fake_hip_calls(const char* function);
/// Modules that are loaded.
long wavejit_fake_hip_modules();
/// Launches of a graph node whose module had been unloaded: a crash with a real driver.
long wavejit_fake_hip_used_after_unload();
/// What the simulator found when hipStreamSynchronize last said hipErrorLaunchFailure.
const char* wavejit_fake_hip_last_fault();
}
