// SPDX-License-Identifier: MIT
#include "runtime/gguf/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>

namespace wavejit::gguf {
namespace {

std::unexpected<Error> unreadable(const std::filesystem::path& path, const std::string& reason) {
  return fail(ErrorCode::io, fmt::format("{} cannot be read: {}", path.string(), reason));
}

std::string errno_text() { return std::generic_category().message(errno); }

Result<std::unique_ptr<const Mapping>> map(const std::filesystem::path& path) {
  // Without O_NONBLOCK a pipe would keep us waiting for somebody to write.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return unreadable(path, errno_text());
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) {
    const bool regular = S_ISREG(status.st_mode);
    ::close(file);
    return unreadable(path, regular ? "it is empty" : "it is no regular file");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  const std::string reason = errno_text();
  ::close(file);
  if (data == MAP_FAILED) return unreadable(path, reason);
  return std::make_unique<const Mapping>(static_cast<const std::byte*>(data), size);
}

Result<Part> open_part(const std::filesystem::path& path, Data data) {
  auto mapping = map(path);
  if (!mapping) return std::unexpected(mapping.error());
  const auto bytes = (*mapping)->bytes();
  auto header = parse_header(bytes, bytes.size(), path.filename().string(), data);
  if (!header) return std::unexpected(header.error());
  return Part{path, *std::move(mapping), *std::move(header)};
}

/// Nothing where the key is absent.
Result<std::optional<std::uint64_t>> number(const Part& part, std::string_view key) {
  const Value* value = part.header.find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto n = value->unsigned_integer()) return *n;
  return fail_field(ErrorCode::io, fmt::format("{}: {}", part.path.filename().string(), key),
                    fmt::format("of type {}", name(value->type)), "a nonnegative integer");
}

constexpr std::uint64_t most_parts = 99999;  // five digits in a name

/// Path of part `i` (from 0), or why `given` does not name its siblings.
Result<std::filesystem::path> sibling(const std::filesystem::path& given, std::uint64_t i,
                                      std::uint64_t count) {
  const std::string file = given.filename().string();
  const std::string end = fmt::format("-of-{:05}.gguf", count);
  constexpr std::size_t digits = 5;
  if (!file.ends_with(end) || file.size() < end.size() + digits + 1)
    return fail_field(ErrorCode::io, "the name of a part", file,
                      fmt::format("NAME-00001{}, as split.count is {}", end, count));
  const std::string stem = file.substr(0, file.size() - end.size() - digits);
  return given.parent_path() / fmt::format("{}{:05}{}", stem, i + 1, end);
}

Result<std::vector<Part>> open_siblings(Part given, std::uint64_t count, Data data) {
  std::vector<Part> parts;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto path = sibling(given.path, i, count);
    if (!path) return std::unexpected(path.error());
    auto part = open_part(*path, data);
    if (!part) return std::unexpected(part.error());
    const auto no = number(*part, "split.no"), all = number(*part, "split.count");
    if (!no) return std::unexpected(no.error());
    if (!all) return std::unexpected(all.error());
    if (*no != i || *all != count)
      return fail_field(
          ErrorCode::io, path->filename().string() + ": split.no",
          no->has_value() && all->has_value() ? fmt::format("{} of {}", **no, **all) : std::string("absent"),
          fmt::format("{} of {}, as the file's name says", i, count));
    parts.push_back(*std::move(part));
  }
  return parts;
}

}  // namespace

Mapping::~Mapping() { ::munmap(const_cast<std::byte*>(data_), size_); }

std::span<const std::byte> Located::bytes() const {
  const auto all = part->mapping->bytes();
  const std::uint64_t begin = std::min<std::uint64_t>(tensor->begin, all.size());
  return all.subspan(begin, std::min<std::uint64_t>(tensor->end, all.size()) - begin);
}

Result<File> File::open(const std::filesystem::path& path, Data data) {
  auto first = open_part(path, data);
  if (!first) return std::unexpected(first.error());
  const auto count = number(*first, "split.count");
  if (!count) return std::unexpected(count.error());
  File file;
  const auto part_count = count->value_or(0);
  if (part_count > most_parts)
    return fail_field(ErrorCode::io, path.filename().string() + ": split.count", std::to_string(part_count),
                      fmt::format("at most {}", most_parts));
  if (part_count > 1) {
    auto parts = open_siblings(*std::move(first), part_count, data);
    if (!parts) return std::unexpected(parts.error());
    file.parts_ = *std::move(parts);
  } else {
    file.parts_.push_back(*std::move(first));
  }
  std::set<std::string_view> names;
  for (const Part& part : file.parts_)
    for (const Tensor& tensor : part.header.tensors) {
      if (!names.insert(tensor.name).second)
        return fail_field(ErrorCode::io, "tensor " + name_text(tensor.name), "in two parts", "in one");
      file.tensors_.push_back({&part, &tensor});
    }
  const auto all = number(file.parts_.front(), "split.tensors.count");
  if (!all) return std::unexpected(all.error());
  if (*all && **all != file.tensors_.size())
    return fail_field(ErrorCode::io, path.filename().string() + ": split.tensors.count",
                      std::to_string(**all), fmt::format("{}, the parts' tensors", file.tensors_.size()));
  return file;
}

std::optional<Located> File::find(std::string_view tensor) const {
  const auto it = std::ranges::find_if(tensors_, [&](const Located& l) { return l.tensor->name == tensor; });
  if (it == tensors_.end()) return std::nullopt;
  return *it;
}

}  // namespace wavejit::gguf
