// SPDX-License-Identifier: MIT
// insert_waits on random programs, judged by WaitOracle, which shares no code with it: no path
// touches anything in flight, and no wait could ask for less.
#include <catch2/catch.hpp>

#include "generator/passes/passes.hpp"
#include "tests/generator/passes/random_kernel.hpp"
#include "tests/generator/passes/wait_oracle.hpp"

using namespace wavejit;
using namespace wavejit::test;

namespace {

constexpr unsigned edge_limit = 3;

std::string faults(const ir::Kernel& kernel) { return fault_on_some_path(kernel, edge_limit).value_or(""); }

/// `kernel` with one count of one of its waits raised by one, for every wait and count in turn.
template <class F>
void for_each_weaker(const ir::Kernel& kernel, F&& f) {
  for (std::size_t b = 0; b < kernel.blocks.size(); ++b)
    for (std::size_t i = 0; i < kernel.blocks[b].insts.size(); ++i) {
      const isa::Instruction& mi = kernel.blocks[b].insts[i].mi;
      const std::string_view name = mi.info().name;
      if (name.starts_with("s_wait_")) {
        for (const int step : {1, 0x100}) {
          if (step != 1 && !name.ends_with("cnt_dscnt")) continue;
          ir::Kernel weaker = kernel;
          weaker.blocks[b].insts[i].mi.src[0].value += step;
          f(weaker);
        }
      }
      if (mi.op == Opcode::s_waitcnt_vscnt) {
        ir::Kernel weaker = kernel;
        ++weaker.blocks[b].insts[i].mi.src[1].value;
        f(weaker);
      }
      if (mi.op != Opcode::s_waitcnt) continue;
      for (std::uint8_t isa::WaitCounts::*field : {&isa::WaitCounts::vmcnt, &isa::WaitCounts::lgkmcnt}) {
        isa::WaitCounts counts =
            isa::decode_waitcnt(static_cast<std::uint16_t>(mi.src[0].value), *kernel.target);
        if (counts.*field == isa::WaitCounts::unlimited) continue;
        ++(counts.*field);
        ir::Kernel weaker = kernel;
        weaker.blocks[b].insts[i].mi.src[0] = imm(isa::encode_waitcnt(counts, *kernel.target));
        f(weaker);
      }
    }
}

target::Target shared_store_counter() {
  target::Target target = *target::find("gfx1151");
  target.waits.vscnt = 0;
  return target;
}

}  // namespace

TEST_CASE("straight lines: waits are right and none could be weaker", "[insert_waits]") {
  const target::Target gfx9_like = shared_store_counter();
  unsigned weakened = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const target::Target& target = seed % 4 == 3   ? gfx9_like
                                   : seed % 4 == 2 ? *target::find("gfx1201")
                                                   : *target::find("gfx1151");
    LateKernel k = random_kernel(target, {.instructions = 40, .scalar_loads = seed % 2 == 0}, seed);
    REQUIRE(passes::insert_waits(k.kernel));
    INFO("seed " << seed);
    REQUIRE(faults(k.kernel).empty());
    for_each_weaker(k.kernel, [&](const ir::Kernel& weaker) {
      ++weakened;
      CHECK_FALSE(faults(weaker).empty());
    });
  }
  CHECK(weakened > 1000);
}

TEST_CASE("the oracle finds faults where no waits were inserted", "[insert_waits]") {
  unsigned found = 0;
  for (unsigned seed = 0; seed < 50; ++seed)
    found += faults(random_kernel(*target::find("gfx1151"), {}, seed).kernel).empty() ? 0 : 1;
  CHECK(found == 50);
}

TEST_CASE("loops and branches: waits are right on all paths", "[insert_waits]") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    LateKernel k = random_kernel(*target::find(seed % 3 == 0 ? "gfx1201" : "gfx1151"),
                                 {.blocks = 2 + seed % 3,
                                  .instructions = 10,
                                  .scalar_loads = seed % 2 == 0,
                                  .given_waits = seed % 5 == 0},
                                 seed);
    REQUIRE(passes::insert_waits(k.kernel));
    INFO("seed " << seed);
    REQUIRE(faults(k.kernel).empty());
  }
}

TEST_CASE("loops and branches: without scalar loads no wait could be weaker", "[insert_waits]") {
  unsigned weakened = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    LateKernel k =
        random_kernel(*target::find(seed % 2 == 0 ? "gfx1201" : "gfx1151"),
                      {.blocks = 2 + seed % 3, .instructions = 8, .scalar_loads = false}, 1000 + seed);
    REQUIRE(passes::insert_waits(k.kernel));
    INFO("seed " << seed);
    for_each_weaker(k.kernel, [&](const ir::Kernel& weaker) {
      ++weakened;
      CHECK_FALSE(faults(weaker).empty());
    });
  }
  CHECK(weakened > 500);
}

TEST_CASE("inserting waits a second time changes nothing", "[insert_waits]") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    LateKernel k = random_kernel(*target::find(seed % 2 == 0 ? "gfx1201" : "gfx1151"),
                                 {.blocks = 3, .instructions = 12}, seed);
    REQUIRE(passes::insert_waits(k.kernel));
    const std::vector<std::string> once = lines_of(k.kernel);
    REQUIRE(passes::insert_waits(k.kernel));
    INFO("seed " << seed);
    CHECK(lines_of(k.kernel) == once);
  }
}
