// SPDX-License-Identifier: MIT
#include "runtime/device/sim/memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace wavejit::sim {
namespace {

constexpr std::uint64_t guard = std::uint64_t{8} << 30;
constexpr std::uint64_t address_end = std::uint64_t{1} << 47;  ///< descriptors hold 48 bits
constexpr std::uint64_t slack = 64;  ///< host bytes past the end, so that wide host loads stay mapped

void* reserve(std::uint64_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

void give_back(void* p, std::uint64_t bytes) {
  if (p != nullptr) munmap(p, bytes);
}

std::unexpected<Error> outside(std::uint64_t address, std::uint64_t bytes, const std::string& where) {
  return fail(ErrorCode::invalid_argument,
              fmt::format("host access of {} bytes at 0x{:x} is not inside one allocation: {}", bytes,
                          address, where));
}

}  // namespace

Allocation::~Allocation() {
  give_back(data, data_reserved_);
  give_back(defined, defined_reserved_);
  give_back(writers, writers_reserved_);
}

std::uint32_t Allocation::defined_bits(std::uint64_t offset, unsigned bytes) const {
  const std::uint32_t wanted = bytes >= 32 ? ~0U : (1U << bytes) - 1;
  if (all_defined) return wanted;
  std::uint32_t bits = 0;
  const std::uint64_t first = offset / 8;
  for (unsigned i = 0; i < 3; ++i) {
    bits |= std::uint32_t{defined[first + i].load(std::memory_order_relaxed)} << (8 * i);
  }
  return bits >> (offset % 8) & wanted;
}

void Allocation::define(std::uint64_t offset, std::uint64_t bytes) {
  if (all_defined || bytes == 0) return;
  const std::uint64_t end = offset + bytes;
  for (std::uint64_t at = offset; at < end;) {
    const std::uint64_t cell = at / 8;
    const unsigned from = at % 8;
    const unsigned to = static_cast<unsigned>(std::min<std::uint64_t>(8, from + (end - at)));
    const auto mask = static_cast<std::uint8_t>(((1U << (to - from)) - 1) << from);
    // Neighbouring workgroups may share a cell.
    if (mask == 0xFF) {
      defined[cell].store(0xFF, std::memory_order_relaxed);
    } else {
      defined[cell].fetch_or(mask, std::memory_order_relaxed);
    }
    at += to - from;
  }
}

void Allocation::undefine(std::uint64_t offset, std::uint64_t bytes) {
  if (all_defined) {
    all_defined = false;
    const std::uint64_t cells = size / 8;
    std::memset(static_cast<void*>(defined), 0xFF, cells);
    if (size % 8 != 0) defined[cells].store(static_cast<std::uint8_t>((1U << size % 8) - 1));
  }
  for (std::uint64_t at = offset; at < offset + bytes; ++at) {
    defined[at / 8].fetch_and(static_cast<std::uint8_t>(~(1U << at % 8)), std::memory_order_relaxed);
  }
}

Result<std::uint64_t> Memory::allocate(std::uint64_t bytes, std::uint64_t alignment, std::string name,
                                       Contents contents) {
  if (bytes == 0) return fail_field(ErrorCode::invalid_argument, "bytes", "0", "at least 1");
  if (!std::has_single_bit(alignment) || alignment > (std::uint64_t{1} << 40)) {
    return fail_field(ErrorCode::invalid_argument, "alignment", fmt::format("{}", alignment),
                      "a power of two up to 2^40");
  }
  if (bytes > address_end)
    return fail_field(ErrorCode::invalid_argument, "bytes", fmt::format("{}", bytes), "below 2^47");
  // A multiple of `alignment` that is an odd multiple: code that assumes more alignment is found out.
  std::uint64_t base = (next_ + 2 * alignment - 1) / (2 * alignment) * (2 * alignment) + alignment;
  if (base + bytes + guard > address_end) {
    return fail(ErrorCode::invalid_argument, "the simulated address space (47 bits) is used up");
  }
  auto a = std::make_unique<Allocation>();
  a->base = base;
  a->size = bytes;
  a->name = std::move(name);
  a->all_defined = contents == Contents::zero;
  a->data_reserved_ = bytes + slack;
  a->defined_reserved_ = bytes / 8 + slack;
  a->writers_reserved_ = (bytes / 2 + slack) * sizeof(std::uint64_t);
  // Fresh anonymous pages are zero bytes, which are valid objects of these lock-free atomics.
  a->data = static_cast<std::uint8_t*>(reserve(a->data_reserved_));
  a->defined = static_cast<std::atomic<std::uint8_t>*>(reserve(a->defined_reserved_));
  a->writers = static_cast<std::atomic<std::uint64_t>*>(reserve(a->writers_reserved_));
  if (a->data == nullptr || a->defined == nullptr || a->writers == nullptr) {
    return fail(ErrorCode::io, fmt::format("the host refuses to reserve {} bytes for '{}'", bytes, a->name));
  }
  next_ = base + bytes + guard;
  allocations_.push_back(std::move(a));
  return base;
}

Result<void> Memory::release(std::uint64_t address) {
  const auto it = std::ranges::find(allocations_, address, [](const auto& a) { return a->base; });
  if (it == allocations_.end()) {
    return fail(ErrorCode::invalid_argument, fmt::format("0x{:x} is not the base of an allocation", address));
  }
  allocations_.erase(it);
  return {};
}

Result<void> Memory::set_read_only(std::uint64_t address, bool read_only) {
  Allocation* a = find(address);
  if (a == nullptr || a->base != address) {
    return fail(ErrorCode::invalid_argument, fmt::format("0x{:x} is not the base of an allocation", address));
  }
  a->read_only = read_only;
  return {};
}

const Allocation* Memory::find(std::uint64_t address) const {
  const auto after =
      std::ranges::upper_bound(allocations_, address, {}, [](const auto& a) { return a->base; });
  if (after == allocations_.begin()) return nullptr;
  const Allocation* a = std::prev(after)->get();
  return address - a->base < a->size ? a : nullptr;
}

Allocation* Memory::find(std::uint64_t address) {
  return const_cast<Allocation*>(static_cast<const Memory*>(this)->find(address));
}

Allocation* Memory::locate(std::uint64_t address, std::uint64_t bytes) const {
  auto* a = const_cast<Allocation*>(find(address));
  return a != nullptr && a->contains(address, bytes) ? a : nullptr;
}

Result<void> Memory::write(std::uint64_t address, std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  Allocation* a = locate(address, bytes.size());
  if (a == nullptr) return outside(address, bytes.size(), describe(address));
  std::memcpy(a->data + (address - a->base), bytes.data(), bytes.size());
  if (bytes.size() == a->size) a->all_defined = true;
  a->define(address - a->base, bytes.size());
  return {};
}

Result<void> Memory::read(std::uint64_t address, std::span<std::byte> bytes) const {
  if (bytes.empty()) return {};
  const Allocation* a = locate(address, bytes.size());
  if (a == nullptr) return outside(address, bytes.size(), describe(address));
  std::memcpy(bytes.data(), a->data + (address - a->base), bytes.size());
  return {};
}

Result<void> Memory::fill(std::uint64_t address, std::uint64_t bytes, std::byte value) {
  if (bytes == 0) return {};
  Allocation* a = locate(address, bytes);
  if (a == nullptr) return outside(address, bytes, describe(address));
  std::memset(a->data + (address - a->base), static_cast<int>(value), bytes);
  if (bytes == a->size) a->all_defined = true;
  a->define(address - a->base, bytes);
  return {};
}

Result<void> Memory::poison(std::uint64_t address, std::uint64_t bytes) {
  if (bytes == 0) return {};
  Allocation* a = locate(address, bytes);
  if (a == nullptr) return outside(address, bytes, describe(address));
  a->undefine(address - a->base, bytes);
  return {};
}

Result<std::uint64_t> Memory::undefined_bytes(std::uint64_t address, std::uint64_t bytes) const {
  if (bytes == 0) return 0;
  const Allocation* a = locate(address, bytes);
  if (a == nullptr) return outside(address, bytes, describe(address));
  std::uint64_t count = 0;
  const std::uint64_t offset = address - a->base;
  if (a->all_defined) return 0;
  for (std::uint64_t i = 0; i < bytes;) {
    if ((offset + i) % 8 == 0 && bytes - i >= 8) {
      const std::uint8_t bits = a->defined[(offset + i) / 8].load(std::memory_order_relaxed);
      count += 8U - static_cast<unsigned>(std::popcount(bits));
      i += 8;
    } else {
      count += a->defined_bits(offset + i, 1) == 0 ? 1 : 0;
      ++i;
    }
  }
  return count;
}

std::string Memory::describe(std::uint64_t address) const {
  const Allocation* best = nullptr;
  std::uint64_t best_distance = ~std::uint64_t{0};
  for (const auto& a : allocations_) {
    const std::uint64_t distance = address < a->base             ? a->base - address
                                   : address - a->base < a->size ? 0
                                                                 : address - a->base - a->size + 1;
    if (distance < best_distance) {
      best_distance = distance;
      best = a.get();
    }
  }
  if (best == nullptr) return "there is no allocation";
  const std::string place = fmt::format("'{}' [0x{:x}, 0x{:x}) of {} bytes", best->name, best->base,
                                        best->base + best->size, best->size);
  if (address < best->base) return fmt::format("{} bytes before {}", best_distance, place);
  if (best_distance == 0) return fmt::format("{} bytes into {}", address - best->base, place);
  return fmt::format("{} bytes past the last byte of {}", best_distance, place);
}

void Memory::begin_run() {
  for (const auto& a : allocations_) {
    if (!a->written.exchange(false)) continue;
    // Dropping the pages makes them read as zero again.
    madvise(static_cast<void*>(a->writers), a->writers_reserved_, MADV_DONTNEED);
  }
}

}  // namespace wavejit::sim
