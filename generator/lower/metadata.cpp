// SPDX-License-Identifier: MIT
#include "generator/lower/metadata.hpp"

#include <limits>

#include "generator/lower/msgpack.hpp"

namespace wavejit::lower {
namespace {

using msgpack::Reader;

std::unexpected<Error> malformed(std::string_view what) {
  return fail(ErrorCode::invalid_code_object, "the metadata note is malformed: " + std::string(what));
}

/// Calls entry(key, reader) for each pair of a map; entry returns false for a wrong value.
template <class F>
bool for_each_entry(Reader& reader, F&& entry) {
  const auto count = reader.enter_map();
  if (!count) return false;
  for (std::uint64_t i = 0; i < *count; ++i) {
    const auto key = reader.string();
    if (!key || !entry(*key, reader)) return false;
  }
  return true;
}

bool read_text(Reader& reader, std::string& out) {
  const auto text = reader.string();
  if (text) out = *text;
  return text.has_value();
}

bool read_u32(Reader& reader, std::uint32_t& out) {
  const auto value = reader.unsigned_integer();
  if (!value || *value > std::numeric_limits<std::uint32_t>::max()) return false;
  out = static_cast<std::uint32_t>(*value);
  return true;
}

bool read_arg(Reader& reader, ArgMetadata& arg) {
  return for_each_entry(reader, [&](std::string_view key, Reader& r) {
    if (key == ".name") return read_text(r, arg.name);
    if (key == ".offset") return read_u32(r, arg.offset);
    if (key == ".size") return read_u32(r, arg.size);
    if (key == ".value_kind") return read_text(r, arg.value_kind);
    if (key == ".access") return read_text(r, arg.access);
    if (key == ".actual_access" && arg.access.empty()) return read_text(r, arg.access);
    return r.skip();
  });
}

bool read_args(Reader& reader, std::vector<ArgMetadata>& args) {
  const auto count = reader.enter_array();
  if (!count) return false;
  for (std::uint64_t i = 0; i < *count; ++i)
    if (!read_arg(reader, args.emplace_back())) return false;
  return true;
}

/// [x, y, z].
bool read_size3(Reader& reader, std::array<std::uint32_t, 3>& out) {
  const auto count = reader.enter_array();
  if (!count || *count != out.size()) return false;
  for (std::uint32_t& x : out)
    if (!read_u32(reader, x)) return false;
  return true;
}

bool read_kernel(Reader& reader, KernelMetadata& m) {
  DecodedKernel& k = m.kernel;
  return for_each_entry(reader, [&](std::string_view key, Reader& r) {
    if (key == ".name") return read_text(r, k.name);
    if (key == ".symbol") return read_text(r, m.symbol);
    if (key == ".args") return read_args(r, k.args);
    if (key == ".max_flat_workgroup_size") return read_u32(r, k.max_flat_workgroup_size);
    if (key == ".reqd_workgroup_size") return read_size3(r, k.required_workgroup_size);
    if (key == ".vgpr_count") return read_u32(r, k.vgpr_count);
    if (key == ".sgpr_count") return read_u32(r, k.sgpr_count);
    if (key == ".agpr_count") return read_u32(r, k.agpr_count);
    if (key == ".wavefront_size") return read_u32(r, k.wavefront_size);
    if (key == ".group_segment_fixed_size") return read_u32(r, k.group_segment_size);
    if (key == ".private_segment_fixed_size") return read_u32(r, k.private_segment_size);
    if (key == ".kernarg_segment_size") return read_u32(r, k.kernarg_segment_size);
    return r.skip();
  });
}

bool read_kernels(Reader& reader, std::vector<KernelMetadata>& kernels) {
  const auto count = reader.enter_array();
  if (!count) return false;
  for (std::uint64_t i = 0; i < *count; ++i)
    if (!read_kernel(reader, kernels.emplace_back())) return false;
  return true;
}

std::uint64_t align4(std::uint64_t value) { return (value + 3) / 4 * 4; }

/// The payload of the first AMDGPU metadata note; gABI, "Note Section": name size, payload size,
/// type, then name and payload, each padded to 4 bytes.
std::optional<elf::Bytes> find_payload(elf::Bytes notes) {
  constexpr std::string_view owner("AMDGPU\0", 7);
  while (true) {
    const auto name_size = elf::read<std::uint32_t>(notes, 0);
    const auto size = elf::read<std::uint32_t>(notes, 4);
    const auto type = elf::read<std::uint32_t>(notes, 8);
    if (!name_size || !size || !type) return std::nullopt;
    const auto name = elf::slice(notes, 12, *name_size);
    const std::uint64_t start = 12 + align4(*name_size);
    const auto payload = elf::slice(notes, start, *size);
    if (!name || !payload) return std::nullopt;
    const std::string_view text(reinterpret_cast<const char*>(name->data()), name->size());
    if (*type == elf::note_amdgpu_metadata && text == owner) return payload;
    const std::uint64_t step = start + align4(*size);
    if (step >= notes.size()) return std::nullopt;
    notes = notes.subspan(step);
  }
}

std::optional<elf::Bytes> find_payload(const elf::File& file) {
  for (const elf::Segment& s : file.segments)
    if (s.type == elf::pt_note)
      if (const auto payload = find_payload(s.contents)) return payload;
  for (const elf::Section& s : file.sections)
    if (s.type == elf::sht_note)
      if (const auto payload = find_payload(s.contents)) return payload;
  return std::nullopt;
}

}  // namespace

Result<Metadata> read_metadata(const elf::File& file) {
  const auto payload = find_payload(file);
  if (!payload) return malformed("there is no AMDGPU metadata note");
  Metadata result;
  Reader reader(*payload);
  const bool ok = for_each_entry(reader, [&](std::string_view key, Reader& r) {
    if (key == "amdhsa.target") return read_text(r, result.target);
    if (key == "amdhsa.kernels") return read_kernels(r, result.kernels);
    return r.skip();
  });
  if (!ok) return malformed("its MessagePack is not what a code object holds");
  for (const KernelMetadata& m : result.kernels)
    if (m.kernel.name.empty() || m.symbol.empty()) return malformed("a kernel without a name or symbol");
  return result;
}

}  // namespace wavejit::lower
