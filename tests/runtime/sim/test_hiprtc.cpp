// SPDX-License-Identifier: MIT
// What hiprtc makes of HIP C++ for gfx90a (wave64, AGPR file, packed work-item ids) and gfx1030 (wave32, ids
// in three registers), run with every check on; expected values are computed here in C++.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "generator/lower/lower.hpp"
#include "runtime/device/sim/hidden_arguments.hpp"
#include "runtime/hiprtc/hiprtc.hpp"
#include "tests/runtime/sim/asm_kernel.hpp"
#include "tests/skip.hpp"

namespace wavejit::test {
namespace {

const char* const source = R"(
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
extern "C" __global__ void block_sums(const float* x, float* out, int n) {
  __shared__ float part[256];
  const int t = threadIdx.x;
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  part[t] = sum;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (t < s) part[t] += part[t + s];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}
extern "C" __global__ void dot_int4(const unsigned* w, const float* x, const float* scale, float* y, int words) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int i = threadIdx.x; i < words; i += blockDim.x) {
    const unsigned q = w[row * words + i];
    for (int k = 0; k < 8; ++k) sum += (float)((int)(q >> 4 * k & 15) - 8) * x[8 * i + k];
  }
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor(sum, d, 32);
  if (threadIdx.x == 0) y[row] = sum * scale[row];
}
)";

std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> words(values.size());
  std::memcpy(words.data(), values.data(), values.size() * 4);
  return words;
}

/// Small integers: every sum is exact, whatever its order.
std::vector<float> integers(unsigned n, unsigned step) {
  std::vector<float> values(n);
  for (unsigned i = 0; i < n; ++i) values[i] = static_cast<float>(static_cast<int>(i * step % 17) - 8);
  return values;
}

/// One compiled module and the memory that its kernels work on.
class Module {
 public:
  explicit Module(std::span<const std::uint8_t> elf) : object_(lower::decode(elf)) {
    INFO((object_ ? std::string() : object_.error().message));
    REQUIRE(object_);
  }

  std::uint64_t input(const std::vector<std::uint32_t>& words) { return upload(memory_, words); }
  std::uint64_t output(unsigned n) { return *memory_.allocate(std::uint64_t{4} * n, 16, "output"); }

  /// Arguments by their place in the metadata.
  void launch(std::string_view name, std::array<std::uint32_t, 3> grid, std::array<std::uint32_t, 3> block,
              const std::vector<std::uint64_t>& arguments) {
    const auto kernel = std::ranges::find(object_->kernels, name, &lower::DecodedKernel::name);
    REQUIRE(kernel != object_->kernels.end());
    const auto program = sim::Program::create(*kernel, *object_->target);
    INFO(name << ": " << (program ? std::string() : program.error().message));
    REQUIRE(program);
    std::vector<std::byte> kernarg(kernel->kernarg_segment_size);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const lower::ArgMetadata& a = kernel->args.at(i);
      REQUIRE(a.offset + a.size <= kernarg.size());
      std::memcpy(kernarg.data() + a.offset, &arguments[i], a.size);
    }
    sim::fill_hidden_arguments(kernel->args, grid, block, 0, kernarg);
    sim::LaunchParams params;
    params.grid = grid;
    params.block = block;
    params.kernarg = kernarg;
    const auto report = sim::run(*program, memory_, params);
    INFO((report ? text(report->faults) : report.error().message));
    REQUIRE(report);
    CHECK(report->clean());
  }

  std::vector<float> floats(std::uint64_t address, unsigned n) {
    std::vector<float> values(n);
    REQUIRE(memory_.read(address, std::as_writable_bytes(std::span(values))));
    return values;
  }

 private:
  Result<lower::CodeObject> object_;
  sim::Memory memory_;
};

void check_vector_add(Module& m) {
  constexpr unsigned n = 1000;  // the last workgroup is not full
  const auto a = integers(n, 3), b = integers(n, 5);
  const std::uint64_t c = m.output(n);
  m.launch("vector_add", {8, 1, 1}, {128, 1, 1}, {m.input(bits(a)), m.input(bits(b)), c, n});
  const auto got = m.floats(c, n);
  for (unsigned i = 0; i < n; ++i) REQUIRE(got[i] == a[i] + b[i]);
}

void check_block_sums(Module& m) {
  constexpr unsigned n = 1500, blocks = 2, threads = 256;
  const auto x = integers(n, 7);
  const std::uint64_t out = m.output(blocks);
  m.launch("block_sums", {blocks, 1, 1}, {threads, 1, 1}, {m.input(bits(x)), out, n});
  const auto got = m.floats(out, blocks);
  for (unsigned block = 0; block < blocks; ++block) {
    float want = 0;
    for (unsigned i = 0; i < n; ++i)
      if (i / threads % blocks == block) want += x[i];
    CHECK(got[block] == want);
  }
}

void check_dot_int4(Module& m) {
  constexpr unsigned rows = 8, words = 48;  // lanes 16 to 31 have one word less
  const auto x = integers(8 * words, 11);
  std::vector<std::uint32_t> w(rows * words);
  for (unsigned i = 0; i < w.size(); ++i) w[i] = i * 2654435761U;
  std::vector<float> scale(rows);
  for (unsigned r = 0; r < rows; ++r) scale[r] = static_cast<float>(r + 1);
  const std::uint64_t y = m.output(rows);
  m.launch("dot_int4", {rows / 4, 1, 1}, {32, 4, 1},
           {m.input(w), m.input(bits(x)), m.input(bits(scale)), y, words});
  const auto got = m.floats(y, rows);
  for (unsigned r = 0; r < rows; ++r) {
    int sum = 0;
    for (unsigned i = 0; i < 8 * words; ++i)
      sum += (static_cast<int>(w[r * words + i / 8] >> (4 * (i % 8)) & 15) - 8) * static_cast<int>(x[i]);
    CHECK(got[r] == static_cast<float>(sum) * scale[r]);
  }
}

TEST_CASE("hiprtc's code for gfx90a and gfx1030 runs and agrees with C++", "[sim][hiprtc]") {
  for (const char* target : {"gfx90a", "gfx1030"}) {
    const auto compiled =
        hiprtc::compile(source, "test.hip", target, {}, {.library = {}, .definitions = {}, .flags = {"-O3"}});
    if (!compiled && !hiprtc::known_targets()) skip(compiled.error().message);
    INFO(target << ": " << (compiled ? compiled->log : compiled.error().message));
    REQUIRE(compiled);
    Module m(
        std::span(reinterpret_cast<const std::uint8_t*>(compiled->bytes.data()), compiled->bytes.size()));
    check_vector_add(m);
    check_block_sums(m);
    check_dot_int4(m);
  }
}

TEST_CASE("Hidden arguments are those of the launch", "[sim][launch]") {
  // Offsets as LLVM AMDGPUUsage lists them for code object v5, after one argument of 8 bytes.
  lower::DecodedKernel kernel;
  kernel.args = {{"x", 0, 8, "global_buffer", ""},
                 {"", 8, 4, "hidden_block_count_x", ""},
                 {"", 12, 4, "hidden_block_count_y", ""},
                 {"", 20, 2, "hidden_group_size_x", ""},
                 {"", 22, 2, "hidden_group_size_y", ""},
                 {"", 26, 2, "hidden_remainder_x", ""},
                 {"", 48, 8, "hidden_global_offset_x", ""},
                 {"", 72, 2, "hidden_grid_dims", ""},
                 {"", 88, 4, "hidden_dynamic_lds_size", ""},
                 {"", 126, 4, "hidden_block_count_z", ""}};  // outside: left out
  std::vector<std::byte> kernarg(128, std::byte{0xEE});
  sim::fill_hidden_arguments(kernel.args, {7, 3, 1}, {256, 2, 1}, 4096, kernarg);
  const auto at = [&](unsigned offset, unsigned size) {
    std::uint64_t value = 0;
    std::memcpy(&value, kernarg.data() + offset, size);
    return value;
  };
  CHECK(at(0, 1) == 0xEE);
  CHECK(at(8, 4) == 7);
  CHECK(at(12, 4) == 3);
  CHECK(at(16, 1) == 0xEE);
  CHECK(at(20, 2) == 256);
  CHECK(at(22, 2) == 2);
  CHECK(at(26, 2) == 0);
  CHECK(at(48, 8) == 0);
  CHECK(at(72, 2) == 2);
  CHECK(at(88, 4) == 4096);
  CHECK(at(126, 2) == 0xEEEE);
}

}  // namespace
}  // namespace wavejit::test
