// SPDX-License-Identifier: MIT
#include "runtime/device/common/kernel_facts.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/device/common/code_object_target.hpp"

namespace wavejit::device {
namespace {

using Bytes = std::span<const std::byte>;
using Json = nlohmann::json;

std::unexpected<Error> bad(std::string why) {
  return fail(ErrorCode::invalid_code_object, "the code object's " + std::move(why));
}

template <class T>
T at(Bytes bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

bool inside(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

/// Copies out a header table after checking it and what it points to. `extent` gives offset and size.
template <class Header, class Extent>
Result<std::vector<Header>> table(Bytes elf, std::uint64_t offset, unsigned count, unsigned entry,
                                  const char* name, Extent extent) {
  std::vector<Header> headers;
  if (count == 0) return headers;
  if (entry != sizeof(Header) || !inside(elf, offset, std::uint64_t{count} * entry))
    return bad(fmt::format("{} table is not within its {} bytes", name, elf.size()));
  for (unsigned i = 0; i < count; ++i) {
    headers.push_back(at<Header>(elf, offset + std::size_t{i} * entry));
    const auto [begin, size] = extent(headers.back());
    if (!inside(elf, begin, size))
      return bad(fmt::format("{} {} is not within its {} bytes", name, i, elf.size()));
  }
  return headers;
}

/// The metadata note among those of one segment or section.
std::optional<Bytes> find_metadata(Bytes notes) {
  constexpr std::uint32_t metadata_type = 32;
  constexpr auto up4 = [](std::uint64_t n) { return (n + 3) & ~std::uint64_t{3}; };
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    const auto header = at<Elf64_Nhdr>(notes, 0);
    notes = notes.subspan(sizeof header);
    const std::uint64_t name = up4(header.n_namesz), text = up4(header.n_descsz);
    if (name > notes.size() || header.n_descsz > notes.size() - name) return std::nullopt;
    const bool amdgpu = header.n_namesz >= 6 && std::memcmp(notes.data(), "AMDGPU", 6) == 0;
    if (amdgpu && header.n_type == metadata_type) return notes.subspan(name, header.n_descsz);
    notes = notes.subspan(std::min<std::uint64_t>(name + text, notes.size()));
  }
  return std::nullopt;
}

Result<Bytes> metadata_of(Bytes elf) {
  const auto header = at<Elf64_Ehdr>(elf, 0);
  const auto sections = table<Elf64_Shdr>(
      elf, header.e_shoff, header.e_shnum, header.e_shentsize, "section",
      [](const Elf64_Shdr& s) { return std::pair(s.sh_offset, s.sh_type == SHT_NOBITS ? 0 : s.sh_size); });
  if (!sections) return std::unexpected(sections.error());
  const auto segments =
      table<Elf64_Phdr>(elf, header.e_phoff, header.e_phnum, header.e_phentsize, "segment",
                        [](const Elf64_Phdr& p) { return std::pair(p.p_offset, p.p_filesz); });
  if (!segments) return std::unexpected(segments.error());
  for (const Elf64_Phdr& segment : *segments) {
    if (segment.p_type != PT_NOTE) continue;
    if (const auto found = find_metadata(elf.subspan(segment.p_offset, segment.p_filesz))) return *found;
  }
  return bad("notes hold no AMDGPU metadata");
}

/// One MessagePack value's head: what follows it, and how many values it holds.
struct Head {
  std::uint64_t skip = 0;      ///< bytes, the head's own included
  std::uint64_t children = 0;  ///< of an array or map
};

/// `width` bytes after the first, most significant first.
std::uint64_t big_endian(Bytes bytes, unsigned width) {
  std::uint64_t value = 0;
  for (unsigned i = 1; i <= width && i < bytes.size(); ++i)
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

/// By MessagePack's table of formats.
Head head_of(Bytes bytes) {
  const auto first = std::to_integer<unsigned>(bytes[0]);
  if (first <= 0x7f || first >= 0xe0) return {1, 0};
  if (first <= 0x8f) return {1, std::uint64_t{2} * (first & 15)};
  if (first <= 0x9f) return {1, first & 15};
  if (first <= 0xbf) return {1 + std::uint64_t{first & 31}, 0};
  if (first <= 0xc3) return {1, 0};
  if (first <= 0xc6) return {1 + (1U << (first - 0xc4)) + big_endian(bytes, 1U << (first - 0xc4)), 0};
  if (first <= 0xc9) return {2 + (1U << (first - 0xc7)) + big_endian(bytes, 1U << (first - 0xc7)), 0};
  if (first <= 0xcb) return {first == 0xca ? 5U : 9U, 0};
  if (first <= 0xd3) return {1 + (1U << (first & 3)), 0};
  if (first <= 0xd8) return {2 + (1U << (first - 0xd4)), 0};
  if (first <= 0xdb) return {1 + (1U << (first - 0xd9)) + big_endian(bytes, 1U << (first - 0xd9)), 0};
  const unsigned width = first % 2 == 0 ? 2 : 4;
  return {1 + width, big_endian(bytes, width) * (first >= 0xde ? 2 : 1)};
}

/// The JSON library reads MessagePack by recursion, so depth is bounded before it may look.
bool is_shallow(Bytes bytes) {
  constexpr std::size_t deepest = 16;
  std::vector<std::uint64_t> open{1};  ///< values still to come, per level
  while (!open.empty()) {
    if (open.back() == 0) {
      open.pop_back();
      continue;
    }
    if (bytes.empty() || open.size() > deepest) return false;
    const Head head = head_of(bytes);
    if (head.skip > bytes.size()) return false;
    bytes = bytes.subspan(head.skip);
    --open.back();
    if (head.children != 0) open.push_back(head.children);
  }
  return true;
}

std::uint32_t number(const Json& map, const char* key) {
  const auto it = map.find(key);
  return it != map.end() && it->is_number_unsigned() ? it->get<std::uint32_t>() : 0;
}

std::string text(const Json& map, const char* key) {
  const auto it = map.find(key);
  return it != map.end() && it->is_string() ? it->get<std::string>() : std::string();
}

KernelFacts facts_of(const Json& kernel) {
  KernelFacts facts;
  facts.kernarg_bytes = number(kernel, ".kernarg_segment_size");
  facts.lds_bytes = number(kernel, ".group_segment_fixed_size");
  facts.max_workgroup = number(kernel, ".max_flat_workgroup_size");
  const auto args = kernel.find(".args");
  if (args == kernel.end() || !args->is_array()) return facts;
  for (const Json& arg : *args) {
    if (!arg.is_object() || text(arg, ".value_kind").starts_with("hidden_")) continue;
    facts.explicit_bytes = std::max(facts.explicit_bytes, number(arg, ".offset") + number(arg, ".size"));
  }
  return facts;
}

}  // namespace

Result<KernelFacts> read_kernel(Bytes code_object, std::string_view kernel) {
  if (const auto target = read_target(code_object); !target) return std::unexpected(target.error());
  const auto note = metadata_of(code_object);
  if (!note) return std::unexpected(note.error());
  if (!is_shallow(*note)) return bad("metadata is not MessagePack of a depth that metadata has");
  const auto* begin = reinterpret_cast<const std::uint8_t*>(note->data());
  const Json metadata = Json::from_msgpack(begin, begin + note->size(), true, false);
  const auto kernels = metadata.is_object() ? metadata.find("amdhsa.kernels") : metadata.end();
  if (kernels == metadata.end() || !kernels->is_array()) return bad("metadata lists no kernels");
  std::string names;
  for (const Json& entry : *kernels) {
    if (!entry.is_object()) return bad("metadata has a kernel that is not a map");
    const std::string name = text(entry, ".name");
    if (name == kernel) return facts_of(entry);
    names += (names.empty() ? "" : ", ") + name;
  }
  return fail_field(ErrorCode::invalid_code_object, "kernel", std::string(kernel),
                    "one of the code object's: " + names);
}

Result<void> check_geometry(const Geometry& geometry, const KernelFacts& facts, std::size_t kernarg_bytes,
                            std::uint64_t lds_of_device) {
  const auto refuse = [](const char* field, std::string given, std::string allowed) {
    return fail_field(ErrorCode::invalid_argument, field, std::move(given), std::move(allowed));
  };
  std::uint64_t items = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::uint64_t grid = geometry.grid[i], block = geometry.block[i];
    if (grid == 0) return refuse("grid", "0 workgroups in a dimension", "at least 1");
    if (block == 0) return refuse("block", "0 work-items in a dimension", "at least 1");
    if (grid * block >> 32 != 0)
      return refuse("grid", fmt::format("{} x {} work-items in a dimension", grid, block), "below 2^32");
    items = std::min<std::uint64_t>(items * block, std::uint64_t{1} << 32);
  }
  const std::uint32_t most = facts.max_workgroup != 0 ? facts.max_workgroup : 1024;
  if (items > most)
    return refuse("block", fmt::format("{} work-items", items), fmt::format("at most {}", most));
  const std::uint64_t lds = std::uint64_t{facts.lds_bytes} + geometry.dynamic_lds_bytes;
  if (lds > lds_of_device)
    return refuse("LDS", fmt::format("{} bytes", lds), fmt::format("at most {} bytes", lds_of_device));
  if (kernarg_bytes < facts.explicit_bytes || kernarg_bytes > facts.kernarg_bytes)
    return refuse("kernarg", fmt::format("{} bytes", kernarg_bytes),
                  fmt::format("{} to {} bytes for this kernel", facts.explicit_bytes, facts.kernarg_bytes));
  return {};
}

}  // namespace wavejit::device
