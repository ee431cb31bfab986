// SPDX-License-Identifier: MIT
#include "tools/wavejit/weight_counts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "generator/model/loops.hpp"

namespace wavejit::tools {
namespace {

using isa::Instruction;
using isa::Pipe;

constexpr unsigned weights_of_byte = 2, wide_bytes = 16;

/// Number of the kernel's argument of that name; -2 when it has none.
int argument(const PreparedKernel& kernel, std::string_view name) {
  const auto& args = kernel.kernel.ir.args;
  const auto at = std::ranges::find(args, name, &ir::KernelArg::name);
  return at == args.end() ? -2 : static_cast<int>(at - args.begin());
}

/// Operations of vector memory that may still be out; none where the instruction does not wait for it.
std::optional<unsigned> left_by(const Instruction& inst, const target::Target& target) {
  if (inst.op == isa::Opcode::s_waitcnt) {
    const unsigned left = isa::decode_waitcnt(static_cast<std::uint16_t>(inst.src[0].value), target).vmcnt;
    if (left != isa::WaitCounts::unlimited && left < target.waits.vmcnt) return left;
  }
  if (inst.op == isa::Opcode::s_wait_loadcnt) return static_cast<unsigned>(inst.src[0].value);
  return std::nullopt;
}

class Counter {
 public:
  Counter(const PreparedKernel& kernel, std::span<const int> tensors)
      : kernel_(kernel),
        tensors_(tensors),
        weights_(argument(kernel, "weights")),
        activations_(argument(kernel, "activations")),
        scales_(argument(kernel, "scales")),
        zero_points_(argument(kernel, "zero_points")) {}

  [[nodiscard]] bool loads_weights(std::size_t i) const {
    return tensors_[i] == weights_ && kernel_.code[i].has(isa::flag::load);
  }

  /// One place in the code, `times` executions of a wave.
  void add(std::size_t i, double times) {
    const Instruction& inst = kernel_.code[i];
    const Pipe pipe = inst.pipe();
    const bool vector = pipe == Pipe::valu || pipe == Pipe::trans || pipe == Pipe::dot;
    if (vector && inst.dual != isa::Dual::y && inst.op != isa::Opcode::v_nop) counts.valu += times;
    if (pipe == Pipe::matrix) counts.matrix += times;
    if (const auto left = left_by(inst, *kernel_.kernel.target)) {
      ++counts.waits;
      if (*left == 0) ++counts.full_waits;
    }
    if (loads_weights(i)) counts.weights += times * model::data_bytes(inst) * weights_of_byte;
    if (!inst.has(isa::flag::load)) return;
    if (tensors_[i] == weights_ || tensors_[i] == activations_)
      ++(model::data_bytes(inst) >= wide_bytes ? counts.wide_loads : counts.narrow_loads);
    if (tensors_[i] == scales_ || tensors_[i] == zero_points_) ++counts.scale_loads;
  }

  WeightCounts counts;

 private:
  const PreparedKernel& kernel_;
  std::span<const int> tensors_;
  int weights_, activations_, scales_, zero_points_;
};

}  // namespace

Result<std::vector<int>> tensors_of(const PreparedKernel& kernel) {
  std::vector<int> in_order;
  for (const ir::Block& block : kernel.kernel.ir.blocks)
    for (const ir::Instruction& inst : block.insts)
      if (inst.mi.pipe() == Pipe::vmem)
        in_order.push_back(inst.mem.space == ir::MemoryTag::Space::global ? inst.mem.object : -1);
  std::vector<int> tensors(kernel.code.size(), -1);
  std::size_t next = 0;
  for (std::size_t i = 0; i < kernel.code.size(); ++i) {
    if (kernel.code[i].pipe() != Pipe::vmem) continue;
    if (next < in_order.size()) tensors[i] = in_order[next];
    ++next;
  }
  if (next != in_order.size())
    return fail(ErrorCode::internal,
                fmt::format("{} has {} memory instructions in its code object and {} in its IR; they should "
                            "be the same",
                            kernel.kernel.name, next, in_order.size()));
  return tensors;
}

Result<WeightCounts> count_weights(const PreparedKernel& kernel, std::span<const std::uint64_t> executed,
                                   unsigned waves) {
  const auto tensors = tensors_of(kernel);
  if (!tensors) return std::unexpected(tensors.error());
  Counter counter(kernel, *tensors);
  const auto loop = model::hot_loop(kernel.code);
  counter.counts.loop =
      loop && std::ranges::any_of(loop->own, [&](std::size_t i) { return counter.loads_weights(i); });
  if (counter.counts.loop) {
    for (const std::size_t i : loop->own) counter.add(i, 1);
  } else {
    for (std::size_t i = 0; i < kernel.code.size(); ++i)
      if (executed[i] > 0) counter.add(i, static_cast<double>(executed[i]) / waves);
  }
  return counter.counts;
}

}  // namespace wavejit::tools
