// SPDX-License-Identifier: MIT
#include "runtime/gguf/header.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "runtime/gguf/metadata.hpp"

namespace wavejit::gguf {
namespace {

constexpr std::uint64_t most_dimensions = 4;  // docs/gguf.md
/// docs/gguf.md has 64, which programs built with a larger GGML_MAX_NAME exceed.
constexpr std::uint64_t longest_name = 65535;
/// Sizes and offsets stay where sums of two of them do not overflow.
constexpr std::uint64_t most_bytes = std::numeric_limits<std::int64_t>::max();

Result<std::uint32_t> read_version(Cursor& cursor) {
  const auto magic = cursor.take(4, "the magic");
  if (!magic) return std::unexpected(magic.error());
  if (std::memcmp(magic->data(), "GGUF", 4) != 0)
    return cursor.place().bad(
        "the magic", name_text({reinterpret_cast<const char*>(magic->data()), magic->size()}), "\"GGUF\"");
  const auto version = cursor.read<std::uint32_t>("the version");
  if (!version) return version;
  if (*version == 2 || *version == 3) return version;
  const bool swapped = *version != 0 && (*version & 0xFFFF) == 0;
  const std::string given =
      swapped ? fmt::format("{}, of a big-endian file", *version >> 24)
      : *version == 1
          ? std::string("1, whose counts have 32 bits and which no writer has made since August 2023")
          : std::to_string(*version);
  return cursor.place().bad("the version", given, "2 or 3, little-endian", ErrorCode::unsupported);
}

Result<std::uint64_t> read_count(Cursor& cursor, const std::string& what, std::uint64_t least_each) {
  const auto count = cursor.read<std::uint64_t>(what);
  if (!count) return count;
  const std::uint64_t most = cursor.left() / least_each;
  if (*count > most)
    return cursor.place().bad(what, std::to_string(*count),
                              fmt::format("at most {}, which the file's rest could hold", most));
  return count;
}

Result<void> read_metadata(Cursor& cursor, std::uint64_t count, Header& header) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto entry = read_entry(cursor, i);
    if (!entry) return std::unexpected(entry.error());
    const auto& [key, value] = *entry;
    if (!header.metadata.emplace(std::string(key), value).second)
      return cursor.place().bad("metadata " + name_text(key), "given twice", "given once");
  }
  return {};
}

Result<std::uint64_t> read_alignment(const Header& header, const Place& at) {
  const Value* value = header.find("general.alignment");
  if (value == nullptr) return 32;
  const std::uint64_t most = 1U << 20;  // nobody needs more than a large page
  const auto alignment = value->unsigned_integer();
  if (value->type == ValueType::u32 && alignment && *alignment >= 8 && *alignment <= most &&
      (*alignment & (*alignment - 1)) == 0)
    return *alignment;
  return at.bad("general.alignment",
                alignment ? fmt::format("{} ({})", *alignment, name(value->type))
                          : fmt::format("a value of type {}", name(value->type)),
                fmt::format("a power of two from 8 to {} (u32)", most));
}

Result<std::vector<std::int64_t>> read_dimensions(Cursor& cursor, const std::string& what) {
  const auto count = cursor.read<std::uint32_t>(what + "'s number of dimensions");
  if (!count) return std::unexpected(count.error());
  std::vector<std::int64_t> dimensions;
  for (std::uint32_t i = 0; i < *count; ++i) {
    const std::string field = fmt::format("{}.dimensions[{}]", what, i);
    const auto size = cursor.read<std::uint64_t>(field);
    if (!size) return std::unexpected(size.error());
    if (*size > most_bytes) return cursor.place().bad(field, std::to_string(*size), "between 0 and 2^63 - 1");
    dimensions.push_back(static_cast<std::int64_t>(*size));
  }
  return dimensions;
}

/// What keeps the values from being read and the size from being known; empty if nothing does.
std::string unusable(const Tensor& t) {
  if (t.type == nullptr) return fmt::format("type {} unknown", t.type_number);
  if (t.type->block_elements == 0) return fmt::format("type {} ({}) retired", t.type_number, t.type->name);
  if (t.dimensions.empty() || t.dimensions.size() > most_dimensions)
    return fmt::format("{} dimensions, not 1 to {}", t.dimensions.size(), most_dimensions);
  if (std::ranges::find(t.dimensions, 0) != t.dimensions.end()) return "no elements: a dimension is 0";
  if (static_cast<std::uint64_t>(t.row_elements()) % t.type->block_elements != 0)
    return fmt::format("rows of {} elements, no multiple of {}, the block of {}", t.row_elements(),
                       t.type->block_elements, t.type->name);
  return {};
}

/// Bytes of the tensor, from its type and dimensions; 0 where they do not say.
Result<std::uint64_t> bytes_of(const Tensor& t, const std::string& what, const Place& at) {
  if (!t.unusable.empty()) return 0;
  const auto row = static_cast<std::uint64_t>(t.row_elements());
  std::uint64_t bytes = row / t.type->block_elements;
  const auto times = [&](std::uint64_t by) {
    if (bytes > most_bytes / by) return false;
    bytes *= by;
    return true;
  };
  bool fits = times(t.type->block_bytes);
  for (std::size_t i = 1; i < t.dimensions.size(); ++i)
    fits = fits && times(static_cast<std::uint64_t>(t.dimensions[i]));
  if (!fits) return at.bad(what + ".dimensions", "of more than 2^63 - 1 bytes in all", "of fewer");
  return bytes;
}

/// `begin` and `end` count from the data's beginning as yet, which is known after the last tensor.
Result<Tensor> read_tensor(Cursor& cursor, std::uint64_t index, const Header& header) {
  const std::string nameless = fmt::format("tensor {}'s name", index);
  const auto name = cursor.string(nameless);
  if (!name) return std::unexpected(name.error());
  if (name->empty() || name->size() > longest_name)
    return cursor.place().bad(nameless, fmt::format("{} bytes long", name->size()),
                              fmt::format("1 to {} bytes long", longest_name));
  Tensor t;
  t.name = *name;
  const std::string what = "tensor " + name_text(*name);
  auto dimensions = read_dimensions(cursor, what);
  if (!dimensions) return std::unexpected(std::move(dimensions.error()));
  t.dimensions = *std::move(dimensions);
  const auto type = cursor.read<std::uint32_t>(what + ".type");
  if (!type) return std::unexpected(type.error());
  t.type_number = *type;
  t.type = find_type(*type);
  t.unusable = unusable(t);
  const auto bytes = bytes_of(t, what, cursor.place());
  if (!bytes) return std::unexpected(bytes.error());
  const auto offset = cursor.read<std::uint64_t>(what + ".offset");
  if (!offset) return std::unexpected(offset.error());
  if (*offset % header.alignment != 0)
    return cursor.place().bad(what + ".offset", std::to_string(*offset),
                              fmt::format("a multiple of {}, general.alignment", header.alignment));
  if (*offset > most_bytes - *bytes)
    return cursor.place().bad(what + ".offset", std::to_string(*offset),
                              "such that the tensor ends below 2^63");
  t.begin = *offset;
  t.end = *offset + *bytes;
  return t;
}

Result<void> read_tensors(Cursor& cursor, std::uint64_t count, Header& header) {
  std::set<std::string, std::less<>> names;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto tensor = read_tensor(cursor, i, header);
    if (!tensor) return std::unexpected(std::move(tensor.error()));
    if (!names.insert(tensor->name).second)
      return cursor.place().bad("tensor " + name_text(tensor->name), "given twice", "given once");
    header.tensors.push_back(*std::move(tensor));
  }
  return {};
}

/// Inside `data` bytes, and no byte in two tensors whose size is known. Turns offsets into places in the
/// file.
Result<void> place_tensors(Header& header, std::uint64_t data, Data wanted, const Place& at) {
  std::vector<Tensor*> sorted;
  sorted.reserve(header.tensors.size());
  for (Tensor& t : header.tensors) sorted.push_back(&t);
  std::ranges::sort(sorted, {}, &Tensor::begin);
  const Tensor* before = nullptr;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    Tensor* t = sorted[i];
    if (!t->unusable.empty()) {
      t->end = std::max(t->begin, i + 1 < sorted.size() ? sorted[i + 1]->begin : data);
      continue;
    }
    const std::string what = fmt::format("tensor {}.offset", name_text(t->name));
    if (before != nullptr && t->begin < before->end)
      return at.bad(what, std::to_string(t->begin),
                    fmt::format("at least {}, where {} ends", before->end, name_text(before->name)));
    if (wanted == Data::present && t->end > data)
      return at.bad(what, fmt::format("{}, {} bytes before its end", t->begin, t->end - t->begin),
                    fmt::format("such that it ends within the {} bytes of data", data));
    before = t;
  }
  for (Tensor& t : header.tensors) {
    if (t.end > most_bytes - header.data_begin)
      return at.bad(fmt::format("tensor {}.offset", name_text(t.name)), std::to_string(t.begin),
                    "such that the tensor ends below 2^63");
    t.begin += header.data_begin;
    t.end += header.data_begin;
  }
  return {};
}

}  // namespace

std::string Tensor::type_name() const {
  return type != nullptr ? std::string(type->name) : fmt::format("type {}", type_number);
}

std::int64_t Tensor::rows() const {
  std::int64_t rows = 1;
  for (std::size_t i = 1; i < dimensions.size(); ++i) rows *= dimensions[i];
  return rows;
}

const Value* Header::find(std::string_view key) const {
  const auto it = metadata.find(key);
  return it == metadata.end() ? nullptr : &it->second;
}

const Tensor* Header::tensor(std::string_view name) const {
  const auto it = std::ranges::find(tensors, name, &Tensor::name);
  return it == tensors.end() ? nullptr : &*it;
}

std::string name_text(std::string_view name) {
  constexpr std::size_t most = 100;
  std::string text;
  for (const char c : name.substr(0, most))
    text += static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7E ? '?' : c;
  return fmt::format("\"{}{}\"", text, name.size() > most ? "..." : "");
}

Result<Header> parse_header(std::span<const std::byte> head, std::uint64_t file_bytes, std::string_view file,
                            Data data) {
  constexpr std::uint64_t least_entry = 8 + 1 + 4 + 1;       // key, type, value
  constexpr std::uint64_t least_tensor = 8 + 1 + 4 + 4 + 8;  // name, number of dimensions, type, offset
  Cursor cursor(head, Place{file});
  Header header;
  const auto version = read_version(cursor);
  if (!version) return std::unexpected(version.error());
  header.version = *version;
  const auto tensors = read_count(cursor, "the number of tensors", least_tensor);
  if (!tensors) return std::unexpected(tensors.error());
  const auto entries = read_count(cursor, "the number of metadata values", least_entry);
  if (!entries) return std::unexpected(entries.error());
  if (auto ok = read_metadata(cursor, *entries, header); !ok) return std::unexpected(ok.error());
  const auto alignment = read_alignment(header, cursor.place());
  if (!alignment) return std::unexpected(alignment.error());
  header.alignment = *alignment;
  if (auto ok = read_tensors(cursor, *tensors, header); !ok) return std::unexpected(ok.error());
  header.data_begin = (cursor.at() + header.alignment - 1) / header.alignment * header.alignment;
  const std::uint64_t there = file_bytes - std::min(file_bytes, header.data_begin);
  if (auto ok = place_tensors(header, there, data, cursor.place()); !ok) return std::unexpected(ok.error());
  return header;
}

}  // namespace wavejit::gguf
