// SPDX-License-Identifier: MIT
#include "runtime/device/common/code_object_target.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "generator/target/target.hpp"

namespace wavejit::device {
namespace {

using namespace std::string_view_literals;

constexpr std::array<std::pair<unsigned, std::string_view>, 39> machines{{
    {0x02c, "gfx900"},       {0x02d, "gfx902"},          {0x02e, "gfx904"},          {0x02f, "gfx906"},
    {0x030, "gfx908"},       {0x031, "gfx909"},          {0x032, "gfx90c"},          {0x033, "gfx1010"},
    {0x034, "gfx1011"},      {0x035, "gfx1012"},         {0x036, "gfx1030"},         {0x037, "gfx1031"},
    {0x038, "gfx1032"},      {0x039, "gfx1033"},         {0x03d, "gfx1035"},         {0x03e, "gfx1034"},
    {0x03f, "gfx90a"},       {0x040, "gfx940"},          {0x041, "gfx1100"},         {0x042, "gfx1013"},
    {0x043, "gfx1150"},      {0x044, "gfx1103"},         {0x045, "gfx1036"},         {0x046, "gfx1101"},
    {0x047, "gfx1102"},      {0x048, "gfx1200"},         {0x049, "gfx1250"},         {0x04a, "gfx1151"},
    {0x04b, "gfx941"},       {0x04c, "gfx942"},          {0x04e, "gfx1201"},         {0x04f, "gfx950"},
    {0x051, "gfx9-generic"}, {0x052, "gfx10-1-generic"}, {0x053, "gfx10-3-generic"}, {0x054, "gfx11-generic"},
    {0x055, "gfx1152"},      {0x058, "gfx1153"},         {0x059, "gfx12-generic"},
}};

constexpr std::size_t header_bytes = 64;
constexpr unsigned machine_amdgpu = 224;
constexpr std::byte osabi_hsa{64};

unsigned little_endian(std::span<const std::byte> bytes, std::size_t offset, unsigned size) {
  unsigned value = 0;
  for (unsigned i = 0; i < size; ++i) value |= std::to_integer<unsigned>(bytes[offset + i]) << (8 * i);
  return value;
}

std::string processor_name(unsigned mach) {
  for (const auto& [number, name] : machines)
    if (number == mach) return std::string(name);
  return fmt::format("mach 0x{:x}", mach);
}

std::string_view suffix(Feature feature, std::string_view on, std::string_view off) {
  return feature == Feature::on ? on : feature == Feature::off ? off : ""sv;
}

/// What a target id says of a feature: "+", "-" or nothing.
Feature stated(std::string_view target_id, std::string_view feature) {
  for (std::size_t at = target_id.find(':'); at != std::string_view::npos; at = target_id.find(':', at + 1)) {
    const std::string_view rest = target_id.substr(at + 1);
    if (!rest.starts_with(feature) || rest.size() == feature.size()) continue;
    if (rest[feature.size()] == '+') return Feature::on;
    if (rest[feature.size()] == '-') return Feature::off;
  }
  return Feature::any;
}

/// The same processor, or the generic one of its family.
bool serves(const CodeObjectTarget& code, std::string_view processor) {
  if (code.processor == processor) return true;
  const target::Target* device = target::find_simulated(processor);
  return device != nullptr && code.generic_version > 0 && device->family == code.processor;
}

bool agree(Feature code, Feature device) {
  const bool code_cares = code == Feature::on || code == Feature::off;
  return !code_cares || device == Feature::any || code == device;
}

}  // namespace

std::string CodeObjectTarget::id() const {
  return fmt::format("{}{}{}", processor, suffix(sramecc, ":sramecc+", ":sramecc-"),
                     suffix(xnack, ":xnack+", ":xnack-"));
}

Result<CodeObjectTarget> read_target(std::span<const std::byte> code_object) {
  const auto bad = [](std::string why) {
    return fail(ErrorCode::invalid_code_object, "the code object " + std::move(why));
  };
  if (code_object.size() < header_bytes)
    return bad(fmt::format("has {} bytes, less than an ELF header", code_object.size()));
  if (std::memcmp(code_object.data(),
                  "\x7f"
                  "ELF",
                  4) != 0)
    return bad("does not start with an ELF header");
  if (code_object[4] != std::byte{2} || code_object[5] != std::byte{1})
    return bad("is not a 64-bit little-endian ELF file");
  if (const unsigned machine = little_endian(code_object, 18, 2); machine != machine_amdgpu)
    return bad(fmt::format("is for ELF machine {}, not AMDGPU (224)", machine));
  if (code_object[7] != osabi_hsa)
    return bad(fmt::format("has OS ABI {}, not HSA (64)", std::to_integer<unsigned>(code_object[7])));
  const unsigned flags = little_endian(code_object, 48, 4);
  CodeObjectTarget target{.processor = processor_name(flags & 0xff)};
  constexpr std::byte abi_v4{2};  // V2 and V3 have other feature bits; nobody here makes them
  if (code_object[8] >= abi_v4) {
    target.xnack = static_cast<Feature>(flags >> 8 & 3);
    target.sramecc = static_cast<Feature>(flags >> 10 & 3);
  }
  constexpr std::byte abi_v6{4};
  if (code_object[8] >= abi_v6) target.generic_version = flags >> 24;
  return target;
}

Result<void> check_target(std::span<const std::byte> code_object, std::string_view device_target_id) {
  const auto target = read_target(code_object);
  if (!target) return std::unexpected(target.error());
  const std::string_view processor = device_target_id.substr(0, device_target_id.find(':'));
  if (serves(*target, processor) && agree(target->xnack, stated(device_target_id, "xnack")) &&
      agree(target->sramecc, stated(device_target_id, "sramecc")))
    return {};
  return fail_field(ErrorCode::wrong_architecture, "the code object's target", target->id(),
                    fmt::format("{}, which the device is", device_target_id));
}

}  // namespace wavejit::device
