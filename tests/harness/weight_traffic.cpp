// SPDX-License-Identifier: MIT
#include "tests/harness/weight_traffic.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>

namespace wavejit::harness {
namespace {

using isa::Operand;

class Counter {
 public:
  Counter(const sim::Probe& probe, unsigned lanes, std::uint64_t base, std::uint64_t size)
      : probe_(probe), lanes_(lanes), base_(base), size_(size) {}

  void look(const isa::Instruction& inst, std::uint32_t index);
  [[nodiscard]] WeightTraffic finish();

 private:
  [[nodiscard]] std::uint32_t scalar(const Operand& o) const {
    if (o.kind == Operand::Kind::imm) return static_cast<std::uint32_t>(o.value);
    return o.is_physical(isa::RegClass::sgpr, isa::sreg::null) ? 0 : probe_.sgpr(o.index);
  }
  void access(const isa::Instruction& inst, std::uint32_t index, std::uint64_t exec);

  const sim::Probe& probe_;
  const unsigned lanes_;  ///< of a wave
  std::uint64_t base_, size_;
  WeightTraffic t_;
  std::map<std::uint64_t, std::uint64_t> fetches_;  // per byte
};

void Counter::look(const isa::Instruction& inst, std::uint32_t index) {
  const isa::Pipe pipe = inst.pipe();
  const bool memory = pipe == isa::Pipe::vmem;
  if (!memory && pipe != isa::Pipe::valu && pipe != isa::Pipe::dot && pipe != isa::Pipe::trans) return;
  std::uint64_t exec = probe_.sgpr(isa::sreg::exec_lo);
  if (lanes_ == 64) exec |= std::uint64_t{probe_.sgpr(isa::sreg::exec_lo + 1)} << 32;
  t_.vector_slots += lanes_;
  t_.idle_slots += lanes_ - static_cast<unsigned>(std::popcount(exec));
  if (memory && inst.has(isa::flag::buffer)) access(inst, index, exec);
}

void Counter::access(const isa::Instruction& inst, std::uint32_t index, std::uint64_t exec) {
  const unsigned at = inst.has(isa::flag::load) ? 0 : 1;  // a store's data comes first
  const Operand &address = inst.src[at], &descriptor = inst.src[at + 1U];
  const std::uint32_t soffset = scalar(inst.src[at + 2U]), records = probe_.sgpr(descriptor.index + 2);
  const std::uint64_t base =
      probe_.sgpr(descriptor.index) | std::uint64_t{probe_.sgpr(descriptor.index + 1) & 0xFFFF} << 32;
  TensorLoad load;
  load.instruction = index;
  load.lane_bytes = lane_bytes(inst);
  std::set<std::uint64_t> touched;
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    if ((exec >> lane & 1) == 0) continue;
    std::uint64_t offset = static_cast<std::uint32_t>(inst.mods.offset);
    if (inst.mods.offen) offset += probe_.vgpr(address.index, lane);
    if (offset + soffset + load.lane_bytes > records) {
      ++t_.idle_slots;
      continue;
    }
    ++load.lanes;
    for (unsigned b = 0; b < load.lane_bytes; ++b) touched.insert(base + offset + soffset + b - base_);
  }
  if (!inst.has(isa::flag::load) || base + (records == 0 ? 0 : records - 1) - base_ >= size_) return;
  t_.load_slots += lanes_;
  t_.idle_load_slots += lanes_ - load.lanes;
  load.bytes = touched.size();
  std::uint64_t previous = 0;
  for (const std::uint64_t byte : touched) {
    if (byte != *touched.begin() && byte != previous + 1) load.gaps.push_back(byte - previous - 1);
    previous = byte;
    ++fetches_[byte];
  }
  if (!touched.empty()) {
    load.first = *touched.begin();
    load.end = previous + 1;
  }
  t_.loads.push_back(std::move(load));
}

WeightTraffic Counter::finish() {
  std::set<std::uint64_t> segments;
  for (const auto& [byte, count] : fetches_) {
    segments.insert((base_ + byte) / 64);
    t_.most_fetches = std::max(t_.most_fetches, count);
  }
  t_.bytes = fetches_.size();
  t_.segments = segments.size();
  return std::move(t_);
}

double share(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace

unsigned lane_bytes(const isa::Instruction& inst) {
  switch (inst.op) {
    case isa::Opcode::buffer_load_u8:
    case isa::Opcode::buffer_load_i8:
      return 1;
    case isa::Opcode::buffer_load_u16:
    case isa::Opcode::buffer_load_i16:
    case isa::Opcode::buffer_load_d16_b16:
    case isa::Opcode::buffer_load_d16_hi_b16:
      return 2;
    default:
      break;
  }
  return (inst.has(isa::flag::load) ? inst.dst[0].width : inst.src[0].width) * 4U;
}

double WeightTraffic::idle() const { return share(idle_slots, vector_slots); }
double WeightTraffic::idle_loads() const { return share(idle_load_slots, load_slots); }

Result<WeightTraffic> weight_traffic(const lower::DecodedKernel& kernel, const sim::Program& program,
                                     sim::Memory& memory, const sim::LaunchParams& launch, std::uint64_t base,
                                     std::uint64_t size) {
  auto probe = sim::Probe::start(program, memory, launch);
  if (!probe) return std::unexpected(probe.error());
  Counter counter(*probe, kernel.wavefront_size, base, size);
  while (!probe->ended()) {
    const std::uint32_t index = probe->next();
    if (index >= kernel.instructions.size())
      return fail(ErrorCode::simulation, "the wave ran past its last instruction");
    counter.look(kernel.instructions[index].inst, index);
    probe->run(1);
  }
  return counter.finish();
}

}  // namespace wavejit::harness
