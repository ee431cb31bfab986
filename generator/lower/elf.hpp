// SPDX-License-Identifier: MIT
// A bounded reader of 64-bit little-endian ELF files. Nothing in the file is believed: every
// offset and length is checked against the bytes that are there, and a lie is an error that names
// the part. Private to this floor. Layout: the System V gABI; AMDGPU values: LLVM's AMDGPUUsage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "generator/support/error.hpp"

namespace wavejit::lower::elf {

using Bytes = std::span<const std::uint8_t>;

inline constexpr std::uint8_t osabi_amdgpu_hsa = 64;
inline constexpr std::uint16_t machine_amdgpu = 224;
inline constexpr std::uint16_t type_rel = 1, type_dyn = 3;
inline constexpr std::uint32_t sht_progbits = 1, sht_symtab = 2, sht_strtab = 3, sht_rela = 4, sht_hash = 5,
                               sht_dynamic = 6, sht_note = 7, sht_nobits = 8, sht_dynsym = 11;
inline constexpr std::uint64_t shf_write = 1, shf_alloc = 2, shf_exec = 4;
inline constexpr std::uint32_t pt_load = 1, pt_dynamic = 2, pt_note = 4, pt_phdr = 6,
                               pt_gnu_stack = 0x6474E551, pt_gnu_relro = 0x6474E552;
inline constexpr std::uint16_t shn_undef = 0, shn_loreserve = 0xFF00;
inline constexpr std::uint8_t stb_local = 0, stb_global = 1, stt_object = 1, stt_func = 2;
inline constexpr std::size_t header_size = 64, section_header_size = 64, program_header_size = 56,
                             symbol_size = 24, rela_size = 24;
inline constexpr std::uint32_t note_amdgpu_metadata = 32;

/// Little-endian value at `offset`; nullopt past the end.
template <class T>
std::optional<T> read(Bytes bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value | static_cast<T>(T{bytes[offset + i]} << (8 * i)));
  return value;
}

/// `size` bytes from `offset`; nullopt when they are not all there.
inline std::optional<Bytes> slice(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size) return std::nullopt;
  return bytes.subspan(offset, size);
}

/// The string that starts at `offset`; nullopt when it does not end inside.
std::optional<std::string_view> read_string(Bytes table, std::uint64_t offset);

struct Section {
  std::string_view name;
  std::uint32_t type = 0, link = 0, info = 0;
  std::uint64_t flags = 0, address = 0, alignment = 0, entry_size = 0;
  std::uint64_t size = 0;
  Bytes contents;  ///< empty for sht_nobits
};

struct Segment {
  std::uint32_t type = 0, flags = 0;
  std::uint64_t address = 0, memory_size = 0;
  Bytes contents;
};

struct Symbol {
  std::string_view name;
  std::uint8_t info = 0, other = 0;
  std::uint16_t section = 0;
  std::uint64_t value = 0, size = 0;
  [[nodiscard]] std::uint8_t binding() const { return info >> 4; }
  [[nodiscard]] std::uint8_t type() const { return info & 15; }
};

struct File {
  std::uint16_t type = 0;
  std::uint8_t abi_version = 0;
  std::uint32_t flags = 0;
  std::vector<Section> sections;
  std::vector<Segment> segments;

  [[nodiscard]] const Section* find(std::string_view name) const;
  [[nodiscard]] const Section* find(std::uint32_t section_type) const;
  /// File bytes that a loaded segment puts at [address, address + size); nullopt outside.
  [[nodiscard]] std::optional<Bytes> at(std::uint64_t address, std::uint64_t size) const;
  /// Bytes from `address` to the end of the segment that holds it.
  [[nodiscard]] std::optional<Bytes> from(std::uint64_t address) const;
};

/// Header, section and program headers of an AMDGPU HSA file.
Result<File> parse(Bytes bytes);

/// Entries of a symtab or dynsym section.
Result<std::vector<Symbol>> symbols(const File& file, const Section& table);

}  // namespace wavejit::lower::elf
