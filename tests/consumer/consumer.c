/* SPDX-License-Identifier: MIT */
/* A small C11 program against an installed wavejit: prepares a problem, launches it, checks the result. Runs on
 * the simulator, or on the device that the first argument names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wavejit.h>

enum { M = 5, N = 48, K = 64, GROUP = 32 };

static int fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, wavejit_last_error());
  return 1;
}

static wavejit_tensor upload(wavejit_engine *engine, const void *data, uint64_t bytes, wavejit_type type,
                             int64_t rows, int64_t columns) {
  wavejit_tensor t = {0, bytes, type, 2, {rows, columns, 0, 0}, {0, 0, 0, 0}};
  if (wavejit_device_allocate(engine, 0, bytes, &t.address) != WAVEJIT_OK) exit(fail("allocate"));
  if (wavejit_device_copy_in(engine, 0, t.address, data, bytes) != WAVEJIT_OK) exit(fail("copy in"));
  return t;
}

int main(int argc, char **argv) {
  wavejit_engine_options options = WAVEJIT_ENGINE_OPTIONS_INIT;
  options.devices = argc > 1 ? argv[1] : "sim:gfx1151";
  options.cache_folder = "";
  wavejit_engine *engine = NULL;
  if (wavejit_engine_create(&options, &engine) != WAVEJIT_OK) return fail("create");

  wavejit_problem problem = WAVEJIT_PROBLEM_INIT;
  problem.n = N;
  problem.k = K;
  problem.group = GROUP;
  wavejit_plan *plan = NULL;
  if (wavejit_prepare(engine, &problem, 1, 16, 0, &plan) != WAVEJIT_OK) return fail("prepare");

  /* Ones, weights 8 + 1 = 9 in each nibble, scales 2: every output is K * 1 * 2 = 128, exact in bf16. */
  static uint16_t x[M * K], s[N * K / GROUP], out[M * N];
  static uint32_t w[N * K / 8];
  for (int i = 0; i < M * K; ++i) x[i] = 0x3F80;
  for (int i = 0; i < N * K / GROUP; ++i) s[i] = 0x4000;
  for (int i = 0; i < N * K / 8; ++i) w[i] = 0x99999999U;

  wavejit_arguments arguments;
  memset(&arguments, 0, sizeof arguments);
  arguments.struct_size = sizeof arguments;
  arguments.activations = upload(engine, x, sizeof x, WAVEJIT_BF16, M, K);
  arguments.weights = upload(engine, w, sizeof w, WAVEJIT_I32, N, K / 8);
  arguments.scales = upload(engine, s, sizeof s, WAVEJIT_BF16, N, K / GROUP);
  arguments.output = upload(engine, out, sizeof out, WAVEJIT_BF16, M, N);
  if (wavejit_plan_launch(plan, NULL, &arguments) != WAVEJIT_OK) return fail("launch");
  if (wavejit_device_synchronise(engine, 0, NULL) != WAVEJIT_OK) return fail("synchronise");
  if (wavejit_device_copy_out(engine, 0, out, arguments.output.address, sizeof out) != WAVEJIT_OK)
    return fail("copy out");
  for (int i = 0; i < M * N; ++i)
    if (out[i] != 0x4300) {
      fprintf(stderr, "output %d is %04x, but must be 4300\n", i, out[i]);
      return 1;
    }

  /* A wrong launch is refused with a reason. */
  arguments.weights.address += 1;
  if (wavejit_plan_launch(plan, NULL, &arguments) != WAVEJIT_INVALID_ARGUMENT ||
      strcmp(wavejit_last_error_field(), "weights") != 0)
    return fail("a misaligned tensor must be refused");
  printf("wavejit %s: %d x %d is right\n", wavejit_version(), M, N);
  wavejit_plan_release(plan);
  wavejit_engine_destroy(engine);
  return 0;
}
