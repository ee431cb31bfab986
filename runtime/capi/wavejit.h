/* SPDX-License-Identifier: MIT */
/* wavejit's C interface (C11). From a quantised matrix product to a launched kernel:
 *
 *   wavejit_engine *engine = NULL;
 *   wavejit_engine_create(NULL, &engine);
 *   wavejit_problem problem = WAVEJIT_PROBLEM_INIT;
 *   problem.n = 19456; problem.k = 2560; problem.group = 32;
 *   wavejit_plan *plan = NULL;
 *   if (wavejit_prepare(engine, &problem, 1, 4096, 0, &plan) != WAVEJIT_OK) puts(wavejit_last_error());
 *   wavejit_plan_launch(plan, stream, &arguments);      // hipStream_t, or NULL
 *   wavejit_plan_release(plan);
 *   wavejit_engine_destroy(engine);
 *
 * Conventions.
 * - A function that can fail returns wavejit_status; its outputs are written on success only. The sentence
 *   that belongs to a failure is wavejit_last_error(), per thread, until the thread's next failure.
 * - Structs begin with struct_size; set them up with their _INIT macro, or with zeros and their sizeof. A
 *   library reads and writes only as many bytes as the caller's header knew; fields are only ever added at the end.
 *   A size that ends inside a field is WAVEJIT_INVALID_ARGUMENT.
 * - Handles are opaque. Every function may be called from any thread; a handle must not be used while
 *   another thread destroys it.
 * - Pointers that a function gives (strings) live as long as the handle they came from, unless it says
 *   otherwise.
 * - After fork() the child may use no handle of its parent's: each call on one returns WAVEJIT_NO_DEVICE at once
 *   and names the fork; destroying them is allowed and does nothing. It may create an engine of its own, on HIP only
 *   where the parent has not used HIP through this library.
 * - wavejit_plan_launch never compiles, allocates, synchronises, loads or unloads: it may be called while
 *   the stream is being captured.
 */
#ifndef WAVEJIT_H
#define WAVEJIT_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define WAVEJIT_API
#else
#define WAVEJIT_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a program built against an older header would misbehave with the library. */
#define WAVEJIT_ABI_VERSION 1

/* Stable numbers. */
typedef enum wavejit_status {
  WAVEJIT_OK = 0,
  WAVEJIT_INVALID_PROBLEM = 1,
  WAVEJIT_INVALID_CONFIG = 2,
  WAVEJIT_UNKNOWN_TARGET = 3,
  WAVEJIT_OUT_OF_REGISTERS = 4,
  WAVEJIT_OUT_OF_LDS = 5,
  WAVEJIT_INVALID_IR = 6,
  WAVEJIT_ASSEMBLER = 7,
  WAVEJIT_INVALID_CODE_OBJECT = 8,
  WAVEJIT_UNKNOWN_INSTRUCTION = 9,
  WAVEJIT_SIMULATION = 10,
  WAVEJIT_INVALID_ARGUMENT = 11,
  WAVEJIT_IO = 12,
  WAVEJIT_UNSUPPORTED = 13,
  WAVEJIT_NO_DEVICE = 14,
  WAVEJIT_WRONG_ARCHITECTURE = 15,
  WAVEJIT_OUT_OF_MEMORY = 16,
  WAVEJIT_CAPTURE_ACTIVE = 17,
  WAVEJIT_LOAD_FAILED = 18,
  WAVEJIT_LAUNCH_FAILED = 19,
  WAVEJIT_NOT_PREPARED = 20,
  WAVEJIT_DRIVER = 21,
  WAVEJIT_HIPRTC = 22,
  WAVEJIT_TIMED_OUT = 23,
  WAVEJIT_SHUT_DOWN = 24,
  WAVEJIT_INTERNAL = 25
} wavejit_status;

WAVEJIT_API uint32_t wavejit_abi_version(void);
WAVEJIT_API const char *wavejit_version(void);      /* "0.1.0" */
WAVEJIT_API const char *wavejit_build_id(void);     /* of the code generator; part of every cache key */
WAVEJIT_API const char *wavejit_llvm_version(void); /* "22.1.8" */
/* "out_of_memory", …; "ok" for WAVEJIT_OK; "unknown" for a number that is none. Static strings. */
WAVEJIT_API const char *wavejit_status_name(wavejit_status status);
/* The sentence of this thread's last failure, and the field, value and allowed values it names (each may be
 * empty). Valid until the thread's next failure; never NULL. */
WAVEJIT_API const char *wavejit_last_error(void);
WAVEJIT_API const char *wavejit_last_error_field(void);
WAVEJIT_API const char *wavejit_last_error_given(void);
WAVEJIT_API const char *wavejit_last_error_allowed(void);

/* ---- Engine ---- */

typedef struct wavejit_engine wavejit_engine;
typedef struct wavejit_plan wavejit_plan;
typedef struct wavejit_future wavejit_future;

typedef enum wavejit_log_level {
  WAVEJIT_LOG_DEBUG = 0,
  WAVEJIT_LOG_INFO = 1,
  WAVEJIT_LOG_WARNING = 2
} wavejit_log_level;
/* From any thread; `text` is zero-terminated and lives for the call. Must not call wavejit. */
typedef void (*wavejit_log_function)(void *user, wavejit_log_level level, const char *text);

typedef struct wavejit_engine_options {
  size_t struct_size;
  /* "hip", "hip:1", "sim", "sim:gfx942", several with commas. NULL or "auto": the first GPU, and
   * WAVEJIT_NO_DEVICE without one: nothing is simulated unless "sim" says so. */
  const char *devices;
  const char *cache_folder;    /* NULL = the default one, "" = no disk cache */
  uint64_t cache_bytes;        /* 0 = the default limit */
  const char *bundles;         /* paths separated by ':'; NULL = none; see bundle_paths */
  const char *override_folder; /* NULL = none */
  const char *dump_folder;     /* NULL = none */
  uint32_t threads;            /* 0 = chosen */
  uint32_t cache_lock_timeout_ms; /* 0 = the default */
  wavejit_log_function log;       /* NULL = none */
  void *log_user;
  wavejit_log_level log_level;
  int32_t ignore_environment;  /* nonzero: WAVEJIT_* variables are not read */
  int32_t skip_check;          /* nonzero: compiled kernels do not pass the static checker */
  const char *tuning_database; /* made by `wavejit tune`; NULL = none */
  /* Bundles behind those of `bundles`, one path each, colons and all: bundle_path_count of them. */
  const char *const *bundle_paths;
  size_t bundle_path_count;
} wavejit_engine_options;
#define WAVEJIT_ENGINE_OPTIONS_INIT \
  { sizeof(wavejit_engine_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, WAVEJIT_LOG_INFO, 0, 0, 0, 0, 0 }

typedef enum wavejit_type {
  WAVEJIT_BF16 = 0,
  WAVEJIT_F16 = 1,
  WAVEJIT_F32 = 2,
  WAVEJIT_I32 = 3,
  WAVEJIT_U8 = 4,
  WAVEJIT_I64 = 5
} wavejit_type;
typedef enum wavejit_operation {
  WAVEJIT_W4A16 = 0,
  WAVEJIT_KQUANT = 1,
  WAVEJIT_INT4_GEMM = 2,
  WAVEJIT_INT4_GROUPED = 3
} wavejit_operation;
typedef enum wavejit_zero_points {
  WAVEJIT_SYMMETRIC = 0,
  WAVEJIT_PACKED = 1,
  WAVEJIT_ADDITIVE = 2 /* floats, added after scaling: of WAVEJIT_INT4_* */
} wavejit_zero_points;
typedef enum wavejit_weight_rounding { WAVEJIT_FASTEST = 0, WAVEJIT_NEAREST = 1 } wavejit_weight_rounding;

typedef enum wavejit_gguf_type {
  WAVEJIT_Q4_K = 0,
  WAVEJIT_Q5_K = 1,
  WAVEJIT_Q6_K = 2,
  WAVEJIT_Q8_0 = 3,
  WAVEJIT_Q4_0 = 4
} wavejit_gguf_type;

/* output[M, N] = activations[M, K] * dequantised(weights[N, K])^T (+ bias[N]).
 *
 * WAVEJIT_W4A16: activations, scales, bias, output: `activation` type; weights int32 [N, K/8], nibbles low to
 * high holding K offsets 0,2,4,6,1,3,5,7; scales [N, K/group]; zero points int32 [N/8, K/group], row n in
 * nibble n % 8. Strides are between rows, in elements of the tensor's type; 0 = dense.
 *
 * WAVEJIT_KQUANT: activations `activation` type (bf16, f16, f32) [M, K]; weights WAVEJIT_U8 [N, bytes of a
 * row], as a GGUF file of `weight_type` has them; output f32 [M, N]; all dense. Activations are quantised on
 * the way, into the workspace.
 *
 * WAVEJIT_INT4_GEMM, on CDNA: `batch` products side by side; activations and output [batch, M, .]; weights
 * int8 [batch, N, K/2], low nibble = even K, two's complement, passed as int32 [batch, N, K/8]; scales and
 * zeros [batch, K/group, N] of `scale_type`, the zeros added after scaling.
 *
 * WAVEJIT_INT4_GROUPED: one product per group of rows; activations and output [M, .], the rows of group g
 * behind those of the groups before it; group_rows int64 [groups] on the device says how many; weights,
 * scales and zeros [groups, ...] as above. Rows beyond the sum are not written.
 *
 * A field that means nothing to the operation is left at zero (group: or at 128): what is set there is
 * refused by name. Enumerations are checked as numbers. */
typedef struct wavejit_problem {
  size_t struct_size;
  wavejit_operation operation;
  wavejit_type activation;
  int64_t n, k;
  int64_t group; /* a multiple of 32 (INT4_*: of 64), or -1 = all of K; not of WAVEJIT_KQUANT */
  wavejit_zero_points zero_points;          /* W4A16: symmetric or packed; INT4_*: symmetric or additive */
  wavejit_weight_rounding rounding;         /* not of WAVEJIT_KQUANT */
  int64_t activation_stride, weight_stride; /* of WAVEJIT_KQUANT, as output_stride: 0 or dense */
  int64_t scale_stride;                     /* not of WAVEJIT_KQUANT; INT4_*: of the zeros, too */
  int64_t zero_point_stride;                /* of WAVEJIT_W4A16 with packed zero points */
  int64_t output_stride;
  int32_t bias;                  /* of WAVEJIT_W4A16; nonzero: there is one */
  wavejit_gguf_type weight_type; /* of WAVEJIT_KQUANT; headers before it had a reserved zero here */
  int64_t batch;                 /* of WAVEJIT_INT4_GEMM; 0 = 1 */
  int64_t groups;                /* of WAVEJIT_INT4_GROUPED */
  wavejit_type scale_type;       /* of WAVEJIT_INT4_*: WAVEJIT_BF16, WAVEJIT_F16 or WAVEJIT_F32 */
  int32_t reserved;              /* 0 */
} wavejit_problem;
#define WAVEJIT_PROBLEM_INIT                                                                                \
  {                                                                                                         \
    sizeof(wavejit_problem), WAVEJIT_W4A16, WAVEJIT_BF16, 0, 0, 128, WAVEJIT_SYMMETRIC, WAVEJIT_FASTEST, 0, \
        0, 0, 0, 0, 0, WAVEJIT_Q4_K, 0, 0, WAVEJIT_BF16, 0                                                  \
  }

typedef struct wavejit_tensor {
  uint64_t address; /* device memory */
  uint64_t bytes;   /* that are the caller's, from address on */
  wavejit_type type;
  uint32_t rank; /* 0 = no tensor */
  int64_t shape[4];
  int64_t strides[4]; /* elements; all 0 = dense, row-major */
} wavejit_tensor;

typedef struct wavejit_arguments {
  size_t struct_size;
  wavejit_tensor activations, weights, scales, zero_points, bias, output;
  uint64_t workspace; /* at a multiple of 16 bytes; wavejit_plan_workspace says how many */
  uint64_t workspace_bytes;
  wavejit_tensor group_rows; /* of WAVEJIT_INT4_GROUPED: int64 [groups] */
} wavejit_arguments;

/* `options` may be NULL. */
WAVEJIT_API wavejit_status wavejit_engine_create(const wavejit_engine_options *options,
                                                 wavejit_engine **engine);
/* Plans stay valid. Background preparations that have not begun end with WAVEJIT_SHUT_DOWN. NULL is allowed.
 */
WAVEJIT_API void wavejit_engine_destroy(wavejit_engine *engine);

/* Compiles or finds, and loads, what launches with m_first <= M <= m_last need. */
WAVEJIT_API wavejit_status wavejit_prepare(wavejit_engine *engine, const wavejit_problem *problem,
                                           int64_t m_first, int64_t m_last, uint32_t device,
                                           wavejit_plan **plan);
WAVEJIT_API wavejit_status wavejit_prepare_async(wavejit_engine *engine, const wavejit_problem *problem,
                                                 int64_t m_first, int64_t m_last, uint32_t device,
                                                 wavejit_future **future);
/* Waits at most that long (< 0: for ever) and gives the plan, any number of times. WAVEJIT_TIMED_OUT, or what
 * wavejit_prepare would have returned. */
WAVEJIT_API wavejit_status wavejit_future_get(wavejit_future *future, int64_t timeout_ms,
                                              wavejit_plan **plan);
WAVEJIT_API void wavejit_future_destroy(wavejit_future *future);
/* Never compiles: the plan of an earlier prepare with just these values, else WAVEJIT_NOT_PREPARED. */
WAVEJIT_API wavejit_status wavejit_find(wavejit_engine *engine, const wavejit_problem *problem,
                                        int64_t m_first, int64_t m_last, uint32_t device,
                                        wavejit_plan **plan);
/* Drops what only the engine refers to and runs deferred unloads; says how many are still deferred. */
WAVEJIT_API size_t wavejit_collect(wavejit_engine *engine);
/* Lines "name value". Writes at most `size` bytes with the terminating zero; returns the bytes needed. */
WAVEJIT_API size_t wavejit_counters(wavejit_engine *engine, char *text, size_t size);
/* Why preparing would not be served from a cache: a line per kernel. Sizes as above, through `needed`. */
WAVEJIT_API wavejit_status wavejit_explain(wavejit_engine *engine, const wavejit_problem *problem,
                                           int64_t m_first, int64_t m_last, uint32_t device, char *text,
                                           size_t size, size_t *needed);

/* ---- Plan ---- */

/* One more reference; give each back with release. A plan keeps its kernels loaded. */
WAVEJIT_API wavejit_plan *wavejit_plan_retain(wavejit_plan *plan);
WAVEJIT_API void wavejit_plan_release(wavejit_plan *plan); /* NULL is allowed */
WAVEJIT_API wavejit_status wavejit_plan_workspace(const wavejit_plan *plan, int64_t m, uint64_t *bytes);
/* `stream`: hipStream_t or a stream of the simulator; NULL = the default stream. */
WAVEJIT_API wavejit_status wavejit_plan_launch(const wavejit_plan *plan, void *stream,
                                               const wavejit_arguments *arguments);
/* JSON: problem, device, and per range of M the kernel, its key, Config and where it came from; "stages" are
 * all kernels that such a launch runs, in order, of which the kernel is the last. */
WAVEJIT_API size_t wavejit_plan_describe(const wavejit_plan *plan, char *text, size_t size);

/* ---- Devices ---- */

typedef struct wavejit_device_info {
  size_t struct_size;
  char kind[8]; /* "hip" or "sim" */
  char name[256];
  char target_id[128]; /* "gfx942:sramecc+:xnack-" */
  int32_t ordinal;
  uint32_t compute_units;
  uint32_t wave_size;
  int32_t driver_version;
  uint64_t memory_bytes;
} wavejit_device_info;

WAVEJIT_API uint32_t wavejit_device_count(const wavejit_engine *engine);
WAVEJIT_API wavejit_status wavejit_device_describe(const wavejit_engine *engine, uint32_t device,
                                                   wavejit_device_info *info);
/* For the simulator, tests and small programs; a server has its own allocator. Copies are synchronous. */
WAVEJIT_API wavejit_status wavejit_device_allocate(wavejit_engine *engine, uint32_t device, uint64_t bytes,
                                                   uint64_t *address);
WAVEJIT_API wavejit_status wavejit_device_release(wavejit_engine *engine, uint32_t device, uint64_t address);
WAVEJIT_API wavejit_status wavejit_device_copy_in(wavejit_engine *engine, uint32_t device, uint64_t to,
                                                  const void *from, uint64_t bytes);
WAVEJIT_API wavejit_status wavejit_device_copy_out(wavejit_engine *engine, uint32_t device, void *to,
                                                   uint64_t from, uint64_t bytes);
WAVEJIT_API wavejit_status wavejit_device_stream_create(wavejit_engine *engine, uint32_t device,
                                                        void **stream);
WAVEJIT_API wavejit_status wavejit_device_stream_destroy(wavejit_engine *engine, uint32_t device,
                                                         void *stream);
/* Waits. Faults of a simulated kernel come out here as WAVEJIT_SIMULATION. */
WAVEJIT_API wavejit_status wavejit_device_synchronise(wavejit_engine *engine, uint32_t device, void *stream);

/* ---- Weight repacking: checkpoint layouts -> the layouts above. Host memory. ---- */

typedef enum wavejit_format {
  WAVEJIT_AWQ = 0,
  WAVEJIT_GPTQ_V1 = 1,
  WAVEJIT_GPTQ_V2 = 2,
  WAVEJIT_COMPRESSED_TENSORS = 3,
  WAVEJIT_ROW_MAJOR = 4,
  WAVEJIT_MSLK = 5
} wavejit_format;
typedef enum wavejit_host_type {
  WAVEJIT_HOST_U8 = 0,
  WAVEJIT_HOST_I8 = 1,
  WAVEJIT_HOST_I32 = 2,
  WAVEJIT_HOST_I64 = 3,
  WAVEJIT_HOST_F16 = 4,
  WAVEJIT_HOST_BF16 = 5,
  WAVEJIT_HOST_F32 = 6
} wavejit_host_type;

typedef struct wavejit_host_tensor {
  const void *data; /* NULL = no tensor */
  uint64_t bytes;
  wavejit_host_type type;
  uint32_t rank;
  int64_t shape[4];
  int64_t strides[4]; /* bytes; all 0 = dense */
} wavejit_host_tensor;

typedef struct wavejit_repack_request {
  size_t struct_size;
  wavejit_format format;
  wavejit_zero_points declared; /* what the checkpoint says of itself */
  wavejit_host_tensor weights, scales, zero_points, g_idx, weight_shape;
  int64_t n, k, group;
  wavejit_type scale_type; /* WAVEJIT_BF16 or WAVEJIT_F16 */
  wavejit_zero_points zero_points_wanted;
  int64_t weight_stride, scale_stride, zero_point_stride; /* output elements; 0 = dense */
  int32_t gathers_activations; /* nonzero: the caller permutes activations by the permutation it gets */
  uint32_t threads;            /* 0 = all */
} wavejit_repack_request;

typedef struct wavejit_repack_sizes {
  size_t struct_size;
  uint64_t weight_bytes, scale_bytes, zero_point_bytes; /* of the outputs; 0 = none is written */
  int32_t weights_in_place, scales_in_place,
      zero_points_in_place;   /* nonzero: output may be the source's memory */
  int32_t scales_exact;       /* nonzero: every scale keeps its value */
  uint64_t permutation_count; /* 0, or K */
} wavejit_repack_sizes;

/* Checks everything, the data included, and says how large the outputs are. */
WAVEJIT_API wavejit_status wavejit_repack_plan(const wavejit_repack_request *request,
                                               wavejit_repack_sizes *sizes);
/* Writes the outputs; none is touched unless all is well. `permutation` (int32 [K]) may be NULL unless
 * permutation_count is K. */
WAVEJIT_API wavejit_status wavejit_repack(const wavejit_repack_request *request, void *weights,
                                          uint64_t weight_bytes, void *scales, uint64_t scale_bytes,
                                          void *zero_points, uint64_t zero_point_bytes, int32_t *permutation,
                                          uint64_t permutation_count);

#ifdef __cplusplus
}
#endif

#endif /* WAVEJIT_H */
