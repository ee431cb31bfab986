// SPDX-License-Identifier: MIT
// Structs of every struct_size. Which sizes end no field is worked out from offsetof below, field by field.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "runtime/capi/wavejit.h"

namespace {

wavejit_engine* make_engine() {
  wavejit_engine_options options = WAVEJIT_ENGINE_OPTIONS_INIT;
  options.devices = "sim:gfx1151";
  options.cache_folder = "";
  options.ignore_environment = 1;
  wavejit_engine* engine = nullptr;
  REQUIRE(wavejit_engine_create(&options, &engine) == WAVEJIT_OK);
  return engine;
}

/// The struct in memory of its own, whose bytes behind `size` are those of no pointer, number or enumerator.
template <class Struct>
struct Cut {
  Cut(const Struct& from, std::size_t size) : bytes(sizeof(Struct) + 256, 0xA5) {
    std::memcpy(bytes.data(), &from, std::min(size, sizeof from));
    std::memcpy(bytes.data(), &size, sizeof size);
  }
  Struct* get() { return reinterpret_cast<Struct*>(bytes.data()); }
  std::vector<unsigned char> bytes;
};

/// Calls with every size; refused must be all but `ends` and what a newer header may have.
template <class Struct, class Call>
void try_sizes(const Struct& full, const std::vector<std::size_t>& ends, const Call& call) {
  const std::set<std::size_t> legal(ends.begin(), ends.end());
  for (std::size_t size = 0; size <= sizeof(Struct) + 64; ++size) {
    INFO(size << " of " << sizeof(Struct) << " bytes");
    Cut<Struct> cut(full, size);
    const wavejit_status status = call(cut.get());
    const bool refused =
        status == WAVEJIT_INVALID_ARGUMENT && std::string(wavejit_last_error_field()) == "struct_size";
    CHECK(refused == !(legal.contains(size) || (size > sizeof(Struct) && size % 8 == 0)));
  }
}

std::vector<std::size_t> every_eight(std::size_t from, std::size_t to) {
  std::vector<std::size_t> all;
  for (std::size_t size = from; size <= to; size += 8) all.push_back(size);
  return all;
}

}  // namespace

TEST_CASE("Structs that are read may end where a field does, and nowhere else", "[capi]") {
  wavejit_engine* engine = make_engine();
  wavejit_problem problem = WAVEJIT_PROBLEM_INIT;
  problem.n = 64;
  problem.k = 128;
  problem.group = 32;
  wavejit_plan* plan = nullptr;
  REQUIRE(wavejit_prepare(engine, &problem, 1, 1, 0, &plan) == WAVEJIT_OK);
  try_sizes(problem, every_eight(8, sizeof problem), [&](const wavejit_problem* p) {
    wavejit_plan* found = nullptr;
    const wavejit_status status = wavejit_find(engine, p, 1, 1, 0, &found);
    wavejit_plan_release(found);
    return status;
  });
  wavejit_engine_options options = WAVEJIT_ENGINE_OPTIONS_INIT;
  options.devices = "sim:gfx1151";
  options.cache_folder = "";
  try_sizes(options, every_eight(8, sizeof options), [](const wavejit_engine_options* o) {
    wavejit_engine* made = nullptr;
    const wavejit_status status = wavejit_engine_create(o, &made);
    wavejit_engine_destroy(made);
    return status;
  });
  const wavejit_arguments arguments = {};
  using A = wavejit_arguments;
  try_sizes(arguments,
            {8, offsetof(A, weights), offsetof(A, scales), offsetof(A, zero_points), offsetof(A, bias),
             offsetof(A, output), offsetof(A, workspace), offsetof(A, workspace_bytes),
             offsetof(A, group_rows), sizeof arguments},
            [&](const A* a) { return wavejit_plan_launch(plan, nullptr, a); });
  const wavejit_repack_request request = {};
  using R = wavejit_repack_request;
  std::vector<std::size_t> ends = every_eight(offsetof(R, n), sizeof request);
  for (const std::size_t end : {std::size_t{8}, offsetof(R, weights), offsetof(R, scales),
                                offsetof(R, zero_points), offsetof(R, g_idx), offsetof(R, weight_shape)})
    ends.push_back(end);
  try_sizes(request, ends, [](const R* r) {
    wavejit_repack_sizes sizes = {};
    sizes.struct_size = sizeof sizes;
    return wavejit_repack_plan(r, &sizes);
  });
  wavejit_plan_release(plan);
  wavejit_engine_destroy(engine);
}

TEST_CASE("Structs that are written are written up to their size", "[capi]") {
  wavejit_engine* engine = make_engine();
  using I = wavejit_device_info;
  for (std::size_t size = 0; size <= sizeof(I) + 64; ++size) {
    INFO(size);
    Cut<I> cut({}, size);
    const wavejit_status status = wavejit_device_describe(engine, 0, cut.get());
    const bool legal = size == 8 || size == offsetof(I, name) || size == offsetof(I, target_id) ||
                       (size >= offsetof(I, ordinal) && size % 8 == 0);
    CHECK((status == WAVEJIT_OK) == legal);
    // What was not written is as it was.
    for (std::size_t i = legal ? std::min(size, sizeof(I)) : std::max(size, sizeof size);
         i < cut.bytes.size(); ++i)
      if (i >= sizeof size) REQUIRE(cut.bytes[i] == (!legal && i < std::min(size, sizeof(I)) ? 0 : 0xA5));
    if (legal) CHECK(cut.get()->struct_size == std::min(size, sizeof(I)));
    if (legal && size > offsetof(I, target_id)) CHECK(std::string(cut.get()->target_id) == "gfx1151");
  }
  wavejit_engine_destroy(engine);
}

TEST_CASE("Sizes that a repack says are written up to their struct's size", "[capi]") {
  // One row of two packed words, group 32 of a K of 64: the smallest that repacks.
  std::vector<std::int32_t> weights(8 * 16, 0);
  std::vector<std::uint16_t> scales(16 * 2, 0x3C00);
  wavejit_repack_request request = {};
  request.struct_size = sizeof request;
  request.format = WAVEJIT_COMPRESSED_TENSORS;
  request.weights = {weights.data(), weights.size() * 4, WAVEJIT_HOST_I32, 2, {16, 8, 0, 0}, {}};
  request.scales = {scales.data(), scales.size() * 2, WAVEJIT_HOST_F16, 2, {16, 2, 0, 0}, {}};
  request.n = 16;
  request.k = 64;
  request.group = 32;
  request.scale_type = WAVEJIT_F16;
  for (std::size_t size = 0; size <= sizeof(wavejit_repack_sizes) + 64; ++size) {
    INFO(size);
    Cut<wavejit_repack_sizes> cut({}, size);
    const wavejit_status status = wavejit_repack_plan(&request, cut.get());
    const bool legal = size >= 8 && size % 8 == 0;
    INFO(wavejit_last_error());
    CHECK((status == WAVEJIT_OK) == legal);
    for (std::size_t i = std::max(size, sizeof size); i < cut.bytes.size(); ++i)
      REQUIRE(cut.bytes[i] == 0xA5);
  }
}

TEST_CASE("The longest time-outs wait", "[capi]") {
  wavejit_engine* engine = make_engine();
  wavejit_problem problem = WAVEJIT_PROBLEM_INIT;
  problem.n = 256;
  problem.k = 256;
  for (const std::int64_t timeout : {INT64_MAX, std::int64_t{9223372036854}, std::int64_t{9223372036855},
                                     std::int64_t{1} << 62, INT64_MIN, std::int64_t{-1}}) {
    INFO(timeout);
    wavejit_future* future = nullptr;
    problem.n += 64;
    REQUIRE(wavejit_prepare_async(engine, &problem, 1, 1, 0, &future) == WAVEJIT_OK);
    wavejit_plan* plan = nullptr;
    CHECK(wavejit_future_get(future, timeout, &plan) == WAVEJIT_OK);
    wavejit_plan_release(plan);
    wavejit_future_destroy(future);
  }
  wavejit_engine_destroy(engine);
}
