// SPDX-License-Identifier: MIT
#include "runtime/checkpoint/safetensors.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>

#include "runtime/support/json.hpp"

namespace wavejit::checkpoint {
namespace {

using Json = nlohmann::json;  // its objects stay fast for a header of a million names

constexpr std::uint64_t length_bytes = 8;

/// What every error of one file begins with.
struct Place {
  std::string_view file;

  [[nodiscard]] std::unexpected<Error> bad(const std::string& what, std::string given,
                                           std::string allowed) const {
    return fail_field(ErrorCode::io, fmt::format("{}: {}", file, what), std::move(given), std::move(allowed));
  }
};

/// Names come from the file: no control character of theirs reaches a terminal, and none is endless.
std::string name_text(std::string_view name) {
  constexpr std::size_t most = 100;
  std::string text;
  for (const char c : name.substr(0, most))
    text += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  return fmt::format("\"{}{}\"", text, name.size() > most ? "..." : "");
}

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  constexpr std::size_t most = 60;
  if (text.size() > most) text = text.substr(0, most) + "...";
  return text;
}

std::uint64_t read_length(std::span<const std::byte> head) {
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= std::to_integer<std::uint64_t>(head[i]) << (8 * i);
  return length;
}

Result<std::uint64_t> header_length(std::span<const std::byte> head, std::uint64_t file_bytes,
                                    const Place& at) {
  if (file_bytes < length_bytes || head.size() < length_bytes)
    return at.bad("the file's length",
                  fmt::format("{} bytes", std::min<std::uint64_t>(file_bytes, head.size())),
                  "at least 8, the header's length");
  const std::uint64_t length = read_length(head);
  const std::uint64_t most = std::min(file_bytes - length_bytes, max_header_bytes);
  if (length < 2 || length > most)
    return at.bad("the header's length", fmt::format("{} bytes", length),
                  fmt::format("2 to {}, in a file of {} bytes", most, file_bytes));
  return length;
}

/// Looks for what a parsed value no longer shows. nlohmann's own callback is not used: it looks through all
/// earlier members at the end of each one, which a header of a million names turns into hours.
class Names final : public nlohmann::json_sax<Json> {
 public:
  std::string twice;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(Json::binary_t&) override { return true; }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    if (names_.back().insert(name).second) return true;
    twice = name_text(name);
    return false;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool open() {
    names_.emplace_back();
    return true;
  }
  bool close() {
    names_.pop_back();
    return true;
  }

  std::vector<std::set<std::string, std::less<>>> names_;
};

/// No name twice in one object.
Result<Json> parse(std::string_view text, const Place& at) {
  constexpr std::size_t deepest = 4;  // {"NAME": {"shape": [1]}} and one to spare
  auto header = parse_json<Json>(text, deepest);
  if (!header) return at.bad("the header", header.error(), "one JSON object");
  Names names;
  if (!Json::sax_parse(text.begin(), text.end(), &names) && !names.twice.empty())
    return at.bad("the header", "naming " + names.twice + " twice", "of different names");
  if (!header->is_object()) return at.bad("the header", shown(*header), "a JSON object");
  return *std::move(header);
}

/// A nonnegative integer.
std::optional<std::uint64_t> count(const Json& value) {
  if (!value.is_number_integer() || (!value.is_number_unsigned() && value.get<std::int64_t>() < 0)) return {};
  return value.get<std::uint64_t>();
}

Result<std::vector<std::int64_t>> read_shape(const Json& entry, const std::string& field, const Place& at) {
  constexpr std::uint64_t most = 1ULL << 48;
  constexpr std::size_t most_dimensions = 16;
  const auto shape = entry.find("shape");
  if (shape == entry.end()) return at.bad(field + ".shape", "absent", "a list of sizes");
  if (!shape->is_array() || shape->size() > most_dimensions)
    return at.bad(field + ".shape", shown(*shape),
                  fmt::format("a list of at most {} sizes", most_dimensions));
  std::vector<std::int64_t> sizes;
  for (const Json& size : *shape) {
    const auto value = count(size);
    if (!value || *value > most) return at.bad(field + ".shape", shown(*shape), "of integers from 0 to 2^48");
    sizes.push_back(static_cast<std::int64_t>(*value));
  }
  return sizes;
}

/// Bytes of `shape`; nothing where they overflow 64 bits.
std::optional<std::uint64_t> total_bytes(const TensorEntry& t, std::uint64_t element) {
  std::uint64_t total = element;
  for (const std::int64_t size : t.shape) {
    const auto by = static_cast<std::uint64_t>(size);
    if (by != 0 && total > std::numeric_limits<std::uint64_t>::max() / by) return {};
    total *= by;
  }
  return total;
}

/// `data` bytes of data begin at `data_at` in the file.
Result<void> read_offsets(const Json& entry, const std::string& field, std::uint64_t data_at,
                          std::uint64_t data, TensorEntry& t, const Place& at) {
  const auto offsets = entry.find("data_offsets");
  if (offsets == entry.end()) return at.bad(field + ".data_offsets", "absent", "a list [begin, end]");
  const bool two = offsets->is_array() && offsets->size() == 2;
  const auto begin = two ? count((*offsets)[0]) : std::nullopt;
  const auto end = two ? count((*offsets)[1]) : std::nullopt;
  if (!begin || !end || *begin > *end || *end > data)
    return at.bad(field + ".data_offsets", shown(*offsets),
                  fmt::format("[begin, end] with begin <= end <= {}, the bytes of data", data));
  t.begin = data_at + *begin;
  t.end = data_at + *end;
  const std::uint64_t element = element_bytes(t.dtype);
  if (element == 0) return {};  // not ours to judge: a layer that wants this tensor is refused by its dtype
  const auto bytes = total_bytes(t, element);
  if (!bytes || *bytes != *end - *begin)
    return at.bad(field + ".data_offsets", fmt::format("{} bytes", *end - *begin),
                  bytes ? fmt::format("{} bytes, as dtype and shape say", *bytes)
                        : std::string("as many as dtype and shape say, which is more than 2^64"));
  return {};
}

Result<TensorEntry> read_entry(const std::string& name, const Json& entry, std::uint64_t data_at,
                               std::uint64_t data, const Place& at) {
  const std::string field = "tensor " + name_text(name);
  if (!entry.is_object()) return at.bad(field, shown(entry), "an object with dtype, shape and data_offsets");
  TensorEntry t;
  t.name = name;
  const auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string())
    return at.bad(field + ".dtype", dtype == entry.end() ? "absent" : shown(*dtype),
                  "a string such as \"F16\"");
  t.dtype = dtype->get<std::string>();
  auto shape = read_shape(entry, field, at);
  if (!shape) return std::unexpected(std::move(shape.error()));
  t.shape = *std::move(shape);
  if (auto ok = read_offsets(entry, field, data_at, data, t, at); !ok) return std::unexpected(ok.error());
  return t;
}

/// Sorts by place; the format allows neither holes nor overlaps.
Result<void> check_cover(std::vector<TensorEntry>& tensors, std::uint64_t begin, std::uint64_t end,
                         const Place& at) {
  std::ranges::sort(tensors, [](const TensorEntry& a, const TensorEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t reached = begin;
  for (const TensorEntry& t : tensors) {
    if (t.begin != reached)
      return at.bad(fmt::format("tensor {}.data_offsets", name_text(t.name)),
                    fmt::format("beginning at {}", t.begin - begin),
                    fmt::format("beginning at {}, where the tensor before ends", reached - begin));
    reached = t.end;
  }
  if (reached != end)
    return at.bad("the data", fmt::format("{} bytes", end - begin),
                  fmt::format("the {} bytes that the tensors cover", reached - begin));
  return {};
}

}  // namespace

std::uint64_t element_bytes(std::string_view dtype) {
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 16> sizes{{{"BOOL", 1},
                                                                              {"U8", 1},
                                                                              {"I8", 1},
                                                                              {"F8_E4M3", 1},
                                                                              {"F8_E5M2", 1},
                                                                              {"F8_E8M0", 1},
                                                                              {"I16", 2},
                                                                              {"U16", 2},
                                                                              {"F16", 2},
                                                                              {"BF16", 2},
                                                                              {"I32", 4},
                                                                              {"U32", 4},
                                                                              {"F32", 4},
                                                                              {"I64", 8},
                                                                              {"U64", 8},
                                                                              {"F64", 8}}};
  const auto* found = std::ranges::find(sizes, dtype, &std::pair<std::string_view, std::uint64_t>::first);
  return found == sizes.end() ? 0 : found->second;
}

Result<std::vector<TensorEntry>> parse_header(std::span<const std::byte> head, std::uint64_t file_bytes,
                                              std::string_view file) {
  const Place at{file};
  const auto length = header_length(head, file_bytes, at);
  if (!length) return std::unexpected(length.error());
  if (head.size() - length_bytes < *length)
    return at.bad("the header", fmt::format("{} bytes", head.size() - length_bytes),
                  fmt::format("{} bytes, as its length says", *length));
  const auto text = head.subspan(length_bytes, *length);
  const auto header = parse({reinterpret_cast<const char*>(text.data()), text.size()}, at);
  if (!header) return std::unexpected(header.error());

  const std::uint64_t data_at = length_bytes + *length;
  std::vector<TensorEntry> tensors;
  for (const auto& [name, entry] : header->items()) {
    if (name == "__metadata__") continue;
    auto tensor = read_entry(name, entry, data_at, file_bytes - data_at, at);
    if (!tensor) return std::unexpected(std::move(tensor.error()));
    tensors.push_back(*std::move(tensor));
  }
  if (auto ok = check_cover(tensors, data_at, file_bytes, at); !ok) return std::unexpected(ok.error());
  return tensors;
}

Result<std::shared_ptr<const File>> File::open(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  const auto unreadable = [&](const std::string& reason) {
    return fail(ErrorCode::io, fmt::format("{} cannot be read: {}", path.string(), reason));
  };
  // Without O_NONBLOCK a pipe would keep us waiting for somebody to write.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return unreadable(std::generic_category().message(errno));
  struct stat status {};
  const bool regular = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const auto size = regular ? static_cast<std::size_t>(status.st_size) : 0;
  void* data = size == 0 ? nullptr : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  const std::string reason = std::generic_category().message(errno);
  ::close(file);
  if (!regular) return unreadable("it is no regular file");
  if (data == MAP_FAILED) return unreadable(reason);
  const std::span mapped(static_cast<const std::byte*>(data), size);
  auto opened = std::make_shared<File>(name, mapped, std::vector<TensorEntry>{});
  if (is_lfs_pointer({static_cast<const char*>(data), size}))
    return fail_field(ErrorCode::io, name, lfs_pointer, lfs_advice);
  auto tensors = parse_header(mapped, size, name);
  if (!tensors) return std::unexpected(std::move(tensors.error()));
  opened->tensors_ = *std::move(tensors);
  return opened;
}

File::~File() {
  if (!mapped_.empty()) ::munmap(const_cast<std::byte*>(mapped_.data()), mapped_.size());
}

}  // namespace wavejit::checkpoint
