// SPDX-License-Identifier: MIT
#include "generator/lower/elf.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace wavejit::lower::elf {
namespace {

std::unexpected<Error> malformed(std::string what) {
  return fail(ErrorCode::invalid_code_object, "the code object is malformed: " + std::move(what));
}

/// Where the tables of the header lie.
struct Tables {
  std::uint64_t sections = 0, segments = 0;
  std::uint16_t section_count = 0, segment_count = 0, names = 0;
};

/// Field offsets: gABI, Elf64_Ehdr.
Result<Tables> parse_header(Bytes bytes, File& file) {
  static constexpr std::uint8_t magic[] = {0x7F, 'E', 'L', 'F', 2, 1, 1};
  if (bytes.size() < header_size) return malformed("shorter than an ELF header");
  if (!std::equal(std::begin(magic), std::end(magic), bytes.begin()))
    return malformed("not a 64-bit little-endian ELF file");
  if (bytes[7] != osabi_amdgpu_hsa)
    return malformed(fmt::format("OS ABI is {}, but must be {} (AMDGPU HSA)", bytes[7], osabi_amdgpu_hsa));
  if (*read<std::uint16_t>(bytes, 18) != machine_amdgpu)
    return malformed(fmt::format("machine is {}, but must be {} (AMDGPU)", *read<std::uint16_t>(bytes, 18),
                                 machine_amdgpu));
  file.type = *read<std::uint16_t>(bytes, 16);
  file.abi_version = bytes[8];
  file.flags = *read<std::uint32_t>(bytes, 48);
  Tables t;
  t.segments = *read<std::uint64_t>(bytes, 32);
  t.sections = *read<std::uint64_t>(bytes, 40);
  t.segment_count = *read<std::uint16_t>(bytes, 56);
  t.section_count = *read<std::uint16_t>(bytes, 60);
  t.names = *read<std::uint16_t>(bytes, 62);
  if (t.segment_count != 0 && *read<std::uint16_t>(bytes, 54) != program_header_size)
    return malformed("program headers of a foreign size");
  if (t.section_count != 0 && *read<std::uint16_t>(bytes, 58) != section_header_size)
    return malformed("section headers of a foreign size");
  return t;
}

/// gABI, Elf64_Shdr. `name` is resolved later, when the name table is known.
Result<Section> parse_section(Bytes bytes, Bytes h, unsigned index) {
  Section s;
  s.type = *read<std::uint32_t>(h, 4);
  s.flags = *read<std::uint64_t>(h, 8);
  s.address = *read<std::uint64_t>(h, 16);
  s.size = *read<std::uint64_t>(h, 32);
  s.link = *read<std::uint32_t>(h, 40);
  s.info = *read<std::uint32_t>(h, 44);
  s.alignment = *read<std::uint64_t>(h, 48);
  s.entry_size = *read<std::uint64_t>(h, 56);
  if (s.type == sht_nobits || index == 0) return s;
  const auto contents = slice(bytes, *read<std::uint64_t>(h, 24), s.size);
  if (!contents) return malformed(fmt::format("section {} reaches past the end of the file", index));
  s.contents = *contents;
  return s;
}

Result<void> parse_sections(Bytes bytes, const Tables& t, File& file) {
  if (t.section_count == 0) return {};
  const auto table = slice(bytes, t.sections, std::uint64_t{t.section_count} * section_header_size);
  if (!table) return malformed("the section header table reaches past the end of the file");
  for (unsigned i = 0; i < t.section_count; ++i) {
    auto section = parse_section(bytes, table->subspan(i * section_header_size, section_header_size), i);
    if (!section) return std::unexpected(std::move(section.error()));
    file.sections.push_back(*section);
  }
  if (t.names >= t.section_count) return malformed("no section name table");
  for (unsigned i = 0; i < t.section_count; ++i) {
    const auto offset = *read<std::uint32_t>(*table, i * section_header_size);
    const auto name = read_string(file.sections[t.names].contents, offset);
    if (!name && i != 0) return malformed(fmt::format("section {} has no name", i));
    file.sections[i].name = name.value_or("");
  }
  return {};
}

/// gABI, Elf64_Phdr.
Result<void> parse_segments(Bytes bytes, const Tables& t, File& file) {
  if (t.segment_count == 0) return {};
  const auto table = slice(bytes, t.segments, std::uint64_t{t.segment_count} * program_header_size);
  if (!table) return malformed("the program header table reaches past the end of the file");
  for (unsigned i = 0; i < t.segment_count; ++i) {
    const Bytes h = table->subspan(i * program_header_size, program_header_size);
    Segment s;
    s.type = *read<std::uint32_t>(h, 0);
    s.flags = *read<std::uint32_t>(h, 4);
    s.address = *read<std::uint64_t>(h, 16);
    s.memory_size = *read<std::uint64_t>(h, 40);
    const auto contents = slice(bytes, *read<std::uint64_t>(h, 8), *read<std::uint64_t>(h, 32));
    if (!contents) return malformed(fmt::format("segment {} reaches past the end of the file", i));
    s.contents = *contents;
    file.segments.push_back(s);
  }
  return {};
}

}  // namespace

std::optional<std::string_view> read_string(Bytes table, std::uint64_t offset) {
  if (offset >= table.size()) return std::nullopt;
  const Bytes rest = table.subspan(offset);
  const auto end = std::ranges::find(rest, std::uint8_t{0});
  if (end == rest.end()) return std::nullopt;
  return std::string_view(reinterpret_cast<const char*>(rest.data()),
                          static_cast<std::size_t>(end - rest.begin()));
}

const Section* File::find(std::string_view name) const {
  const auto it = std::ranges::find(sections, name, &Section::name);
  return it == sections.end() ? nullptr : &*it;
}

const Section* File::find(std::uint32_t section_type) const {
  const auto it = std::ranges::find(sections, section_type, &Section::type);
  return it == sections.end() ? nullptr : &*it;
}

std::optional<Bytes> File::from(std::uint64_t address) const {
  for (const Segment& s : segments) {
    if (s.type != pt_load || address < s.address) continue;
    const std::uint64_t offset = address - s.address;
    if (offset < s.contents.size()) return s.contents.subspan(offset);
  }
  return std::nullopt;
}

std::optional<Bytes> File::at(std::uint64_t address, std::uint64_t size) const {
  const auto rest = from(address);
  if (!rest || rest->size() < size) return std::nullopt;
  return rest->first(size);
}

Result<File> parse(Bytes bytes) {
  File file;
  const auto tables = parse_header(bytes, file);
  if (!tables) return std::unexpected(tables.error());
  if (auto done = parse_sections(bytes, *tables, file); !done)
    return std::unexpected(std::move(done.error()));
  if (auto done = parse_segments(bytes, *tables, file); !done)
    return std::unexpected(std::move(done.error()));
  return file;
}

Result<std::vector<Symbol>> symbols(const File& file, const Section& table) {
  if (table.link >= file.sections.size()) return malformed("a symbol table without strings");
  const Bytes strings = file.sections[table.link].contents;
  std::vector<Symbol> result;
  for (std::uint64_t at = 0; table.contents.size() - at >= symbol_size; at += symbol_size) {
    const Bytes entry = table.contents.subspan(at, symbol_size);
    Symbol s;
    s.info = entry[4];
    s.other = entry[5];
    s.section = *read<std::uint16_t>(entry, 6);
    s.value = *read<std::uint64_t>(entry, 8);
    s.size = *read<std::uint64_t>(entry, 16);
    const auto name = read_string(strings, *read<std::uint32_t>(entry, 0));
    if (!name) return malformed(fmt::format("symbol {} has no name", at / symbol_size));
    s.name = *name;
    result.push_back(s);
  }
  return result;
}

}  // namespace wavejit::lower::elf
