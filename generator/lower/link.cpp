// SPDX-License-Identifier: MIT
// A linker for what the assembler above makes of a kernel: one .text, one .rodata with the kernel
// descriptors, one .note. It writes the shared object that HIP's loader takes, laid out as ld.lld
// does it: a read-only segment (headers, note, dynamic symbols, descriptors), an executable one, a
// writable one with .dynamic, each on its own 4 KiB page of memory. It exists because lld is not
// reentrant, cannot write to memory and needs all of LLVM's code generator. Anything that it does
// not handle is refused by name.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <concepts>
#include <string>

#include "generator/lower/elf.hpp"
#include "generator/lower/lower.hpp"

namespace wavejit::lower {
namespace {

constexpr std::uint64_t page = 0x1000;
constexpr std::uint32_t pf_x = 1, pf_w = 2, pf_r = 4;
constexpr std::uint64_t dt_null = 0, dt_hash = 4, dt_strtab = 5, dt_symtab = 6, dt_strsz = 10, dt_syment = 11;

std::unexpected<Error> refuse(std::string what) {
  return fail(ErrorCode::unsupported, "cannot link: " + std::move(what));
}

std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// What the relocatable object holds for us.
struct Input {
  elf::File file;
  std::uint16_t text = 0, rodata = 0, note = 0;  ///< section indexes; 0 = absent
  std::vector<elf::Symbol> symbols;              ///< the whole table, indexed by relocations
  std::vector<std::uint32_t> exported;           ///< indexes of global symbols
};

Result<void> classify_sections(Input& in) {
  const auto& sections = in.file.sections;
  for (std::size_t i = 1; i < sections.size(); ++i) {
    const elf::Section& s = sections[i];
    if ((s.flags & elf::shf_alloc) == 0 || s.size == 0) continue;
    std::uint16_t* slot = nullptr;
    if (s.name == ".text" && s.type == elf::sht_progbits) slot = &in.text;
    if (s.name == ".rodata" && s.type == elf::sht_progbits) slot = &in.rodata;
    if (s.type == elf::sht_note) slot = &in.note;
    if (slot == nullptr || *slot != 0)
      return refuse(fmt::format("section {} has no place in a kernel", s.name));
    if (s.alignment > page || (s.alignment & (s.alignment - 1)) != 0)
      return refuse(fmt::format("section {} is aligned to {} bytes", s.name, s.alignment));
    *slot = static_cast<std::uint16_t>(i);
  }
  if (in.text == 0) return refuse("the object has no .text");
  if (in.rodata == 0) return refuse("the object has no kernel descriptor (.rodata)");
  return {};
}

Result<void> collect_symbols(Input& in) {
  const elf::Section* table = in.file.find(elf::sht_symtab);
  if (table == nullptr) return refuse("the object has no symbols");
  auto symbols = elf::symbols(in.file, *table);
  if (!symbols) return std::unexpected(std::move(symbols.error()));
  in.symbols = std::move(*symbols);
  for (std::uint32_t i = 1; i < in.symbols.size(); ++i) {
    const elf::Symbol& s = in.symbols[i];
    if (s.section == elf::shn_undef) return refuse(fmt::format("symbol {} is not defined", s.name));
    if (s.binding() == elf::stb_local) continue;
    if (s.section != in.text && s.section != in.rodata)
      return refuse(fmt::format("symbol {} is neither in .text nor in .rodata", s.name));
    in.exported.push_back(i);
  }
  if (in.exported.empty()) return refuse("the object exports no kernel");
  return {};
}

Result<Input> read_input(elf::Bytes object) {
  Input in;
  auto file = elf::parse(object);
  if (!file) return std::unexpected(std::move(file.error()));
  in.file = std::move(*file);
  if (in.file.type != elf::type_rel) return refuse("the file is not a relocatable object");
  if (auto done = classify_sections(in); !done) return std::unexpected(std::move(done.error()));
  if (auto done = collect_symbols(in); !done) return std::unexpected(std::move(done.error()));
  return in;
}

/// Little-endian bytes that grow.
class Writer {
 public:
  [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }
  template <std::integral T>
  void put(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  void put(elf::Bytes data) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + data.size());
    std::ranges::copy(data, bytes_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  void pad_to(std::uint64_t size) {
    assert(size >= bytes_.size());
    bytes_.resize(size);
  }
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

/// Strings of a string table, each once, in order of first use.
class Strings {
 public:
  std::uint32_t add(std::string_view text) {
    const auto at = static_cast<std::uint32_t>(data_.size());
    data_ += text;
    data_ += '\0';
    return at;
  }
  [[nodiscard]] elf::Bytes bytes() const {
    return {reinterpret_cast<const std::uint8_t*>(data_.data()), data_.size()};
  }
  [[nodiscard]] std::uint64_t size() const { return data_.size(); }

 private:
  std::string data_ = std::string(1, '\0');
};

/// System V hash of a symbol name (gABI, "Hash Table").
std::uint32_t sysv_hash(std::string_view name) {
  std::uint32_t h = 0;
  for (const char c : name) {
    h = (h << 4) + static_cast<unsigned char>(c);
    const std::uint32_t high = h & 0xF0000000;
    h = (h ^ (high >> 24)) & ~high;
  }
  return h;
}

/// Output sections in file order; the index is the section number.
enum Out : std::uint16_t {
  null,
  note,
  dynsym,
  hash,
  dynstr,
  rodata,
  text,
  dynamic,
  symtab,
  shstrtab,
  strtab,
  count
};

struct Placed {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint64_t flags = 0, alignment = 1, entry_size = 0;
  std::uint32_t link = 0, info = 0;
  std::uint64_t offset = 0, address = 0, size = 0;
};

class Image {
 public:
  explicit Image(const Input& in) : in_(in) {}

  Result<std::vector<std::uint8_t>> build() {
    name_symbols();
    place();
    auto descriptors = relocated_rodata();
    if (!descriptors) return std::unexpected(std::move(descriptors.error()));
    return write(*descriptors);
  }

 private:
  static constexpr std::array segment_order{elf::pt_phdr,    elf::pt_load,      elf::pt_load, elf::pt_load,
                                            elf::pt_dynamic, elf::pt_gnu_stack, elf::pt_note};

  void name_symbols() {
    for (const std::uint32_t i : in_.exported) {
      dynamic_names_.push_back(dynamic_strings_.add(in_.symbols[i].name));
    }
    static_names_.push_back(static_strings_.add("_DYNAMIC"));
    for (const std::uint32_t i : in_.exported)
      static_names_.push_back(static_strings_.add(in_.symbols[i].name));
  }

  /// Gives the next section its place in the file; sections that load keep address = offset + shift.
  void put(Out which, std::string_view name, std::uint32_t type, std::uint64_t flags, std::uint64_t alignment,
           std::uint64_t size) {
    Placed& s = sections_[which];
    s.name = name;
    s.type = type;
    s.flags = flags;
    s.alignment = std::max<std::uint64_t>(alignment, 1);
    s.offset = align_up(cursor_, s.alignment);
    s.size = size;
    if ((flags & elf::shf_alloc) != 0) s.address = s.offset + shift_;
    cursor_ = s.offset + size;
  }

  void place() {
    const auto& input = in_.file.sections;
    const std::uint64_t symbols = in_.exported.size() + 1;
    const std::uint64_t segments = segment_order.size();
    cursor_ = elf::header_size + segments * elf::program_header_size;
    using namespace elf;
    put(note, ".note", sht_note, shf_alloc, 4, in_.note == 0 ? 0 : input[in_.note].size);
    put(dynsym, ".dynsym", sht_dynsym, shf_alloc, 8, symbols * symbol_size);
    put(hash, ".hash", sht_hash, shf_alloc, 4, 4 * (2 + 2 * symbols));
    put(dynstr, ".dynstr", sht_strtab, shf_alloc, 1, dynamic_strings_.size());
    put(rodata, ".rodata", sht_progbits, shf_alloc, input[in_.rodata].alignment, input[in_.rodata].size);
    // Each segment starts on a page of its own: its bytes stay packed in the file and the address
    // moves on by one page, so that offset and address agree modulo the page.
    shift_ += page;
    put(text, ".text", sht_progbits, shf_alloc | shf_exec, input[in_.text].alignment, input[in_.text].size);
    shift_ += page;
    put(dynamic, ".dynamic", sht_dynamic, shf_alloc | shf_write, 8, 6 * 16);
    put(symtab, ".symtab", sht_symtab, 0, 8, (symbols + 1) * symbol_size);
    link_tables();
    const std::uint64_t names = section_names();
    put(shstrtab, ".shstrtab", sht_strtab, 0, 1, names);
    put(strtab, ".strtab", sht_strtab, 0, 1, static_strings_.size());
  }

  void link_tables() {
    sections_[dynsym].link = dynstr;
    sections_[dynsym].info = 1;
    sections_[dynsym].entry_size = elf::symbol_size;
    sections_[hash].link = dynsym;
    sections_[hash].entry_size = 4;
    sections_[dynamic].link = dynstr;
    sections_[dynamic].entry_size = 16;
    sections_[symtab].link = strtab;
    sections_[symtab].info = 2;
    sections_[symtab].entry_size = elf::symbol_size;
  }

  std::uint64_t section_names() {
    sections_[shstrtab].name = ".shstrtab";
    sections_[strtab].name = ".strtab";
    for (unsigned i = 1; i < count; ++i) name_offsets_[i] = names_.add(sections_[i].name);
    return names_.size();
  }

  [[nodiscard]] const Placed& output_of(std::uint16_t input_section) const {
    return sections_[input_section == in_.text ? text : rodata];
  }

  [[nodiscard]] std::uint64_t address_of(const elf::Symbol& symbol) const {
    return output_of(symbol.section).address + symbol.value;
  }

  /// .rodata with the descriptors' entry offsets filled in.
  Result<std::vector<std::uint8_t>> relocated_rodata() const;
  Result<void> apply(const elf::Section& relocations, std::vector<std::uint8_t>& bytes) const;

  std::vector<std::uint8_t> write(const std::vector<std::uint8_t>& descriptors) const;
  void write_header(Writer& out) const;
  void write_segments(Writer& out) const;
  void write_symbols(Writer& out, const std::vector<std::uint32_t>& names) const;
  void write_hash(Writer& out) const;
  void write_dynamic(Writer& out) const;
  void write_section_headers(Writer& out) const;

  const Input& in_;
  std::array<Placed, count> sections_{};
  std::array<std::uint32_t, count> name_offsets_{};
  Strings dynamic_strings_, static_strings_, names_;
  std::vector<std::uint32_t> dynamic_names_, static_names_;
  std::uint64_t cursor_ = 0, shift_ = 0;
};

constexpr std::uint32_t r_amdgpu_rel64 = 5;

std::string relocation_name(std::uint32_t type) {
  static constexpr std::array<std::string_view, 15> names{
      "NONE",          "ABS32_LO",      "ABS32_HI", "ABS64",    "REL32", "REL64",      "ABS32", "GOTPCREL",
      "GOTPCREL32_LO", "GOTPCREL32_HI", "REL32_LO", "REL32_HI", "12",    "RELATIVE64", "REL16"};
  return type < names.size() ? fmt::format("R_AMDGPU_{}", names[type]) : fmt::format("number {}", type);
}

Result<void> Image::apply(const elf::Section& relocations, std::vector<std::uint8_t>& bytes) const {
  for (std::uint64_t at = 0; relocations.contents.size() - at >= elf::rela_size; at += elf::rela_size) {
    const auto where = *elf::read<std::uint64_t>(relocations.contents, at);
    const auto info = *elf::read<std::uint64_t>(relocations.contents, at + 8);
    const auto addend = *elf::read<std::uint64_t>(relocations.contents, at + 16);
    const auto type = static_cast<std::uint32_t>(info);
    const std::uint64_t symbol = info >> 32;
    if (symbol == 0 || symbol >= in_.symbols.size()) return refuse("a relocation names no symbol");
    const elf::Symbol& s = in_.symbols[symbol];
    if (type != r_amdgpu_rel64)
      return refuse(fmt::format("relocation {} against {} is not supported", relocation_name(type), s.name));
    if (s.section != in_.text && s.section != in_.rodata)
      return refuse(fmt::format("a relocation against {}, which is in another section", s.name));
    if (where > bytes.size() || bytes.size() - where < 8) return refuse("a relocation outside its section");
    const std::uint64_t value = address_of(s) + addend - (sections_[rodata].address + where);
    for (unsigned i = 0; i < 8; ++i) bytes[where + i] = static_cast<std::uint8_t>(value >> (8 * i));
  }
  return {};
}

Result<std::vector<std::uint8_t>> Image::relocated_rodata() const {
  const elf::Bytes contents = in_.file.sections[in_.rodata].contents;
  std::vector<std::uint8_t> bytes(contents.begin(), contents.end());
  for (const elf::Section& s : in_.file.sections) {
    if (s.type != elf::sht_rela || s.info >= in_.file.sections.size()) continue;
    if ((in_.file.sections[s.info].flags & elf::shf_alloc) == 0) continue;
    if (s.info != in_.rodata) {
      return refuse(fmt::format("section {} has relocations, as for calls or global variables",
                                in_.file.sections[s.info].name));
    }
    if (auto done = apply(s, bytes); !done) return std::unexpected(std::move(done.error()));
  }
  return bytes;
}

void Image::write_header(Writer& out) const {
  out.put(std::array<std::uint8_t, 16>{0x7F, 'E', 'L', 'F', 2, 1, 1, elf::osabi_amdgpu_hsa,
                                       in_.file.abi_version});
  out.put(elf::type_dyn);
  out.put(elf::machine_amdgpu);
  out.put(std::uint32_t{1});
  out.put(std::uint64_t{0});                 // entry point: kernels have descriptors instead
  out.put(std::uint64_t{elf::header_size});  // program headers follow
  const Placed& last = sections_[strtab];
  out.put(align_up(last.offset + last.size, 8));
  out.put(in_.file.flags);
  out.put(static_cast<std::uint16_t>(elf::header_size));
  out.put(static_cast<std::uint16_t>(elf::program_header_size));
  out.put(static_cast<std::uint16_t>(segment_order.size()));
  out.put(static_cast<std::uint16_t>(elf::section_header_size));
  out.put(static_cast<std::uint16_t>(count));
  out.put(static_cast<std::uint16_t>(shstrtab));
}

void Image::write_segments(Writer& out) const {
  const auto segment = [&](std::uint32_t type, std::uint32_t flags, std::uint64_t offset,
                           std::uint64_t address, std::uint64_t size, std::uint64_t alignment) {
    out.put(type);
    out.put(flags);
    for (const std::uint64_t field : {offset, address, address, size, size, alignment}) out.put(field);
  };
  const Placed& ro = sections_[rodata];
  const Placed& rx = sections_[text];
  const Placed& rw = sections_[dynamic];
  const Placed& metadata = sections_[note];
  segment(elf::pt_phdr, pf_r, elf::header_size, elf::header_size,
          segment_order.size() * elf::program_header_size, 8);
  segment(elf::pt_load, pf_r, 0, 0, ro.offset + ro.size, page);
  segment(elf::pt_load, pf_r | pf_x, rx.offset, rx.address, rx.size, page);
  segment(elf::pt_load, pf_r | pf_w, rw.offset, rw.address, rw.size, page);
  segment(elf::pt_dynamic, pf_r | pf_w, rw.offset, rw.address, rw.size, 8);
  segment(elf::pt_gnu_stack, pf_r | pf_w, 0, 0, 0, 0);
  segment(elf::pt_note, pf_r, metadata.offset, metadata.address, metadata.size, 4);
}

/// The static table has one name more, _DYNAMIC, in front.
void Image::write_symbols(Writer& out, const std::vector<std::uint32_t>& names) const {
  const auto symbol = [&](std::uint32_t name, std::uint8_t info, std::uint8_t other, std::uint16_t section,
                          std::uint64_t value, std::uint64_t size) {
    out.put(name);
    out.put(info);
    out.put(other);
    out.put(section);
    out.put(value);
    out.put(size);
  };
  constexpr std::uint8_t stv_hidden = 2;
  symbol(0, 0, 0, 0, 0, 0);
  const std::size_t extra = names.size() - in_.exported.size();
  if (extra != 0) symbol(names[0], elf::stb_local << 4, stv_hidden, dynamic, sections_[dynamic].address, 0);
  for (std::size_t i = 0; i < in_.exported.size(); ++i) {
    const elf::Symbol& s = in_.symbols[in_.exported[i]];
    const std::uint16_t section = s.section == in_.text ? text : rodata;
    symbol(names[i + extra], s.info, s.other, section, address_of(s), s.size);
  }
}

void Image::write_hash(Writer& out) const {
  const auto symbols = static_cast<std::uint32_t>(in_.exported.size() + 1);
  std::vector<std::uint32_t> buckets(symbols), chains(symbols);
  for (std::uint32_t i = symbols - 1; i > 0; --i) {
    std::uint32_t& head = buckets[sysv_hash(in_.symbols[in_.exported[i - 1]].name) % symbols];
    chains[i] = head;
    head = i;
  }
  out.put(symbols);
  out.put(symbols);
  for (const std::uint32_t b : buckets) out.put(b);
  for (const std::uint32_t c : chains) out.put(c);
}

void Image::write_dynamic(Writer& out) const {
  const std::array<std::array<std::uint64_t, 2>, 6> entries{{{dt_symtab, sections_[dynsym].address},
                                                             {dt_syment, elf::symbol_size},
                                                             {dt_strtab, sections_[dynstr].address},
                                                             {dt_strsz, sections_[dynstr].size},
                                                             {dt_hash, sections_[hash].address},
                                                             {dt_null, 0}}};
  for (const auto& entry : entries)
    for (const std::uint64_t word : entry) out.put(word);
}

void Image::write_section_headers(Writer& out) const {
  for (unsigned i = 0; i < count; ++i) {
    const Placed& s = sections_[i];
    out.put(name_offsets_[i]);
    out.put(s.type);
    for (const std::uint64_t field : {s.flags, s.address, s.offset, s.size}) out.put(field);
    out.put(s.link);
    out.put(s.info);
    out.put(i == 0 ? std::uint64_t{0} : s.alignment);
    out.put(s.entry_size);
  }
}

std::vector<std::uint8_t> Image::write(const std::vector<std::uint8_t>& descriptors) const {
  Writer out;
  write_header(out);
  write_segments(out);
  const auto start = [&](Out which) { out.pad_to(sections_[which].offset); };
  start(note);
  if (in_.note != 0) out.put(in_.file.sections[in_.note].contents);
  start(dynsym);
  write_symbols(out, dynamic_names_);
  start(hash);
  write_hash(out);
  start(dynstr);
  out.put(dynamic_strings_.bytes());
  start(rodata);
  out.put(descriptors);
  start(text);
  out.put(in_.file.sections[in_.text].contents);
  start(dynamic);
  write_dynamic(out);
  start(symtab);
  write_symbols(out, static_names_);
  start(shstrtab);
  out.put(names_.bytes());
  start(strtab);
  out.put(static_strings_.bytes());
  out.pad_to(align_up(out.size(), 8));
  write_section_headers(out);
  return out.take();
}

}  // namespace

Result<std::vector<std::uint8_t>> link(std::span<const std::uint8_t> object) {
  const auto in = read_input(object);
  if (!in) return std::unexpected(in.error());
  return Image(*in).build();
}

}  // namespace wavejit::lower
