// SPDX-License-Identifier: MIT
#include "tools/wavejit/files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>

#include "generator/lower/lower.hpp"

namespace wavejit::tools {
namespace {

namespace fs = std::filesystem;

std::unexpected<Error> io_error(const char* what, const fs::path& path, int code) {
  return fail(ErrorCode::io,
              fmt::format("cannot {} {}: {}", what, path.string(), std::generic_category().message(code)));
}

Result<void> write_whole(const fs::path& path, const std::vector<std::uint8_t>& bytes) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wbx"), std::fclose);
  if (!file) return io_error("write", path, errno);
  if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size() || std::fflush(file.get()) != 0)
    return io_error("write", path, errno);
  return {};
}

bool is_assembly(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".s" || extension == ".S" || extension == ".asm" || extension == ".amdgcn";
}

}  // namespace

std::uint64_t most_bytes() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) / 2 *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

Result<std::vector<std::uint8_t>> read_file(const fs::path& path, std::uint64_t most) {
  std::error_code code;
  if (fs::is_directory(path, code)) return io_error("read", path, EISDIR);
  std::ifstream in(path, std::ios::binary);
  if (!in) return io_error("read", path, errno);
  std::vector<std::uint8_t> bytes;
  constexpr std::size_t piece = 1 << 20;
  while (in) {
    const std::size_t had = bytes.size();
    bytes.resize(had + piece);
    in.read(reinterpret_cast<char*>(bytes.data() + had), piece);
    bytes.resize(had + static_cast<std::size_t>(in.gcount()));
    if (bytes.size() > most)  // a device, perhaps, which has no end
      return fail_field(ErrorCode::io, path.string(), fmt::format("of more than {} bytes", most), "shorter");
  }
  return bytes;
}

Result<std::vector<std::uint8_t>> read_object(const fs::path& path, const target::Target& target) {
  auto bytes = read_file(path);
  if (!bytes) return bytes;
  if (!is_assembly(path)) return bytes;
  const auto object =
      lower::assemble(std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()), target);
  if (!object) {
    Error error = object.error();
    error.message = path.string() + ":" + error.message;
    return std::unexpected(std::move(error));
  }
  return lower::link(*object);
}

Result<std::optional<std::string>> read_assembly(const fs::path& path) {
  if (!is_assembly(path)) return std::optional<std::string>{};
  const auto bytes = read_file(path);
  if (!bytes) return std::unexpected(bytes.error());
  return std::string(bytes->begin(), bytes->end());
}

Result<void> note_lines(lower::CodeObject& object, const fs::path& path) {
  const auto text = read_assembly(path);
  if (!text) return std::unexpected(text.error());
  if (!*text) return {};
  return lower::note_source_lines(object, **text, path.string());
}

void Outputs::add(fs::path path, std::string_view text) {
  add(std::move(path), std::vector<std::uint8_t>(text.begin(), text.end()));
}

void Outputs::add(fs::path path, const std::vector<std::uint8_t>& bytes) {
  fs::path temporary = path;
  temporary += fmt::format(".tmp{}-{}", ::getpid(), files_.size());
  files_.push_back({.path = std::move(path), .temporary = std::move(temporary), .bytes = bytes});
}

Result<void> Outputs::commit() {
  Result<void> result;
  for (const File& file : files_) {
    std::error_code code;
    if (fs::is_directory(file.path, code)) result = io_error("write", file.path, EISDIR);
    if (result) result = write_whole(file.temporary, file.bytes);
    if (!result) break;
  }
  for (const File& file : files_) {
    std::error_code code;
    if (result) fs::rename(file.temporary, file.path, code);
    if (code) result = io_error("write", file.path, code.value());
  }
  // After a failure: whatever temporary is left goes. After success there is none.
  for (const File& file : files_) {
    std::error_code ignored;
    fs::remove(file.temporary, ignored);
  }
  return result;
}

}  // namespace wavejit::tools
