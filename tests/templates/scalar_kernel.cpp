// SPDX-License-Identifier: MIT
#include "tests/templates/scalar_kernel.hpp"

#include <catch2/catch.hpp>
#include <cstring>

#include "generator/lower/lower.hpp"
#include "generator/passes/passes.hpp"

namespace wavejit::test {
namespace {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

template <class T>
T must(Result<T> result) {
  if (!result) FAIL(result.error().message);
  return *std::move(result);
}

void store(ir::Builder& b, const Operand& output, const ScalarKernel::Inputs& in,
           const std::vector<Operand>& values) {
  const unsigned wave = b.kernel().target->wave_size;
  const Operand record = b.sgpr("record"), at = b.vgpr("record_at");
  b.emit(s_mul_i32, {record}, {in.workgroup, imm(static_cast<std::int64_t>(values.size()) * 4)});
  b.emit(wave == 64 ? s_mov_b64 : s_mov_b32, {isa::exec(wave)}, {imm(1)});
  b.emit(v_mov_b32, {at}, {record});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Operand value = b.vgpr("value");
    b.emit(v_mov_b32, {value}, {values[i]});
    ir::Instruction& inst = b.emit(global_store_b32, {}, {at, value, output});
    inst.mi.mods.offset = static_cast<std::int32_t>(4 * i);
    inst.mem = {ir::MemoryTag::Space::global, 1, false};
  }
}

}  // namespace

ScalarKernel::ScalarKernel(const std::string& target, const Piece& piece) {
  ir::Kernel k;
  k.target = target::find(target);
  REQUIRE(k.target != nullptr);
  REQUIRE_FALSE(k.target->workgroup_ids_in_ttmp);
  k.name = "scalar";
  k.args = {{"input", ir::ArgKind::buffer, 0, 8, ir::Access::read},
            {"output", ir::ArgKind::buffer, 8, 8, ir::Access::write},
            {"m", ir::ArgKind::scalar, 16, 4, ir::Access::read}};
  k.kernarg_size = 24;
  k.workgroup_size = k.target->wave_size;
  ir::Builder b(k);
  b.block("entry");
  k.entry.user_sgprs = 2;
  k.entry.kernarg = b.fixed(isa::RegClass::sgpr, "kernarg", 0, 2);
  k.entry.workgroup_id[0] = b.fixed(isa::RegClass::sgpr, "workgroup", 2);
  k.entry.workitem_id = b.fixed(isa::RegClass::vgpr, "workitem", 0);
  const Operand pointers = b.sgpr("pointers", 4), m = b.sgpr("m");
  b.emit(s_load_b128, {pointers}, {k.entry.kernarg, imm(0)});
  b.emit(s_load_b32, {m}, {k.entry.kernarg, imm(16)});
  const Inputs in{k.entry.workgroup_id[0], m, pointers.slice(0, 2), k.entry.workitem_id};
  const Results results = piece(b, in);
  values_ = results.values.size();
  target_ = k.target;
  store(b, pointers.slice(2, 2), in, results.values);
  const std::uint32_t end = b.block("end");
  b.emit(s_endpgm, {}, {});
  for (const auto& [block, inst] : results.exits) k.blocks[block].insts[inst].mi.src[0] = isa::label(end);

  if (auto ok = passes::run(k, {}); !ok) FAIL(ok.error().message);
  const std::string text = lower::print_assembly(k);
  INFO(text);
  const auto linked = must(lower::link(must(lower::assemble(text, *k.target))));
  const auto object = must(lower::decode(linked));
  program_ = must(sim::Program::create(object.kernels.front(), *k.target));
}

std::vector<std::optional<std::vector<std::uint32_t>>> ScalarKernel::run(
    std::uint32_t workgroups, std::uint32_t m, std::span<const std::byte> input) const {
  sim::Memory memory;
  const std::uint64_t in = must(memory.allocate(std::max<std::size_t>(input.size(), 1), 16, "input"));
  REQUIRE(memory.write(in, input));
  REQUIRE(memory.set_read_only(in, true));
  const std::size_t record = values_ * 4;
  const std::uint64_t out = must(memory.allocate(record * workgroups, 16, "output"));
  std::vector<std::byte> kernarg(24);
  std::memcpy(kernarg.data(), &in, 8);
  std::memcpy(kernarg.data() + 8, &out, 8);
  std::memcpy(kernarg.data() + 16, &m, 4);
  const unsigned lanes = target_->wave_size;
  const sim::RunReport report = must(
      sim::run(*program_, memory, {.grid = {workgroups, 1, 1}, .block = {lanes, 1, 1}, .kernarg = kernarg}));
  for (const sim::Fault& fault : report.faults) FAIL_CHECK(sim::to_string(fault));
  std::vector<std::optional<std::vector<std::uint32_t>>> results(workgroups);
  for (std::uint32_t w = 0; w < workgroups; ++w) {
    const std::uint64_t undefined = must(memory.undefined_bytes(out + w * record, record));
    if (undefined == record) continue;
    REQUIRE(undefined == 0);
    results[w].emplace(values_);
    REQUIRE(memory.read(out + w * record, std::as_writable_bytes(std::span(*results[w]))));
  }
  return results;
}

}  // namespace wavejit::test
