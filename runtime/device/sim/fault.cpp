// SPDX-License-Identifier: MIT
#include "runtime/device/sim/fault.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "runtime/device/sim/fault_log.hpp"

namespace wavejit::sim {
namespace {

constexpr std::array<std::string_view, fault_kinds> names{
    "out_of_bounds",    "undefined_value", "in_flight",      "lds_race",          "unwaited_at_barrier",
    "global_race",      "hazard",          "descriptor",     "soffset_dependent", "misaligned",
    "wmma_replication", "partial_exec",    "register_range", "after_dealloc",     "barrier_divergence",
    "watchdog",         "control_flow",    "reserved_bits"};

constexpr std::array<std::string_view, fault_kinds> descriptions{
    "memory or LDS access outside every allocation, or a store to read-only memory",
    "arithmetic, address, branch, mask or store data made of a register, LDS or memory byte that nobody "
    "wrote",
    "a pending load's destination used before a wait that covers it",
    "two waves touch one LDS byte without a barrier between, one of them writing",
    "an LDS access or store crosses a barrier without the wait before it",
    "two waves touch one global byte without order, one of them writing another value",
    "a wait state or fix that the target requires is missing",
    "a buffer descriptor that is malformed for the target",
    "a bounds verdict that differs between soffset counted and not counted",
    "LDS, scalar or vector access not aligned as its width asks",
    "lanes 16 to 31 of a WMMA's A or B do not copy lanes 0 to 15 where the target needs it",
    "a matrix instruction with lanes switched off",
    "a register beyond the kernel descriptor's allocation",
    "a VGPR used after s_sendmsg dealloc_vgprs",
    "waves of a workgroup wait at different barriers",
    "a wave executed more instructions than the limit",
    "execution ran past the last instruction",
    "bits set that must be 0, in an instruction or in the kernel descriptor"};

}  // namespace

std::string_view name(FaultKind kind) { return names.at(static_cast<std::size_t>(kind)); }

std::string_view describe(FaultKind kind) { return descriptions.at(static_cast<std::size_t>(kind)); }

std::optional<FaultKind> find_fault(std::string_view name) {
  const auto* it = std::ranges::find(names, name);
  if (it == names.end()) return std::nullopt;
  return static_cast<FaultKind>(it - names.begin());
}

std::string to_string(const Fault& f) {
  std::string out = fmt::format("{}: `{}` at 0x{:x}{}, workgroup ({}, {}, {}) wave {}", name(f.kind),
                                f.instruction, f.code_address, f.source.empty() ? "" : " (" + f.source + ")",
                                f.workgroup[0], f.workgroup[1], f.workgroup[2], f.wave);
  if (f.lanes != 0) out += fmt::format(" lanes 0x{:x}", f.lanes);
  if (f.address) out += fmt::format(" address 0x{:x}", *f.address);
  if (!f.nearest.empty()) out += fmt::format(" ({})", f.nearest);
  if (!f.detail.empty()) out += ": " + f.detail;
  if (f.count > 1) out += fmt::format(" [{} times]", f.count);
  return out;
}

bool FaultLog::count(FaultKind kind, std::uint32_t inst, std::uint64_t workgroup, std::uint32_t wave) {
  ++totals_[static_cast<std::size_t>(kind)];
  ++total_;
  Entry& e = entries_[{kind, inst}];
  ++e.count;
  if (e.described && std::pair(e.workgroup, e.wave) <= std::pair(workgroup, wave)) return false;
  return true;
}

void FaultLog::describe(Fault fault, std::uint64_t workgroup, std::uint64_t when) {
  Entry& e = entries_[{fault.kind, fault.index}];
  e.described = true;
  e.workgroup = workgroup;
  e.wave = fault.wave;
  e.when = when;
  e.fault = std::move(fault);
}

void FaultLog::merge(FaultLog&& other) {
  for (auto& [key, theirs] : other.entries_) {
    Entry& ours = entries_[key];
    const std::uint64_t sum = ours.count + theirs.count;
    const bool earlier = theirs.described && (!ours.described || std::pair(theirs.workgroup, theirs.wave) <
                                                                     std::pair(ours.workgroup, ours.wave));
    if (earlier) ours = std::move(theirs);
    ours.count = sum;
  }
  for (std::size_t i = 0; i < fault_kinds; ++i) totals_[i] += other.totals_[i];
  total_ += other.total_;
}

std::vector<Fault> FaultLog::take() {
  std::vector<Entry*> order;
  for (auto& [key, entry] : entries_)
    if (entry.described) order.push_back(&entry);
  std::ranges::stable_sort(order, {},
                           [](const Entry* e) { return std::tuple(e->workgroup, e->wave, e->when); });
  if (order.size() > max_described_) order.resize(max_described_);
  std::vector<Fault> result;
  result.reserve(order.size());
  for (Entry* e : order) {
    e->fault.count = e->count;
    result.push_back(std::move(e->fault));
  }
  return result;
}

}  // namespace wavejit::sim
