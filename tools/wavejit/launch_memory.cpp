// SPDX-License-Identifier: MIT
#include "tools/wavejit/launch_memory.hpp"

#include <fmt/format.h>

#include <cstring>
#include <random>

#include "runtime/device/sim/hidden_arguments.hpp"
#include "tests/oracle/format.hpp"
#include "tools/wavejit/files.hpp"

namespace wavejit::tools {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Source = LaunchArgument::Source;

std::span<const std::byte> as_bytes(const Bytes& b) { return std::as_bytes(std::span(b)); }

/// Integers over their whole range; floats normal with deviation 1, as few bits as the type has.
Bytes random_bytes(std::uint64_t count, ElementType type, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> normal;
  Bytes out(count);
  for (std::uint64_t at = 0; at + bytes(type) <= count; at += bytes(type)) {
    std::uint32_t bits = static_cast<std::uint32_t>(engine());
    const float value = normal(engine);
    if (type == ElementType::bf16) bits = oracle::encode(value, oracle::Format::bf16);
    if (type == ElementType::f16) bits = oracle::encode(value, oracle::Format::f16);
    if (type == ElementType::f32) std::memcpy(&bits, &value, sizeof bits);
    std::memcpy(out.data() + at, &bits, bytes(type));
  }
  return out;
}

Result<std::uint64_t> place(sim::Memory& memory, const LaunchArgument& a, std::string name) {
  Bytes content;
  std::uint64_t size = a.bytes;
  if (a.source == Source::file) {
    auto read = read_file(a.file, most_bytes());
    if (!read) return std::unexpected(read.error());
    content = std::move(*read);
    if (size != 0 && size != content.size())
      return fail_field(ErrorCode::invalid_argument, a.file.string(), fmt::format("{} bytes", content.size()),
                        fmt::format("{} bytes, as \"bytes\" says", size));
    size = content.size();
  }
  auto address = memory.allocate(size, a.alignment, std::move(name));
  if (!address) return address;
  if (a.source == Source::random) content = random_bytes(size, a.random_type, a.seed);
  Result<void> ok;
  if (a.source == Source::fill) ok = memory.fill(*address, size, static_cast<std::byte>(a.fill));
  if (!content.empty()) ok = memory.write(*address, as_bytes(content));
  if (!ok) return std::unexpected(ok.error());
  return address;
}

/// Whether what is filled, or read back after the run, fits this machine. Bytes that nobody gives and the
/// kernel does not touch cost nothing.
Result<void> check_bytes(const LaunchFile& launch) {
  std::uint64_t all = 0;  // of at most 2^40 each
  for (const LaunchArgument& a : launch.arguments) {
    const bool filled = a.source == Source::random || a.source == Source::fill;
    if (filled || !a.output.empty() || a.expect) all += a.bytes;
    if (all > most_bytes())
      return fail_field(ErrorCode::invalid_argument, "args",
                        fmt::format("of {} bytes and more together", all),
                        fmt::format("at most {}, half of this machine's memory", most_bytes()));
  }
  return {};
}

std::string kernel_names(const lower::CodeObject& object) {
  std::string names;
  for (const lower::DecodedKernel& k : object.kernels) names += (names.empty() ? "" : ", ") + k.name;
  return names;
}

}  // namespace

Result<PreparedLaunch> prepare_launch(sim::Memory& memory, const lower::DecodedKernel& kernel,
                                      const LaunchFile& launch) {
  const auto bound = bind(kernel, launch);
  if (!bound) return std::unexpected(bound.error());
  if (auto ok = check_bytes(launch); !ok) return std::unexpected(ok.error());
  PreparedLaunch p;
  const std::uint32_t kernarg = std::max(kernel.kernarg_segment_size, kernel.descriptor.kernarg_size);
  constexpr std::uint32_t most_kernarg = 1 << 20;
  if (kernarg > most_kernarg)
    return fail_field(ErrorCode::invalid_code_object, "kernarg size", std::to_string(kernarg),
                      fmt::format("at most {}", most_kernarg));
  p.kernarg.resize(kernarg);
  sim::fill_hidden_arguments(kernel.args, launch.grid, launch.block, launch.dynamic_lds_bytes,
                             std::as_writable_bytes(std::span(p.kernarg)));
  for (const BoundArgument& b : *bound) {
    std::array<std::uint8_t, 8> bits = b.given->scalar;
    if (b.given->source != Source::scalar && b.given->source != Source::null) {
      const std::string name =
          !b.given->name.empty() ? b.given->name : fmt::format("argument at offset {}", b.metadata->offset);
      const auto address = place(memory, *b.given, name);
      if (!address) return std::unexpected(address.error());
      std::memcpy(bits.data(), &*address, sizeof *address);
      p.buffers.emplace_back(b.given, *address);
    }
    if (b.metadata->offset + std::uint64_t{b.metadata->size} > p.kernarg.size())
      return fail(ErrorCode::invalid_code_object, "an argument lies outside the kernarg segment");
    std::memcpy(p.kernarg.data() + b.metadata->offset, bits.data(),
                std::min<std::size_t>(b.metadata->size, bits.size()));
  }
  return p;
}

Result<const lower::DecodedKernel*> find_kernel(const lower::CodeObject& object, const std::string& name) {
  for (const lower::DecodedKernel& k : object.kernels)
    if (k.name == name || (name.empty() && object.kernels.size() == 1)) return &k;
  return fail_field(ErrorCode::invalid_argument, "kernel", "'" + name + "'",
                    "one of " + kernel_names(object));
}

}  // namespace wavejit::tools
