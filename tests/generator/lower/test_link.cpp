// SPDX-License-Identifier: MIT
// Our linker against LLVM's: the same object through ld.lld-22 must give the same code, the same
// symbols and descriptors that say the same; llvm-readelf-22 must read ours without complaint.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "generator/lower/elf.hpp"
#include "tests/generator/lower/stock_tools.hpp"
#include "tests/generator/lower/text_kernel.hpp"

namespace wavejit {
namespace {

namespace elf = lower::elf;

std::string two_kernels(const target::Target& target) {
  return test::file_header(target) + test::kernel_code("first", "\tv_mov_b32 v0, v1\n\ts_endpgm\n") +
         test::kernel_code("second", "\tv_add_f32 v0, v1, v2\n\ts_nop 1\n\ts_endpgm\n") +
         test::kernel_metadata({"first", "second"}, target);
}

struct Export {
  std::string name;
  unsigned info, other;
  std::uint64_t size;
  std::string section;
  auto operator<=>(const Export&) const = default;
};

std::vector<Export> exports(const elf::File& file, std::uint32_t table_type) {
  const elf::Section* table = file.find(table_type);
  REQUIRE(table != nullptr);
  const auto symbols = elf::symbols(file, *table);
  REQUIRE(symbols);
  std::vector<Export> result;
  for (const elf::Symbol& s : *symbols) {
    REQUIRE(s.section < file.sections.size());
    result.push_back(
        {std::string(s.name), s.info, s.other, s.size, std::string(file.sections[s.section].name)});
  }
  std::ranges::sort(result);
  return result;
}

std::vector<std::uint8_t> contents(const elf::File& file, std::string_view section) {
  const elf::Section* s = file.find(section);
  REQUIRE(s != nullptr);
  return {s->contents.begin(), s->contents.end()};
}

std::vector<std::uint32_t> load_flags(const elf::File& file) {
  std::vector<std::uint32_t> result;
  for (const elf::Segment& s : file.segments)
    if (s.type == elf::pt_load) result.push_back(s.flags);
  return result;
}

/// Of what stock llvm-mc makes of `text`, since our own assembler takes no such text.
std::string refusal(const std::string& text) {
  const auto object =
      test::run_tool("llvm-mc-22", "-triple=amdgcn-amd-amdhsa -mcpu=gfx1151 -filetype=obj {k.s} -o {out}",
                     {{"k.s", test::to_bytes(text)}});
  const auto linked = lower::link(object);
  REQUIRE_FALSE(linked);
  return linked.error().message;
}

TEST_CASE("our shared object says what lld's says", "[lower]") {
  const target::Target& target = test::table(GENERATE("gfx1151", "gfx11-generic", "gfx12-generic"));
  CAPTURE(target.name);
  const auto object = lower::assemble(two_kernels(target), target);
  REQUIRE(object);
  const auto ours = lower::link(*object);
  REQUIRE(ours);
  const auto theirs = test::run_tool("ld.lld-22", "-shared {in.o} -o {out}", {{"in.o", *object}});
  const auto a = elf::parse(*ours);
  const auto b = elf::parse(theirs);
  REQUIRE(a);
  REQUIRE(b);
  CHECK(a->type == b->type);
  CHECK(a->flags == b->flags);
  CHECK(a->abi_version == b->abi_version);
  CHECK(contents(*a, ".text") == contents(*b, ".text"));
  CHECK(contents(*a, ".note") == contents(*b, ".note"));
  CHECK(exports(*a, elf::sht_dynsym) == exports(*b, elf::sht_dynsym));
  CHECK(exports(*a, elf::sht_symtab) == exports(*b, elf::sht_symtab));
  CHECK(load_flags(*a) == load_flags(*b));
}

// The numbers are llvm-readelf-22's of what llvm-mc-22 and ld.lld-22 make of a kernel.
TEST_CASE("e_flags and ABI version say the target, generic ones with their version", "[lower]") {
  struct Header {
    const char* target;
    std::uint32_t flags;
    std::uint8_t abi;
  };
  for (const Header& h : {Header{"gfx1100", 0x41, 3},
                          {"gfx1151", 0x4A, 3},
                          {"gfx1201", 0x4E, 3},
                          {"gfx11-generic", 0x1000054, 4},
                          {"gfx12-generic", 0x1000059, 4}}) {
    CAPTURE(h.target);
    const target::Target& target = test::table(h.target);
    const auto object = test::build_object(two_kernels(target), target);
    const auto file = elf::parse(object);
    REQUIRE(file);
    CHECK(file->flags == h.flags);
    CHECK(file->flags == target.elf_flags);
    CHECK(file->abi_version == h.abi);
    const auto decoded = lower::decode(object);
    REQUIRE(decoded);
    CHECK(decoded->target == &target);
    CHECK(decoded->isa_name == "amdgcn-amd-amdhsa--" + std::string(h.target));
  }
}

TEST_CASE("descriptors and code come out of our object as out of lld's", "[lower]") {
  const target::Target& target = test::table(GENERATE("gfx1151", "gfx11-generic", "gfx12-generic"));
  CAPTURE(target.name);
  const auto object = lower::assemble(two_kernels(target), target);
  REQUIRE(object);
  const auto linked = lower::link(*object);
  REQUIRE(linked);
  const auto theirs = test::run_tool("ld.lld-22", "-shared {in.o} -o {out}", {{"in.o", *object}});
  const auto a = lower::decode(*linked);
  const auto b = lower::decode(theirs);
  REQUIRE(a);
  REQUIRE(b);
  REQUIRE(a->kernels.size() == 2);
  REQUIRE(b->kernels.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const lower::DecodedKernel& x = a->kernels[i];
    const lower::DecodedKernel& y = b->kernels[i];
    CHECK(x.name == y.name);
    CHECK(x.descriptor.rsrc1 == y.descriptor.rsrc1);
    CHECK(x.descriptor.rsrc2 == y.descriptor.rsrc2);
    CHECK(x.descriptor.rsrc3 == y.descriptor.rsrc3);
    CHECK(x.descriptor.properties == y.descriptor.properties);
    REQUIRE(x.instructions.size() == y.instructions.size());
    for (std::size_t n = 0; n < x.instructions.size(); ++n)
      CHECK(x.instructions[n].inst == y.instructions[n].inst);
  }
}

TEST_CASE("llvm-readelf finds nothing to complain about", "[lower]") {
  const target::Target& target = test::table("gfx1151");
  const auto linked = test::build_object(two_kernels(target), target);
  const auto said = test::run_tool("llvm-readelf-22", "--all --wide {k.hsaco}", {{"k.hsaco", linked}});
  const std::string text(said.begin(), said.end());
  CHECK(text.find("warning") == std::string::npos);
  CHECK(text.find("error") == std::string::npos);
  CHECK(text.find("second.kd") != std::string::npos);
}

// As a loader looks a symbol up: the dynamic section's DT_HASH and DT_SYMTAB, and the hash function and
// chains of the gABI, "Hash Table", written out here.
TEST_CASE("every symbol is found through DT_HASH", "[lower]") {
  const target::Target& target = test::table("gfx1151");
  std::vector<std::string> names;
  std::string text = test::file_header(target);
  for (unsigned i = 0; i < 40; ++i) {  // long names: the hash folds its upper bits back
    names.push_back("a_kernel_with_a_name_of_some_length_" + std::to_string(i * i * 7919));
    text += test::kernel_code(names.back(), "\ts_endpgm\n");
  }
  const auto linked = test::build_object(text + test::kernel_metadata(names, target), target);
  const auto file = elf::parse(linked);
  REQUIRE(file);
  const elf::Section* dynamic = file->find(elf::sht_dynamic);
  REQUIRE(dynamic != nullptr);
  std::map<std::uint64_t, std::uint64_t> entries;
  for (std::uint64_t at = 0; at < dynamic->contents.size(); at += 16)
    entries[*elf::read<std::uint64_t>(dynamic->contents, at)] =
        *elf::read<std::uint64_t>(dynamic->contents, at + 8);
  // DT_HASH 4, DT_STRTAB 5, DT_SYMTAB 6, DT_STRSZ 10, DT_SYMENT 11, and DT_NULL at the end.
  REQUIRE((entries.contains(0) && entries.contains(4) && entries.contains(5) && entries.contains(6)));
  CHECK(*elf::read<std::uint64_t>(dynamic->contents, dynamic->contents.size() - 16) == 0);
  CHECK(entries[11] == 24);
  const auto hash = file->from(entries[4]), table = file->from(entries[6]),
             strings = file->at(entries[5], entries[10]);
  REQUIRE((hash && table && strings));
  const auto word = [&](std::uint64_t i) { return *elf::read<std::uint32_t>(*hash, 4 * i); };
  const auto look_up = [&](const std::string& name) -> std::uint32_t {
    unsigned long h = 0, g = 0;
    for (const char c : name) {
      h = (h << 4) + static_cast<unsigned char>(c);
      if ((g = h & 0xF0000000) != 0) h ^= g >> 24;
      h &= ~g;
    }
    const std::uint32_t buckets = word(0);
    for (std::uint32_t i = word(2 + h % buckets); i != 0; i = word(2 + buckets + i))
      if (elf::read_string(*strings, *elf::read<std::uint32_t>(*table, std::uint64_t{i} * 24)) == name)
        return i;
    return 0;
  };
  std::set<std::uint32_t> found;
  for (const std::string& name : names)
    for (const std::string& symbol : {name, name + ".kd"}) {
      CAPTURE(symbol);
      CHECK(look_up(symbol) != 0);
      found.insert(look_up(symbol));
    }
  CHECK(found.size() == 2 * names.size());
  CHECK(word(1) == found.size() + 1);  // entries of the symbol table: the null symbol, too
  CHECK(look_up("another") == 0);
}

// gABI, "Special Sections": sh_link and sh_info by type; for symbol tables sh_info is one more than the last
// local symbol's index.
TEST_CASE("section headers name their strings, symbols and first global symbol", "[lower]") {
  const target::Target& target = test::table("gfx1151");
  const auto linked = test::build_object(two_kernels(target), target);
  const auto file = elf::parse(linked);
  REQUIRE(file);
  const auto name_of = [&](std::uint32_t index) { return file->sections.at(index).name; };
  for (const std::uint32_t type : {elf::sht_symtab, elf::sht_dynsym}) {
    const elf::Section* table = file->find(type);
    REQUIRE(table != nullptr);
    CHECK(name_of(table->link) == (type == elf::sht_symtab ? ".strtab" : ".dynstr"));
    CHECK(table->entry_size == 24);
    const auto symbols = elf::symbols(*file, *table);
    REQUIRE(symbols);
    std::uint32_t locals = 0;
    while (locals < symbols->size() && (*symbols)[locals].binding() == elf::stb_local) ++locals;
    CHECK(table->info == locals);
    for (std::uint32_t i = locals; i < symbols->size(); ++i) CHECK((*symbols)[i].binding() != elf::stb_local);
  }
  CHECK(name_of(file->find(elf::sht_hash)->link) == ".dynsym");
  CHECK(file->find(elf::sht_hash)->entry_size == 4);
  CHECK(name_of(file->find(elf::sht_dynamic)->link) == ".dynstr");
  CHECK(file->find(elf::sht_dynamic)->entry_size == 16);
  // What loads lies where its segment says: address and file offset agree modulo the page, no two overlap.
  std::uint64_t end = 0;
  for (const elf::Segment& s : file->segments) {
    if (s.type != elf::pt_load) continue;
    const auto offset = static_cast<std::uint64_t>(s.contents.data() - linked.data());
    CHECK(offset % 4096 == s.address % 4096);
    CHECK(s.address >= end);
    CHECK(s.address / 4096 >= (end + 4095) / 4096);
    end = s.address + s.memory_size;
  }
}

TEST_CASE("linking twice gives the same bytes", "[lower]") {
  const target::Target& target = test::table("gfx1100");
  CHECK(test::build_object(two_kernels(target), target) == test::build_object(two_kernels(target), target));
}

TEST_CASE("the linker refuses by name what it does not handle", "[lower]") {
  const std::string code = test::kernel_code("k", "\ts_endpgm\n");
  const std::string call = test::kernel_code("k", "\ts_mov_b32 s0, other@rel32@lo\n\ts_endpgm\n");
  const std::pair<std::string, const char*> cases[] = {
      {code + "\t.data\nx:\n\t.long 1\n", ".data"},
      {"\t.text\n\ts_endpgm\n", "descriptor"},
      {code + "\t.section .rodata\n\t.quad k\n", "R_AMDGPU_ABS64"},
      {code + "\t.section .rodata\n\t.quad elsewhere-.\n", "elsewhere"},
      {call + "\t.text\n\t.globl other\nother:\n\ts_endpgm\n", ".text"}};
  for (const auto& [text, part] : cases) CHECK(refusal(text).find(part) != std::string::npos);
}

TEST_CASE("a truncated object is refused, never believed", "[lower]") {
  const target::Target& target = test::table("gfx1151");
  const auto object = lower::assemble(two_kernels(target), target);
  REQUIRE(object);
  for (std::size_t size = 0; size < object->size(); ++size) {
    const auto linked = lower::link(std::span(*object).first(size));
    CHECK_FALSE(linked);
  }
}

}  // namespace
}  // namespace wavejit
