// SPDX-License-Identifier: MIT
// Technique 2: software pipelining by rotation.
//
// Every instruction of a counted loop carries a stage. Stage s of iteration i runs at time step
// i + lag(s), with lag(0) = 0, lag(1) = depth, lag(2) = depth + 1. A time step runs the stages in
// order of falling lag, so that the oldest iteration finishes first; stages of one lag keep their
// order. With T iterations the steps 0 .. T-1+max lag fall into a prologue (young stages only), the
// steady loop and an epilogue (old stages only): nothing is loaded for an iteration that does not
// exist.
//
// A register written in one stage and read in a stage that lags d steps behind is live across d
// rotations: it gets d copies, iteration i using copy i mod d, which needs an unrolled body of a
// multiple of d steps. LDS rings are addressed by iteration: where the buffer of a step is known
// when generating, it goes into the immediate offset; in a steady loop of one step the address
// registers alternate. An unroll that does not fit either rule is rounded up.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "generator/ir/builder.hpp"
#include "generator/passes/passes.hpp"

namespace wavejit::passes {
namespace {

constexpr unsigned max_stages = 3;

struct RegisterUse {
  bool defined = false, used = false, carried = false;
  unsigned first_def_stage = max_stages;
  unsigned last_use_stage = 0;
};

/// Index of the address operand of an LDS access: always the first source.
constexpr unsigned lds_address = 0;

/// Loads to LDS find their buffer by M0, which the loop computes itself.
bool addresses_ring(const ir::Instruction& inst) {
  return inst.mem.ring && inst.mem.object >= 0 && inst.mi.pipe() == isa::Pipe::lds;
}

class Rotation {
 public:
  Rotation(ir::Kernel& kernel, std::size_t block, const PipelineOptions& options)
      : kernel_(kernel),
        builder_(kernel),
        body_(kernel.blocks[block]),
        loop_(*body_.loop),
        unroll_(options.unroll) {
    lag_ = {0, options.depth, options.depth + 1};
  }

  Result<std::vector<ir::Block>> run();

 private:
  Result<void> analyse();
  void emit_step(std::vector<ir::Instruction>& out, std::int64_t t, std::int64_t copy, bool steady);
  void emit_stage(std::vector<ir::Instruction>& out, unsigned stage, std::int64_t t, std::int64_t copy,
                  bool steady);
  void emit_update(std::vector<ir::Instruction>& out, const ir::Induction& induction, std::int64_t step);
  void rename(ir::Instruction& inst, std::int64_t iteration);
  /// Makes an LDS address register point at that buffer.
  void move_ring(std::vector<ir::Instruction>& out, std::uint32_t id, std::uint32_t buffer);
  void address_ring(std::vector<ir::Instruction>& out, ir::Instruction& inst, std::int64_t iteration,
                    bool steady);
  void enter_steady_rings(std::vector<ir::Instruction>& out, std::int64_t t);
  void alternate_rings(std::vector<ir::Instruction>& out);
  [[nodiscard]] bool folds(const ir::Induction& induction) const;
  [[nodiscard]] bool rings_alternate() const { return !ring_state_.empty() && unroll_ % ring_buffers_ != 0; }
  [[nodiscard]] std::int64_t trips() const { return loop_.trip_count; }
  static ir::Instruction make(isa::Opcode op, isa::Operand dst, isa::Operand a, isa::Operand b,
                              std::string comment);

  ir::Kernel& kernel_;
  ir::Builder builder_;
  const ir::Block body_;  // copies: the kernel's block list changes below
  const ir::CountedLoop loop_;
  std::int64_t unroll_;
  std::array<std::int64_t, max_stages> lag_{};
  std::int64_t max_lag_ = 0;
  std::map<std::uint32_t, std::vector<isa::Operand>> copies_;  // virtual id -> instances, when more than one
  std::map<std::uint32_t, std::uint32_t> ring_state_;          // LDS address register -> buffer it points at
  std::map<std::uint32_t, unsigned> ring_stage_;
  std::set<std::uint32_t> ring_second_;  // registers that enter the loop at buffer 1
  std::uint32_t ring_buffers_ = 1, ring_distance_ = 0;
  isa::Operand ring_delta_;
};

ir::Instruction Rotation::make(isa::Opcode op, isa::Operand dst, isa::Operand a, isa::Operand b,
                               std::string comment) {
  ir::Instruction inst;
  inst.mi.op = op;
  inst.mi.dst_count = 1;
  inst.mi.dst[0] = dst;
  inst.mi.src_count = b.kind == isa::Operand::Kind::none ? 1 : 2;
  inst.mi.src[0] = a;
  inst.mi.src[1] = b;
  inst.comment = std::move(comment);
  return inst;
}

Result<void> Rotation::analyse() {
  std::map<std::uint32_t, RegisterUse> uses;
  std::set<unsigned> stages;
  for (const ir::Instruction& inst : body_.insts) {
    if (inst.stage >= max_stages)
      return fail(ErrorCode::invalid_ir, "pipeline: loop " + loop_.name + " has a stage above 2");
    stages.insert(inst.stage);
    isa::for_each_use(inst.mi, [&](const isa::Operand& o) {
      if (!o.is_virtual) return;
      RegisterUse& u = uses[o.index];
      u.used = true;
      // A first half written over an undefined register is no carried value.
      u.carried = u.carried || (!u.defined && !std::ranges::any_of(inst.mi.dst, [&](const isa::Operand& d) {
                    return d.is_reg() && d.is_virtual && d.index == o.index && d.cls == o.cls;
                  }));
      u.last_use_stage = std::max<unsigned>(u.last_use_stage, inst.stage);
    });
    isa::for_each_def(inst.mi, [&](const isa::Operand& o) {
      if (!o.is_virtual) return;
      RegisterUse& u = uses[o.index];
      u.defined = true;
      u.first_def_stage = std::min<unsigned>(u.first_def_stage, inst.stage);
    });
    if (addresses_ring(inst)) {
      const ir::LdsRegion& region = kernel_.lds[static_cast<std::size_t>(inst.mem.object)];
      ring_buffers_ = std::max(ring_buffers_, region.buffers);
      ring_distance_ = region.distance;
      const std::uint32_t base = inst.mi.src[lds_address].index;
      if (ring_stage_.contains(base) && ring_stage_[base] != inst.stage)
        return fail(ErrorCode::invalid_ir, "pipeline: an LDS ring address register serves two stages");
      ring_stage_[base] = inst.stage;
      ring_state_[base] = 0;
    }
  }
  if (ring_buffers_ > 2) return fail(ErrorCode::invalid_ir, "pipeline: LDS rings of more than two buffers");
  if (ring_buffers_ == 1) ring_state_.clear();
  for (const unsigned s : stages) max_lag_ = std::max(max_lag_, lag_[s]);

  for (const auto& [id, use] : uses) {
    if (!use.defined || !use.used || use.last_use_stage <= use.first_def_stage) continue;
    const std::int64_t distance = lag_[use.last_use_stage] - lag_[use.first_def_stage];
    if (distance == 0) continue;
    if (use.carried)
      return fail(ErrorCode::invalid_ir,
                  "pipeline: register " + kernel_.vregs[id].name + " is carried across stages");
    if (distance > 1) copies_[id].resize(static_cast<std::size_t>(distance));
  }
  // A body of one step alternates its address registers; a longer one knows every step's buffer.
  if (!ring_state_.empty() && unroll_ > 1)
    unroll_ = std::lcm(unroll_, static_cast<std::int64_t>(ring_buffers_));
  for (auto& [id, instances] : copies_) {
    unroll_ = std::lcm(unroll_, static_cast<std::int64_t>(instances.size()));
    const ir::VirtualRegister original = kernel_.vregs[id];
    instances[0] = isa::phys(original.cls, id, original.width);
    instances[0].is_virtual = true;
    for (std::size_t c = 1; c < instances.size(); ++c) {
      instances[c] = instances[0];
      instances[c].index = static_cast<std::uint32_t>(kernel_.vregs.size());
      kernel_.vregs.push_back(original);
      kernel_.vregs.back().name += "_" + std::to_string(c);
    }
  }
  return {};
}

void Rotation::rename(ir::Instruction& inst, std::int64_t iteration) {
  const auto apply = [&](isa::Operand& o) {
    if (!o.is_reg() || !o.is_virtual) return;
    const auto it = copies_.find(o.index);
    if (it == copies_.end()) return;
    o.index = it->second[static_cast<std::size_t>(iteration) % it->second.size()].index;
  };
  for (unsigned i = 0; i < inst.mi.dst_count; ++i) apply(inst.mi.dst[i]);
  for (unsigned i = 0; i < inst.mi.src_count; ++i) apply(inst.mi.src[i]);
}

void Rotation::move_ring(std::vector<ir::Instruction>& out, std::uint32_t id, std::uint32_t buffer) {
  std::uint32_t& state = ring_state_[id];
  if (state == buffer) return;
  isa::Operand base = isa::vgpr(id);
  base.is_virtual = true;
  const auto distance = static_cast<std::int64_t>(ring_distance_);
  out.push_back(make(isa::Opcode::v_add_nc_u32, base, isa::imm(buffer > state ? distance : -distance), base,
                     buffer > state ? "on to the second LDS buffer" : "back to the first LDS buffer"));
  out.back().stage = static_cast<std::uint8_t>(ring_stage_.at(id));
  state = buffer;
}

void Rotation::address_ring(std::vector<ir::Instruction>& out, ir::Instruction& inst, std::int64_t iteration,
                            bool steady) {
  if (!addresses_ring(inst) || ring_buffers_ == 1) return;
  if (steady && rings_alternate()) return;  // the register points at the right buffer by itself
  const isa::Operand base = inst.mi.src[lds_address];
  const auto needed = static_cast<std::uint32_t>(iteration % ring_buffers_);
  const std::uint32_t& state = ring_state_[base.index];
  constexpr std::int64_t farthest = 65535;  // of an LDS instruction's immediate offset
  const bool out_of_reach = needed > state && inst.mi.mods.offset + std::int64_t{ring_distance_} > farthest;
  if (needed < state || out_of_reach) move_ring(out, base.index, needed);
  inst.mi.mods.offset += static_cast<std::int32_t>((needed - state) * ring_distance_);
}

void Rotation::enter_steady_rings(std::vector<ir::Instruction>& out, std::int64_t t) {
  if (!rings_alternate()) return;
  for (auto& [id, state] : ring_state_) {
    const auto needed = static_cast<std::uint32_t>((t - lag_[ring_stage_[id]]) % ring_buffers_);
    isa::Operand base = isa::vgpr(id);
    base.is_virtual = true;
    if (needed != state) {
      const std::int64_t move = needed > state ? ring_distance_ : -static_cast<std::int64_t>(ring_distance_);
      out.push_back(make(isa::Opcode::v_add_nc_u32, base, isa::imm(move), base,
                         "enter the loop at buffer " + std::to_string(needed)));
      state = needed;
    }
    if (needed == 1) ring_second_.insert(id);
  }
  ring_delta_ = builder_.sgpr("lds_flip");
  out.push_back(
      make(isa::Opcode::s_mov_b32, ring_delta_, isa::imm(ring_distance_), {}, "distance of the LDS buffers"));
}

void Rotation::alternate_rings(std::vector<ir::Instruction>& out) {
  if (!rings_alternate()) return;
  for (const auto& [id, state] : ring_state_) {
    isa::Operand base = isa::vgpr(id);
    base.is_virtual = true;
    if (ring_second_.contains(id)) {
      out.push_back(make(isa::Opcode::v_subrev_nc_u32, base, ring_delta_, base, "other LDS buffer"));
    } else {
      out.push_back(make(isa::Opcode::v_add_nc_u32, base, ring_delta_, base, "other LDS buffer"));
    }
    out.back().stage = static_cast<std::uint8_t>(ring_stage_.at(id));
  }
  out.push_back(make(isa::Opcode::s_sub_i32, ring_delta_, isa::imm(0), ring_delta_, {}));
}

/// An induction folds into the immediates of an unrolled body when it is nothing but an offset of
/// buffer accesses and the immediates stay in range.
bool Rotation::folds(const ir::Induction& induction) const {
  if (unroll_ == 1) return false;
  for (const ir::Instruction& inst : body_.insts) {
    bool used = false;
    isa::for_each_use(inst.mi, [&](const isa::Operand& o) {
      used = used || (o.is_virtual && o.cls == induction.reg.cls && o.index == induction.reg.index);
    });
    if (!used) continue;
    if (!inst.mi.has(isa::flag::buffer)) return false;
    const std::int64_t last = inst.mi.mods.offset + (unroll_ - 1) * induction.step;
    if (last < 0 || last > kernel_.target->buffer_imm_max) return false;
  }
  return true;
}

void Rotation::emit_update(std::vector<ir::Instruction>& out, const ir::Induction& induction,
                           std::int64_t step) {
  const bool scalar = induction.reg.is_sgpr();
  out.push_back(scalar ? make(isa::Opcode::s_add_u32, induction.reg, induction.reg, isa::imm(step), {})
                       : make(isa::Opcode::v_add_nc_u32, induction.reg, isa::imm(step), induction.reg, {}));
  out.back().stage = induction.stage;
}

void Rotation::emit_stage(std::vector<ir::Instruction>& out, unsigned stage, std::int64_t t,
                          std::int64_t copy, bool steady) {
  const std::int64_t iteration = t - lag_[stage];
  for (const ir::Instruction& original : body_.insts) {
    if (original.stage != stage) continue;
    ir::Instruction inst = original;
    rename(inst, iteration);
    address_ring(out, inst, iteration, steady);
    if (steady) {
      for (const ir::Induction& induction : loop_.inductions) {
        bool used = false;
        isa::for_each_use(inst.mi, [&](const isa::Operand& o) {
          used = used || (o.is_virtual && o.cls == induction.reg.cls && o.index == induction.reg.index);
        });
        if (used && folds(induction)) inst.mi.mods.offset += static_cast<std::int32_t>(copy * induction.step);
      }
    }
    out.push_back(std::move(inst));
  }
  for (const ir::Induction& induction : loop_.inductions) {
    if (induction.stage != stage) continue;
    if (steady && folds(induction)) {
      if (copy == unroll_ - 1) emit_update(out, induction, induction.step * unroll_);
    } else if (iteration + 1 < trips()) {
      emit_update(out, induction, induction.step);
    }
  }
}

void Rotation::emit_step(std::vector<ir::Instruction>& out, std::int64_t t, std::int64_t copy, bool steady) {
  std::array<unsigned, max_stages> order{0, 1, 2};
  std::ranges::stable_sort(order, [&](unsigned a, unsigned b) { return lag_[a] > lag_[b]; });
  for (const unsigned stage : order) {
    const std::int64_t iteration = t - lag_[stage];
    if (iteration >= 0 && iteration < trips()) emit_stage(out, stage, t, copy, steady);
  }
}

Result<std::vector<ir::Block>> Rotation::run() {
  if (auto ok = analyse(); !ok) return std::unexpected(ok.error());
  const std::int64_t steady_first = max_lag_;
  const std::int64_t steady_steps = std::max<std::int64_t>(trips() - max_lag_, 0);
  std::int64_t rounds = steady_steps / unroll_;
  if (rounds < 2) rounds = 0;  // a loop that runs once is straight-line code

  ir::Block prologue, epilogue;
  prologue.label = body_.label + "_prologue";
  prologue.comment = "first loads, and steps before every stage has work";
  epilogue.label = body_.label + "_epilogue";
  epilogue.comment = "steps that drain the pipeline";

  std::int64_t t = 0;
  const std::int64_t end = trips() + max_lag_;
  if (rounds > 0)
    for (; t < steady_first; ++t) emit_step(prologue.insts, t, 0, false);

  std::vector<ir::Block> blocks;
  if (rounds > 0) {
    enter_steady_rings(prologue.insts, t);
    ir::Block steady;
    steady.label = body_.label;
    steady.comment = body_.comment;
    const std::map<std::uint32_t, std::uint32_t> entered = ring_state_;
    for (std::int64_t copy = 0; copy < unroll_; ++copy) emit_step(steady.insts, t + copy, copy, true);
    for (const auto& [id, buffer] : entered) move_ring(steady.insts, id, buffer);
    alternate_rings(steady.insts);
    ir::CountedLoop loop;
    loop.name = loop_.name;
    loop.trip_count = rounds;
    for (ir::Induction induction : loop_.inductions) {
      if (induction.constant_start) *induction.constant_start += (t - lag_[induction.stage]) * induction.step;
      induction.step *= unroll_;
      loop.inductions.push_back(induction);
    }
    steady.loop = std::move(loop);
    t += rounds * unroll_;
    if (rings_alternate())
      for (auto& [id, state] : ring_state_)
        state = static_cast<std::uint32_t>((state + rounds * unroll_) % 2);
    blocks.push_back(std::move(prologue));
    blocks.push_back(std::move(steady));
  }
  for (; t < end; ++t) emit_step(epilogue.insts, t, 0, false);
  blocks.push_back(std::move(epilogue));
  return blocks;
}

/// Branch labels are block indexes: keep them true when blocks are inserted after `position`.
void shift_labels(ir::Kernel& kernel, std::size_t position, std::size_t added) {
  for (ir::Block& block : kernel.blocks)
    for (ir::Instruction& inst : block.insts)
      for (unsigned i = 0; i < inst.mi.src_count; ++i) {
        isa::Operand& o = inst.mi.src[i];
        if (o.kind == isa::Operand::Kind::label && o.index > position)
          o.index += static_cast<std::uint32_t>(added);
      }
}

}  // namespace

Result<void> pipeline(ir::Kernel& kernel, const PipelineOptions& options) {
  if (options.depth > 2)
    return fail_field(ErrorCode::invalid_config, "pipeline depth", std::to_string(options.depth),
                      "0, 1 or 2");
  if (options.unroll < 1)
    return fail_field(ErrorCode::invalid_config, "unroll", std::to_string(options.unroll), "at least 1");
  for (std::size_t b = 0; b < kernel.blocks.size(); ++b) {
    if (!kernel.blocks[b].loop) continue;
    auto blocks = Rotation(kernel, b, options).run();
    if (!blocks) return std::unexpected(blocks.error());
    const std::size_t count = blocks->size();
    shift_labels(kernel, b, count - 1);
    const auto at = kernel.blocks.erase(kernel.blocks.begin() + static_cast<std::ptrdiff_t>(b));
    kernel.blocks.insert(at, std::make_move_iterator(blocks->begin()),
                         std::make_move_iterator(blocks->end()));
    b += count - 1;
  }
  return {};
}

}  // namespace wavejit::passes
