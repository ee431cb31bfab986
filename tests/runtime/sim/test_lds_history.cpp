// SPDX-License-Identifier: MIT
// Who clashes with whom in LDS, against a slow model: a list of accesses for each byte, in which a clash is
// looked up by the rule itself. It knows no blocks of 16 bytes, no dwords and no fast path for b128.
#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <tuple>

#include "runtime/device/sim/lds.hpp"

namespace wavejit::sim {
namespace {

using Clash = Lds::Clash;
constexpr std::uint32_t size = 128;

class Model {
 public:
  /// Whether any byte clashes, which waves may be named, and whether by a write.
  struct Answer {
    bool clash = false;
    std::set<std::tuple<Clash, unsigned, bool>> possible;
  };

  Answer read(unsigned wave, std::uint32_t epoch, std::uint32_t address, unsigned bytes) {
    Answer answer;
    for (std::uint32_t at = address; at < address + bytes; ++at) {
      Byte& byte = bytes_[at];
      clash_with_writer(byte, wave, epoch, answer);
      forget_readers(byte, epoch);
      byte.readers.insert(wave);
    }
    return answer;
  }
  enum class Store : std::uint8_t { changes, same_value, atomic };
  Answer write(unsigned wave, std::uint32_t epoch, std::uint32_t address, unsigned bytes, Store kind) {
    Answer answer;
    for (std::uint32_t at = address; at < address + bytes; ++at) {
      Byte& byte = bytes_[at];
      const bool tolerated = kind == Store::same_value || (kind == Store::atomic && byte.atomic);
      if (!tolerated) clash_with_writer(byte, wave, epoch, answer);
      if (byte.read_epoch == epoch)
        for (const unsigned other : byte.readers)
          if (other != wave)
            answer.possible.emplace(byte.read_carried ? Clash::unwaited : Clash::race, other, false);
      byte.written = true;
      byte.write_epoch = epoch;
      byte.writer = wave;
      byte.write_carried = false;
      byte.atomic = kind == Store::atomic;
    }
    answer.clash = !answer.possible.empty();
    return answer;
  }
  void carry(unsigned wave, std::uint32_t epoch, std::uint32_t address, unsigned bytes, bool store) {
    for (std::uint32_t at = address; at < address + bytes; ++at) {
      Byte& byte = bytes_[at];
      if (store) {
        if (!byte.written || byte.writer != wave) continue;
        byte.write_epoch = epoch;
        byte.write_carried = true;
      } else {
        forget_readers(byte, epoch);
        byte.readers.insert(wave);
        byte.read_carried = true;
      }
    }
  }

 private:
  struct Byte {
    bool written = false, write_carried = false, read_carried = false, atomic = false;
    std::uint32_t write_epoch = 0, read_epoch = 0;
    unsigned writer = 0;
    std::set<unsigned> readers;
  };
  static void clash_with_writer(const Byte& byte, unsigned wave, std::uint32_t epoch, Answer& answer) {
    if (!byte.written || byte.write_epoch != epoch || byte.writer == wave) return;
    answer.possible.emplace(byte.write_carried ? Clash::unwaited : Clash::race, byte.writer, true);
    answer.clash = true;
  }
  static void forget_readers(Byte& byte, std::uint32_t epoch) {
    if (byte.read_epoch == epoch) return;
    byte.read_epoch = epoch;
    byte.readers.clear();
    byte.read_carried = false;
  }
  std::array<Byte, size> bytes_{};
};

void agree(const Model::Answer& expected, const Lds::Result& found) {
  CHECK(expected.clash == (found.clash != Clash::none));
  if (expected.clash && found.clash != Clash::none)
    CHECK(expected.possible.contains({found.clash, found.other, found.other_wrote}));
}

TEST_CASE("clashes in LDS are those of a byte-wise history", "[sim][strict][lds]") {
  unsigned clashes = 0, fast = 0, slow = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    Lds lds;
    lds.reset(size, true);
    Model model;
    const unsigned waves = 1 + below(32);  // 32: the most in a workgroup
    std::uint32_t epoch = 0;
    // Some runs have wide accesses only: in them no block is ever split.
    const bool wide = seed % 3 == 0;
    for (unsigned step = 0; step < 120; ++step) {
      const unsigned wave = below(waves);
      const unsigned width = wide ? 16 : 1U << below(5);
      const std::uint32_t address = below(size / width) * width;
      switch (below(8)) {
        case 0:
          epoch += below(2);
          break;
        case 1: {
          const bool store = below(2) != 0;
          lds.carry_over(wave, epoch, address, width, store);
          model.carry(wave, epoch, address, width, store);
          break;
        }
        case 2: {
          const std::uint32_t dword = address / 4 * 4;
          if (wide) break;
          agree(model.write(wave, epoch, dword, 4, Model::Store::atomic), lds.on_atomic(wave, epoch, dword));
          break;
        }
        case 3:
        case 4: {
          const bool same = below(4) == 0;
          const auto expected = model.write(wave, epoch, address, width,
                                            same ? Model::Store::same_value : Model::Store::changes);
          if (width == 16 && !same && lds.write_blocks(wave, epoch, &address, 1)) {
            CHECK_FALSE(expected.clash);
            ++fast;
            break;
          }
          ++slow;
          clashes += expected.clash ? 1 : 0;
          agree(expected, lds.on_write(wave, epoch, address, width, same));
          break;
        }
        default: {
          const auto expected = model.read(wave, epoch, address, width);
          if (width == 16 && lds.read_blocks(wave, epoch, &address, 1)) {
            CHECK_FALSE(expected.clash);
            ++fast;
            break;
          }
          ++slow;
          clashes += expected.clash ? 1 : 0;
          agree(expected, lds.on_read(wave, epoch, address, width));
        }
      }
    }
  }
  CHECK(clashes > 1000);
  CHECK(fast > 1000);
  CHECK(slow > 1000);
}

TEST_CASE("blocks refused for one access note none of them", "[sim][strict][lds]") {
  Lds lds;
  lds.reset(64, true);
  lds.on_write(1, 0, 32, 16, false);
  const std::array<std::uint32_t, 3> reads{0, 16, 32};
  CHECK_FALSE(lds.read_blocks(0, 0, reads.data(), 3));
  CHECK(lds.read_blocks(0, 0, reads.data(), 2));
  CHECK(lds.read_blocks(0, 1, reads.data(), 3));  // a barrier later
  CHECK(lds.read_blocks(2, 1, reads.data(), 3));  // readers do not clash
  CHECK_FALSE(lds.write_blocks(0, 1, reads.data(), 1));
  const Lds::Result other = lds.on_write(0, 1, 0, 16, false);
  CHECK(other.clash == Lds::Clash::race);
  CHECK(other.other == 2);
  CHECK_FALSE(other.other_wrote);
  CHECK(lds.write_blocks(2, 2, reads.data(), 3));
  CHECK_FALSE(lds.write_blocks(1, 2, reads.data(), 3));
}

TEST_CASE("bytes of LDS are defined one by one", "[sim][lds]") {
  for (const unsigned bytes : {1U, 2U, 4U, 8U, 12U, 16U})
    for (std::uint32_t at = 0; at < 24; ++at) {
      CAPTURE(bytes, at);
      Lds lds;
      lds.reset(64, false);
      lds.define(at, bytes);
      for (std::uint32_t byte = 0; byte < 48; ++byte)
        CHECK((lds.defined_bits(byte, 1) != 0) == (byte >= at && byte < at + bytes));
      CHECK(lds.defined_bits(at, bytes) == (1U << bytes) - 1);
      const std::array<std::uint32_t, 2> there{at, at}, beside{at, at + 1};
      CHECK(lds.all_defined(there.data(), 2, bytes));
      CHECK_FALSE(lds.all_defined(beside.data(), 2, bytes));
      if (bytes < 16) CHECK_FALSE(lds.all_defined(there.data(), 2, bytes + 1));
      lds.undefine(at + bytes - 1);
      CHECK(lds.defined_bits(at, bytes) == (1U << (bytes - 1)) - 1);
    }
  Lds lds;
  lds.reset(64, false);
  lds.define_block(16);
  CHECK(lds.defined_bits(8, 16) == 0xFF00);
  CHECK(lds.defined_bits(24, 16) == 0x00FF);
  lds.reset(64, false);
  CHECK(lds.defined_bits(16, 16) == 0);
}

}  // namespace
}  // namespace wavejit::sim
