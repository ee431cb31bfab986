// SPDX-License-Identifier: MIT
#include "runtime/device/sim/lds.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace wavejit::sim {

void Lds::reset(std::uint32_t bytes, bool track_races) {
  size_ = bytes;
  track_ = track_races;
  constexpr std::uint32_t slack = 32;  // wide host accesses stay inside
  data_.assign(bytes + slack, 0);
  defined_.assign(bytes / 8 + slack, 0);
  if (track_races) blocks_.assign(bytes / 16 + slack, Cell{});
}

bool Lds::all_defined(const std::uint32_t* address, unsigned count, unsigned bytes) const {
  const std::uint32_t wanted = (1U << bytes) - 1;
  std::uint32_t all = ~0U;
  for (unsigned i = 0; i < count; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, defined_.data() + address[i] / 8, sizeof bits);
    all &= bits >> address[i] % 8;
  }
  return (all & wanted) == wanted;
}

std::uint32_t Lds::defined_bits(std::uint32_t address, unsigned bytes) const {
  const std::uint32_t first = address / 8;
  const std::uint32_t bits =
      defined_[first] | std::uint32_t{defined_[first + 1]} << 8 | std::uint32_t{defined_[first + 2]} << 16;
  return bits >> address % 8 & ((1U << bytes) - 1);
}

void Lds::define(std::uint32_t address, unsigned bytes) {
  const std::uint32_t first = address / 8;
  const std::uint32_t bits = ((1U << bytes) - 1) << address % 8;
  defined_[first] |= static_cast<std::uint8_t>(bits);
  defined_[first + 1] |= static_cast<std::uint8_t>(bits >> 8);
  defined_[first + 2] |= static_cast<std::uint8_t>(bits >> 16);
}

void Lds::undefine(std::uint32_t address) {
  defined_[address / 8] &= static_cast<std::uint8_t>(~(1U << address % 8));
}

void Lds::split(Cell& block, std::uint32_t address) {
  if (dwords_.size() < 4 * blocks_.size()) dwords_.resize(4 * blocks_.size());
  std::fill_n(dwords_.begin() + address / 16 * 4, 4, block);
  block.mixed = true;
}

template <class F>
void Lds::each_cell(std::uint32_t address, unsigned bytes, F&& f) {
  for (std::uint32_t at = address; at < address + bytes;) {
    Cell& block = blocks_[at / 16];
    if (!block.mixed) {
      if (at % 16 == 0 && address + bytes - at >= 16) {
        f(block);
        at += 16;
        continue;
      }
      split(block, at);
    }
    Cell& c = dwords_[at / 4];
    const std::uint32_t next = std::min(address + bytes, (at / 4 + 1) * 4);
    if (next - at == 4 && !c.mixed) {
      f(c);
      at = next;
      continue;
    }
    if (bytes_.size() < 4 * dwords_.size()) bytes_.resize(4 * dwords_.size());
    if (!c.mixed) {
      std::fill_n(bytes_.begin() + at / 4 * 4, 4, c);
      c.mixed = true;
    }
    for (; at < next; ++at) f(bytes_[at]);
  }
}

void Lds::read_cell(Cell& c, unsigned wave, std::uint32_t epoch, Result& result) {
  const std::uint32_t now = epoch + 1;
  if (c.write_epoch >= now && c.writer != wave) {
    result = {c.write_carried ? Clash::unwaited : Clash::race, c.writer, true};
  }
  if (c.read_epoch < now) {
    c.read_epoch = now;
    c.readers = 0;
    c.read_carried = false;
  }
  c.readers |= 1U << wave;
}

void Lds::write_cell(Cell& c, unsigned wave, std::uint32_t epoch, bool may_meet_writer, Result& result) {
  const std::uint32_t now = epoch + 1;
  if (c.write_epoch >= now && c.writer != wave && !may_meet_writer) {
    result = {c.write_carried ? Clash::unwaited : Clash::race, c.writer, true};
  }
  const std::uint32_t others = c.readers & ~(1U << wave);
  if (c.read_epoch >= now && others != 0) {
    result = {c.read_carried ? Clash::unwaited : Clash::race,
              static_cast<std::uint8_t>(std::countr_zero(others)), false};
  }
  c.write_epoch = now;
  c.writer = static_cast<std::uint8_t>(wave);
  c.write_carried = false;
  c.atomic = false;
}

Lds::Result Lds::on_read(unsigned wave, std::uint32_t epoch, std::uint32_t address, unsigned bytes) {
  Result result;
  if (!track_) return result;
  each_cell(address, bytes, [&](Cell& c) { read_cell(c, wave, epoch, result); });
  return result;
}

bool Lds::read_blocks(unsigned wave, std::uint32_t epoch, const std::uint32_t* address, unsigned count) {
  const std::uint32_t now = epoch + 1;
  const std::uint32_t bit = 1U << wave;
  Cell* blocks = blocks_.data();
  std::uint32_t slow = 0;
  for (unsigned i = 0; i < count; ++i) {
    const Cell& c = blocks[address[i] / 16];
    slow |= static_cast<std::uint32_t>(c.mixed) |
            (static_cast<std::uint32_t>(c.write_epoch >= now) & static_cast<std::uint32_t>(c.writer != wave));
  }
  if (slow != 0) return false;
  for (unsigned i = 0; i < count; ++i) {
    Cell& c = blocks[address[i] / 16];
    if (c.read_epoch < now) {
      c.read_epoch = now;
      c.readers = bit;
      c.read_carried = false;
    } else {
      c.readers |= bit;
    }
  }
  return true;
}

bool Lds::write_blocks(unsigned wave, std::uint32_t epoch, const std::uint32_t* address, unsigned count) {
  const std::uint32_t now = epoch + 1;
  const std::uint32_t others = ~(1U << wave);
  Cell* blocks = blocks_.data();
  for (unsigned i = 0; i < count; ++i) {
    const Cell& c = blocks[address[i] / 16];
    if (c.mixed || (c.write_epoch >= now && c.writer != wave) ||
        (c.read_epoch >= now && (c.readers & others) != 0)) {
      return false;
    }
  }
  for (unsigned i = 0; i < count; ++i) {
    Cell& c = blocks[address[i] / 16];
    c.write_epoch = now;
    c.writer = static_cast<std::uint8_t>(wave);
    c.write_carried = false;
    c.atomic = false;
  }
  return true;
}

Lds::Result Lds::on_write(unsigned wave, std::uint32_t epoch, std::uint32_t address, unsigned bytes,
                          bool same_value) {
  Result result;
  if (!track_) return result;
  each_cell(address, bytes, [&](Cell& c) { write_cell(c, wave, epoch, same_value, result); });
  return result;
}

Lds::Result Lds::on_atomic(unsigned wave, std::uint32_t epoch, std::uint32_t address) {
  Result result;
  if (!track_) return result;
  each_cell(address, 4, [&](Cell& c) {
    write_cell(c, wave, epoch, c.atomic, result);
    c.atomic = true;
  });
  return result;
}

void Lds::carry_over(unsigned wave, std::uint32_t epoch, std::uint32_t address, unsigned bytes, bool store) {
  if (!track_) return;
  const std::uint32_t now = epoch + 1;
  each_cell(address, bytes, [&](Cell& c) {
    if (store) {
      if (c.writer != wave || c.write_epoch == 0) return;
      c.write_epoch = now;
      c.write_carried = true;
      return;
    }
    if (c.read_epoch < now) c.readers = 0;
    c.read_epoch = now;
    c.readers |= 1U << wave;
    c.read_carried = true;
  });
}

}  // namespace wavejit::sim
