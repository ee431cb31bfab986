// SPDX-License-Identifier: MIT
#include "runtime/cache/record.hpp"

#include <fmt/format.h>

#include "runtime/cache/wire.hpp"

namespace wavejit::cache {
namespace {

constexpr std::uint32_t magic = 0x31524A57;  // "WJR1"
constexpr std::uint32_t max_name = 4096, max_arguments = 256;

void put_text(wire::Writer& out, std::string_view text) {
  out.number(static_cast<std::uint32_t>(text.size()));
  out.text(text);
}

std::unexpected<Error> malformed(std::string_view part) {
  return fail(ErrorCode::invalid_code_object, fmt::format("a cached kernel's record is malformed: {}", part));
}

/// A short text; one that is longer than names are fails the reader.
std::string get_text(wire::Reader& in) {
  const auto size = in.number<std::uint32_t>();
  return std::string(in.text(size <= max_name ? std::uint64_t{size} : ~std::uint64_t{0}));
}

std::array<std::uint32_t Record::*, 8> numbers() {
  return {&Record::workgroup_size, &Record::kernarg_size, &Record::lds_bytes,      &Record::vgprs,
          &Record::sgprs,          &Record::agprs,        &Record::waves_per_simd, &Record::instructions};
}

}  // namespace

Record make_record(const templates::GeneratedKernel& kernel) {
  Record r;
  r.kernel = kernel.name;
  r.target = kernel.target->name;
  r.workgroup_size = kernel.ir.workgroup_size;
  r.kernarg_size = kernel.ir.kernarg_size;
  r.lds_bytes = kernel.ir.lds_bytes();
  for (const ir::KernelArg& a : kernel.ir.args)
    r.arguments.push_back(
        {.name = a.name, .kind = a.kind, .access = a.access, .offset = a.offset, .size = a.size});
  r.vgprs = kernel.ir.vgprs_used;
  r.sgprs = kernel.ir.sgprs_used;
  r.agprs = kernel.ir.agprs_used;
  r.waves_per_simd = kernel.config.waves_per_simd;
  for (const ir::Block& block : kernel.ir.blocks)
    r.instructions += static_cast<std::uint32_t>(block.insts.size());
  r.code_object = kernel.code_object;
  return r;
}

Bytes serialise(const Record& record) {
  wire::Writer out;
  out.reserve(record.code_object.size() + 512);
  out.number(magic);
  put_text(out, record.kernel);
  put_text(out, record.target);
  for (const auto field : numbers()) out.number(record.*field);
  out.number(static_cast<std::uint32_t>(record.arguments.size()));
  for (const RecordArgument& a : record.arguments) {
    put_text(out, a.name);
    out.number(static_cast<std::uint8_t>(a.kind));
    out.number(static_cast<std::uint8_t>(a.access));
    out.number(a.offset);
    out.number(a.size);
  }
  out.number(std::uint64_t{record.code_object.size()});
  out.bytes(record.code_object);
  return out.take();
}

Result<Record> parse_record(std::span<const std::uint8_t> bytes) {
  wire::Reader in(bytes);
  if (in.number<std::uint32_t>() != magic) return malformed("it does not begin as one");
  Record r;
  r.kernel = get_text(in);
  r.target = get_text(in);
  for (const auto field : numbers()) r.*field = in.number<std::uint32_t>();
  const auto count = in.number<std::uint32_t>();
  if (!in.ok() || count > max_arguments) return malformed("its names or its number of arguments");
  for (std::uint32_t i = 0; i < count; ++i) {
    RecordArgument a;
    a.name = get_text(in);
    const auto kind = in.number<std::uint8_t>(), access = in.number<std::uint8_t>();
    a.offset = in.number<std::uint32_t>();
    a.size = in.number<std::uint32_t>();
    if (!in.ok() || kind > static_cast<std::uint8_t>(ir::ArgKind::scalar) ||
        access > static_cast<std::uint8_t>(ir::Access::read_write))
      return malformed(fmt::format("argument {}", i));
    a.kind = static_cast<ir::ArgKind>(kind);
    a.access = static_cast<ir::Access>(access);
    r.arguments.push_back(std::move(a));
  }
  const auto size = in.number<std::uint64_t>();
  const auto code = in.bytes(size);
  if (!in.ok() || in.left() != 0) return malformed("the length of its code object");
  r.code_object.assign(code.begin(), code.end());
  return r;
}

Result<void> agrees(const Record& r, const templates::Launch& launch, const target::Target& target) {
  const auto differs = [](std::string field, const auto& given, const auto& allowed) {
    return fail_field(ErrorCode::invalid_code_object, std::move(field), fmt::format("{}", given),
                      fmt::format("{}", allowed));
  };
  if (r.target != target.name) return differs("target", r.target, target.name);
  const std::uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (r.workgroup_size != threads) return differs("workgroup size", r.workgroup_size, threads);
  if (r.kernarg_size != launch.kernarg_size)
    return differs("kernarg size", r.kernarg_size, launch.kernarg_size);
  if (r.lds_bytes > target.lds_per_workgroup)
    return differs("LDS", r.lds_bytes, fmt::format("at most {}", target.lds_per_workgroup));
  if (r.arguments.size() != launch.arguments.size())
    return differs("number of arguments", r.arguments.size(), launch.arguments.size());
  for (std::size_t i = 0; i < r.arguments.size(); ++i) {
    const RecordArgument& a = r.arguments[i];
    const templates::Argument& want = launch.arguments[i];
    if (a.name != want.name || a.kind != want.kind || a.offset != want.offset || a.size != want.size ||
        a.access != want.access)
      return differs(fmt::format("argument {}", i),
                     fmt::format("'{}' at {}, {} bytes", a.name, a.offset, a.size),
                     fmt::format("'{}' at {}, {} bytes", want.name, want.offset, want.size));
  }
  return {};
}

}  // namespace wavejit::cache
