// SPDX-License-Identifier: MIT
// Code object -> kernels. Three readers in a row, each of bytes that nobody vouches for: the ELF
// file, the metadata note (which kernels there are), then per kernel the descriptor and the text.
#include <fmt/format.h>

#include <algorithm>

#include "generator/lower/disassemble.hpp"
#include "generator/lower/elf.hpp"
#include "generator/lower/lower.hpp"
#include "generator/lower/metadata.hpp"

namespace wavejit::lower {
namespace {

constexpr std::size_t descriptor_size = 64;
constexpr std::uint16_t property_wave32 = 1U << 10;

std::unexpected<Error> malformed(std::string what) {
  return fail(ErrorCode::invalid_code_object, "the code object is malformed: " + std::move(what));
}

Result<std::vector<elf::Symbol>> read_symbols(const elf::File& file) {
  const elf::Section* table = file.find(elf::sht_dynsym);
  if (table == nullptr) table = file.find(elf::sht_symtab);
  if (table == nullptr) return malformed("no symbol table");
  return elf::symbols(file, *table);
}

const elf::Symbol* find_symbol(const std::vector<elf::Symbol>& symbols, std::string_view name) {
  const auto it = std::ranges::find(symbols, name, &elf::Symbol::name);
  return it == symbols.end() ? nullptr : &*it;
}

/// hardware.md §9.1; LLVM AMDGPUUsage, "Kernel Descriptor".
KernelDescriptor read_descriptor(elf::Bytes d) {
  KernelDescriptor result;
  result.group_segment_fixed_size = *elf::read<std::uint32_t>(d, 0);
  result.private_segment_fixed_size = *elf::read<std::uint32_t>(d, 4);
  result.kernarg_size = *elf::read<std::uint32_t>(d, 8);
  result.entry_byte_offset = static_cast<std::int64_t>(*elf::read<std::uint64_t>(d, 16));
  result.rsrc3 = *elf::read<std::uint32_t>(d, 44);
  result.rsrc1 = *elf::read<std::uint32_t>(d, 48);
  result.rsrc2 = *elf::read<std::uint32_t>(d, 52);
  result.properties = *elf::read<std::uint16_t>(d, 56);
  result.preload = *elf::read<std::uint16_t>(d, 58);
  return result;
}

/// The target by the metadata's name, else by the machine number of e_flags.
Result<const target::Target*> find_target(const elf::File& file, CodeObject& object) {
  constexpr std::string_view prefix = "amdgcn-amd-amdhsa--";
  constexpr std::uint32_t machine_mask = 0xFF;
  if (object.isa_name.starts_with(prefix)) {
    const std::string_view name = std::string_view(object.isa_name).substr(prefix.size());
    if (const target::Target* t = target::find_simulated(name)) return t;
    return fail_field(ErrorCode::unknown_target, "amdhsa.target", object.isa_name,
                      "a target that has a table");
  }
  for (const auto tables : {target::all(), target::simulator_only()}) {
    for (const target::Target& t : tables) {
      if ((t.elf_flags & machine_mask) != (file.flags & machine_mask)) continue;
      object.isa_name = fmt::format("{}{}", prefix, t.name);
      return &t;
    }
  }
  return fail_field(ErrorCode::unknown_target, "e_flags", fmt::format("0x{:x}", file.flags),
                    "those of a target that has a table");
}

/// LLVM's AMDGPUUsage, "ELF header e_flags": since V4 two bits (2 = off), in V3 one (set = on).
bool says_xnack_off(const elf::File& file) {
  constexpr std::uint8_t abi_v3 = 1;
  constexpr std::uint32_t v3_on = 1U << 8, v4_mask = 3U << 8, v4_off = 2U << 8;
  if (file.abi_version == abi_v3) return (file.flags & v3_on) == 0;
  return file.abi_version > abi_v3 && (file.flags & v4_mask) == v4_off;
}

/// Bytes of the kernel's code: as many as its symbol says, or up to the end of the text section.
Result<elf::Bytes> read_code(const elf::File& file, const elf::Symbol* symbol, std::string_view name,
                             std::uint64_t entry) {
  const auto rest = file.from(entry);
  if (!rest)
    return malformed(fmt::format("the entry of {} lies at 0x{:x}, outside every segment", name, entry));
  if (symbol == nullptr || symbol->size == 0 || entry < symbol->value) return *rest;
  const std::uint64_t before = entry - symbol->value;
  if (before > symbol->size || symbol->size - before > rest->size())
    return malformed(fmt::format("the code of {} reaches past its segment", name));
  return rest->first(symbol->size - before);
}

Result<void> read_kernel(const elf::File& file, const std::vector<elf::Symbol>& symbols,
                         const target::Target& target, std::string_view symbol_name, DecodedKernel& kernel) {
  const elf::Symbol* descriptor = find_symbol(symbols, symbol_name);
  if (descriptor == nullptr) return malformed(fmt::format("no symbol {}", symbol_name));
  kernel.descriptor_address = descriptor->value;
  const auto bytes = file.at(descriptor->value, descriptor_size);
  if (!bytes) return malformed(fmt::format("the descriptor {} lies outside every segment", symbol_name));
  kernel.descriptor = read_descriptor(*bytes);
  const bool wave32 = (kernel.descriptor.properties & property_wave32) != 0;
  if ((wave32 ? 32 : 64) != target.wave_size) {
    return fail(ErrorCode::unsupported,
                fmt::format("kernel {} is for waves of {} lanes, but {} is modelled with {}", kernel.name,
                            wave32 ? 32 : 64, target.name, target.wave_size));
  }
  const std::uint64_t entry =
      descriptor->value + static_cast<std::uint64_t>(kernel.descriptor.entry_byte_offset);
  const auto code = read_code(file, find_symbol(symbols, kernel.name), kernel.name, entry);
  if (!code) return std::unexpected(code.error());
  auto instructions = disassemble(*code, entry, target, kernel.name);
  if (!instructions) return std::unexpected(std::move(instructions.error()));
  kernel.instructions = std::move(*instructions);
  return {};
}

}  // namespace

Result<CodeObject> decode(std::span<const std::uint8_t> bytes) {
  const auto file = elf::parse(bytes);
  if (!file) return std::unexpected(file.error());
  auto metadata = read_metadata(*file);
  if (!metadata) return std::unexpected(std::move(metadata.error()));
  CodeObject object;
  object.isa_name = std::move(metadata->target);
  const auto target = find_target(*file, object);
  if (!target) return std::unexpected(target.error());
  object.target = *target;
  const auto symbols = read_symbols(*file);
  if (!symbols) return std::unexpected(symbols.error());
  for (KernelMetadata& m : metadata->kernels) {
    DecodedKernel& kernel = object.kernels.emplace_back(std::move(m.kernel));
    kernel.xnack_off = says_xnack_off(*file);
    if (auto done = read_kernel(*file, *symbols, **target, m.symbol, kernel); !done)
      return std::unexpected(std::move(done.error()));
  }
  return object;
}

}  // namespace wavejit::lower
