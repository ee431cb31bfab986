// SPDX-License-Identifier: MIT
#include "runtime/cache/overrides.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "generator/lower/lower.hpp"
#include "runtime/cache/posix.hpp"
#include "runtime/check/checker.hpp"

namespace wavejit::cache {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t max_text_bytes = 16 << 20;

std::unexpected<Error> io(const fs::path& path, int code) {
  return fail(ErrorCode::io, fmt::format("cannot read {}: {}", path.string(), posix::reason(code)));
}

/// Kernel names become file names only when they cannot lead elsewhere.
bool plain_name(std::string_view name) {
  return !name.empty() && name.size() < 200 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

Result<std::optional<OverrideText>> read_text(int folder, const fs::path& path) {
  const auto file = posix::open_at(folder, path.filename().c_str(), O_RDONLY | O_NONBLOCK);
  if (!file && file.error() == ENOENT) return std::nullopt;
  if (!file) return io(path, file.error());
  struct stat status {};
  if (::fstat(file->get(), &status) != 0) return io(path, errno);
  if (!S_ISREG(status.st_mode) || !posix::trusted(status))
    return fail_field(ErrorCode::invalid_argument, path.string(), "no file of yours alone",
                      "a regular file that belongs to you or root and that nobody else may write");
  const auto bytes = posix::read_whole(file->get(), max_text_bytes);
  if (!bytes) return io(path, bytes.error());
  return OverrideText{.path = path, .text = {bytes->begin(), bytes->end()}};
}

std::unexpected<Error> refused(const fs::path& path, std::string field, std::string given,
                               std::string allowed) {
  Error e = fail_field(ErrorCode::invalid_code_object, std::move(field), std::move(given), std::move(allowed))
                .error();
  e.message = path.string() + ": " + e.message;
  return std::unexpected(std::move(e));
}

/// Each line of the assembler's messages begins "line:column:"; the file goes before it.
std::string with_path(const fs::path& path, std::string_view lines) {
  std::string out;
  for (std::size_t at = 0; at <= lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    out += fmt::format("{}{}:{}", out.empty() ? "" : "\n", path.string(), lines.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

Result<void> check_arguments(const fs::path& path, const lower::DecodedKernel& kernel,
                             const templates::Launch& launch) {
  std::vector<lower::ArgMetadata> args = kernel.args;
  std::erase_if(args, [](const lower::ArgMetadata& a) { return a.value_kind.starts_with("hidden_"); });
  if (args.size() != launch.arguments.size())
    return refused(path, "number of arguments", std::to_string(args.size()),
                   std::to_string(launch.arguments.size()));
  for (std::size_t i = 0; i < args.size(); ++i) {
    const templates::Argument& want = launch.arguments[i];
    const std::string_view kind = want.kind == ir::ArgKind::buffer ? "global_buffer" : "by_value";
    const auto describe = [](std::string_view name, std::string_view value_kind, auto offset, auto size) {
      return fmt::format("'{}' ({}) at {}, {} bytes", name, value_kind, offset, size);
    };
    if (args[i].name != want.name || args[i].value_kind != kind || args[i].offset != want.offset ||
        args[i].size != want.size)
      return refused(path, fmt::format("argument {}", i),
                     describe(args[i].name, args[i].value_kind, args[i].offset, args[i].size),
                     describe(want.name, kind, want.offset, want.size));
  }
  return {};
}

Result<void> check_metadata(const fs::path& path, const lower::DecodedKernel& kernel,
                            const target::Target& target, const templates::Launch& launch,
                            std::string_view name) {
  const auto number = [&](std::string field, std::uint32_t given, std::uint32_t wanted) -> Result<void> {
    if (given == wanted) return {};
    return refused(path, std::move(field), std::to_string(given), std::to_string(wanted));
  };
  if (!name.empty() && kernel.name != name)
    return refused(path, "kernel name", kernel.name, std::string(name));
  const std::uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (auto ok = number("kernarg size", kernel.kernarg_segment_size, launch.kernarg_size); !ok) return ok;
  if (auto ok = number("kernarg size of the descriptor", kernel.descriptor.kernarg_size, launch.kernarg_size);
      !ok)
    return ok;
  if (auto ok = number("workgroup size", kernel.max_flat_workgroup_size, threads); !ok) return ok;
  if (auto ok = number("wavefront size", kernel.wavefront_size, target.wave_size); !ok) return ok;
  if (auto ok = number("scratch", kernel.descriptor.private_segment_fixed_size, 0); !ok) return ok;
  if (kernel.descriptor.group_segment_fixed_size + launch.dynamic_lds_bytes > target.lds_per_workgroup)
    return refused(path, "LDS", fmt::format("{} bytes", kernel.descriptor.group_segment_fixed_size),
                   fmt::format("at most {}", target.lds_per_workgroup));
  return check_arguments(path, kernel, launch);
}

Record record_of(const lower::DecodedKernel& kernel, const target::Target& target,
                 const templates::Launch& launch, Bytes code_object) {
  Record r;
  r.kernel = kernel.name;
  r.target = target.name;
  r.workgroup_size = kernel.max_flat_workgroup_size;
  r.kernarg_size = kernel.kernarg_segment_size;
  r.lds_bytes = kernel.descriptor.group_segment_fixed_size;
  for (const templates::Argument& a : launch.arguments)
    r.arguments.push_back(
        {.name = a.name, .kind = a.kind, .access = a.access, .offset = a.offset, .size = a.size});
  r.vgprs = kernel.vgpr_count;
  r.sgprs = kernel.sgpr_count;
  r.agprs = kernel.agpr_count;
  r.waves_per_simd = target::waves_by_vgprs(target, kernel.vgpr_count);
  r.instructions = static_cast<std::uint32_t>(kernel.instructions.size());
  r.code_object = std::move(code_object);
  return r;
}

}  // namespace

Result<Overrides> Overrides::open(const fs::path& folder) {
  const posix::Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return io(folder, errno);
  struct stat status {};
  if (::fstat(opened.get(), &status) != 0) return io(folder, errno);
  if (!posix::trusted(status))
    return fail_field(ErrorCode::invalid_argument, folder.string(), "writable by others, or somebody else's",
                      "a folder that belongs to you or root and that nobody else may write");
  return Overrides(folder);
}

Result<std::optional<OverrideText>> Overrides::find(const Digest& key, std::string_view kernel) const {
  const posix::Descriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return io(folder_, errno);
  auto by_key = read_text(folder.get(), folder_ / (to_hex(key) + ".s"));
  if (!by_key || *by_key || !plain_name(kernel)) return by_key;
  return read_text(folder.get(), folder_ / (std::string(kernel) + ".s"));
}

Result<OverrideKernel> load_override(const OverrideText& text, const target::Target& target,
                                     const templates::Launch& launch, std::string_view name) {
  const fs::path& path = text.path;
  const auto object = lower::assemble(text.text, target);
  if (!object) {
    Error error = object.error();
    error.message = with_path(path, error.message);
    return std::unexpected(std::move(error));
  }
  const auto prefixed = [&path](Error error) {
    error.message = path.string() + ": " + error.message;
    return std::unexpected(std::move(error));
  };
  auto linked = lower::link(*object);
  if (!linked) return prefixed(linked.error());
  const auto decoded = lower::decode(*linked);
  if (!decoded) return prefixed(decoded.error());
  if (decoded->target != &target) return refused(path, "target", decoded->isa_name, std::string(target.name));
  if (decoded->kernels.size() != 1)
    return refused(path, "number of kernels", std::to_string(decoded->kernels.size()), "1");
  const lower::DecodedKernel& kernel = decoded->kernels.front();
  if (auto ok = check_metadata(path, kernel, target, launch, name); !ok) return std::unexpected(ok.error());

  check::Options checks;
  checks.dynamic_lds_bytes = launch.dynamic_lds_bytes;
  const check::Report report = check::check(kernel, target, checks);
  if (!report.ok())
    return fail(ErrorCode::invalid_code_object,
                fmt::format("{}: the static check refuses it:\n{}", path.string(), check::to_string(report)));
  OverrideKernel out;
  for (const check::Finding& finding : report.findings) out.warnings.push_back(check::to_string(finding));
  out.record = record_of(kernel, target, launch, std::move(*linked));
  return out;
}

}  // namespace wavejit::cache
