// SPDX-License-Identifier: MIT
#include "runtime/device/sim/run_memory.hpp"

namespace wavejit::sim {
namespace {

using detail::Code;

void put(std::span<std::byte> packet, std::size_t offset, std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) packet[offset + i] = static_cast<std::byte>(value >> (8 * i));
}

/// The AQL dispatch packet, which kernels may read grid and workgroup sizes from.
std::array<std::byte, 64> dispatch_packet(const Code& code, const LaunchParams& launch,
                                          std::uint64_t kernarg) {
  std::array<std::byte, 64> p{};
  const std::span<std::byte> packet(p);
  for (unsigned i = 0; i < 3; ++i) {
    put(packet, 4 + 2 * i, launch.block[i], 2);
    put(packet, 12 + 4 * i, std::uint64_t{launch.grid[i]} * launch.block[i], 4);
  }
  put(packet, 24, code.private_bytes, 4);
  put(packet, 28, code.lds_bytes + launch.dynamic_lds_bytes, 4);
  put(packet, 40, kernarg, 8);
  return p;
}

}  // namespace

RunMemory::RunMemory(Memory& memory, const Code& code, const LaunchParams& launch) : memory_(memory) {
  if (!launch.kernarg.empty()) {
    kernarg_ = make(launch.kernarg, 16, "kernarg");
    if (!kernarg_) return;
  }
  const auto packet = dispatch_packet(code, launch, kernarg_.value_or(0));
  packet_ = make(packet, 64, "dispatch packet");
}

RunMemory::~RunMemory() {
  if (kernarg_.value_or(0) != 0) (void)memory_.release(*kernarg_);
  if (packet_.value_or(0) != 0) (void)memory_.release(*packet_);
}

Result<void> RunMemory::error() const {
  if (!kernarg_) return std::unexpected(kernarg_.error());
  if (!packet_) return std::unexpected(packet_.error());
  return {};
}

Result<std::uint64_t> RunMemory::make(std::span<const std::byte> bytes, std::uint64_t alignment,
                                      std::string name) {
  auto address = memory_.allocate(bytes.size(), alignment, std::move(name));
  if (!address) return address;
  if (auto ok = memory_.write(*address, bytes); !ok) return std::unexpected(ok.error());
  if (auto ok = memory_.set_read_only(*address, true); !ok) return std::unexpected(ok.error());
  return address;
}

}  // namespace wavejit::sim
