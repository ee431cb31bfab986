// SPDX-License-Identifier: MIT
// The kernel descriptor against the target and against the metadata. Bits: LLVM AMDGPUUsage, "Kernel
// Descriptor"; hardware.md §9.1.
#include <fmt/format.h>

#include <algorithm>

#include "generator/lower/descriptor_bits.hpp"
#include "runtime/check/analyses.hpp"

namespace wavejit::check {
namespace {

using target::Generation;

constexpr std::uint32_t wave32_bit = 1U << 10;

class Descriptor {
 public:
  Descriptor(const Program& program, Reporter& reporter)
      : k_(*program.kernel),
        d_(program.kernel->descriptor),
        t_(*program.target),
        reporter_(reporter),
        setup_(read_setup(d_, t_)) {}

  void fields() {
    const lower::ReservedBits zero = lower::reserved_descriptor_bits(t_);
    reserved("RSRC1", d_.rsrc1, zero.rsrc1);
    reserved("RSRC2", d_.rsrc2, zero.rsrc2);
    reserved("RSRC3", d_.rsrc3, zero.rsrc3);
    const bool wave32 = (d_.properties & wave32_bit) != 0;
    reserved("kernel_code_properties", d_.properties, zero.properties);
    if (wave32 != (t_.wave_size == 32))
      field(fmt::format("kernel_code_properties asks for waves of {} lanes, but {} is used with {}",
                        wave32 ? 32 : 64, t_.name, t_.wave_size));
    if (d_.preload != 0 && t_.generation != Generation::gfx9)
      field(
          fmt::format("kernarg_preload is 0x{:x}, but {} preloads no kernel arguments", d_.preload, t_.name));
    if (d_.group_segment_fixed_size > t_.lds_per_workgroup)
      field(fmt::format("group_segment_fixed_size is {}, but a workgroup has at most {} bytes of LDS",
                        d_.group_segment_fixed_size, t_.lds_per_workgroup));
    registers();
    entry();
  }

  void metadata() {
    same("group segment size", k_.group_segment_size, d_.group_segment_fixed_size);
    same("private segment size", k_.private_segment_size, d_.private_segment_fixed_size);
    kernarg_size();
    const unsigned granule = std::max<unsigned>(t_.vgpr_encode_granule, 1);
    const std::uint64_t counted =
        (std::uint64_t{std::max(k_.vgpr_count, 1U)} + granule - 1) / granule * granule;
    if (counted != setup_.allocated)
      mismatch(
          fmt::format("the metadata counts {} VGPRs, which is an allocation of {}, but RSRC1 allocates {}",
                      k_.vgpr_count, counted, setup_.allocated));
    if (k_.wavefront_size != t_.wave_size)
      mismatch(fmt::format("the metadata's wavefront size is {}, but {} is used with {}", k_.wavefront_size,
                           t_.name, t_.wave_size));
    if (k_.max_flat_workgroup_size == 0 || k_.max_flat_workgroup_size > t_.max_workgroup_size)
      mismatch(fmt::format("the metadata's largest workgroup is {}, but must be 1 to {}",
                           k_.max_flat_workgroup_size, t_.max_workgroup_size));
    for (const lower::ArgMetadata& arg : k_.args) {
      if (std::uint64_t{arg.offset} + arg.size <= kernarg_bytes(k_)) continue;
      mismatch(fmt::format("argument {} ends at byte {} of {} kernel argument bytes", arg.name,
                           std::uint64_t{arg.offset} + arg.size, kernarg_bytes(k_)));
    }
  }

 private:
  void field(std::string message) { reporter_.add(Kind::descriptor_field, std::move(message)); }
  void mismatch(std::string message) { reporter_.add(Kind::metadata_mismatch, std::move(message)); }

  /// The descriptor may leave it 0 (older assemblers do): loaders take the metadata's.
  void kernarg_size() {
    if (d_.kernarg_size != 0) return same("kernarg segment size", k_.kernarg_segment_size, d_.kernarg_size);
    if (k_.kernarg_segment_size == 0) return;
    reporter_.add(
        Kind::metadata_mismatch,
        RuleName{.text = "the descriptor leaves the kernarg segment size 0", .source = Source::llvm},
        whole_kernel,
        fmt::format("the kernarg segment size is {} in the metadata and 0 in the descriptor",
                    k_.kernarg_segment_size));
  }

  void reserved(std::string_view name, std::uint32_t value, std::uint32_t zero) {
    if ((value & zero) == 0) return;
    field(fmt::format("{} is 0x{:08x}: bits 0x{:08x} must be 0 on {}", name, value, value & zero, t_.name));
  }

  void same(std::string_view what, std::uint32_t in_metadata, std::uint32_t in_descriptor) {
    if (in_metadata == in_descriptor) return;
    mismatch(fmt::format("the {} is {} in the metadata and {} in the descriptor", what, in_metadata,
                         in_descriptor));
  }

  void registers() {
    if (setup_.user_sgprs < setup_.enabled_sgprs || setup_.user_sgprs > t_.max_user_sgprs)
      field(fmt::format("RSRC2 has {} user SGPRs, but must have {} (what is enabled) to {}",
                        setup_.user_sgprs, setup_.enabled_sgprs, t_.max_user_sgprs));
    if (setup_.allocated > t_.allocatable_vgprs)
      field(fmt::format("RSRC1 allocates {} VGPRs, but a wave addresses at most {}", setup_.allocated,
                        t_.allocatable_vgprs));
    if (t_.has_agprs && setup_.vgprs > setup_.allocated)
      field(fmt::format("accum_offset is {}, beyond the {} registers allocated", setup_.vgprs,
                        setup_.allocated));
    // hardware.md §5.1, UserSGPRInit16.
    constexpr unsigned initialised = 16;
    unsigned filled = setup_.user_sgprs + (setup_.workgroup_info ? 1U : 0U);
    for (const bool id : setup_.workgroup_id) filled += id ? 1U : 0U;
    if (t_.hazards.user_sgpr_init16 && t_.wave_size == 32 && filled < initialised)
      field(fmt::format("{} user and system SGPRs are initialised, but {} needs at least {} in waves of 32",
                        filled, t_.name, initialised));
  }

  void entry() {
    constexpr std::uint64_t alignment = 256;
    const std::uint64_t address = k_.descriptor_address + static_cast<std::uint64_t>(d_.entry_byte_offset);
    if (address % alignment != 0)
      field(fmt::format("the entry is at 0x{:x}, but must be at a multiple of {}", address, alignment));
    if (!k_.instructions.empty() && k_.instructions.front().address != address)
      field(fmt::format("the entry is at 0x{:x}, but the code starts at 0x{:x}", address,
                        k_.instructions.front().address));
  }

  const lower::DecodedKernel& k_;
  const lower::KernelDescriptor& d_;
  const target::Target& t_;
  Reporter& reporter_;
  Setup setup_;
};

}  // namespace

std::uint32_t kernarg_bytes(const lower::DecodedKernel& kernel) {
  const std::uint32_t described = kernel.descriptor.kernarg_size;
  return described != 0 ? described : kernel.kernarg_segment_size;
}

Setup read_setup(const lower::KernelDescriptor& d, const target::Target& t) {
  Setup s;
  const auto has = [&](unsigned i) { return (d.properties >> i & 1) != 0; };
  struct Feature {
    unsigned property, sgprs;
  };
  // In the order in which they fill SGPRs; the kernel-argument pointer is property 3.
  constexpr Feature features[] = {{0, 4}, {1, 2}, {2, 2}, {3, 2}, {4, 2}, {5, 2}, {6, 1}};
  constexpr unsigned kernarg_property = 3;
  for (const Feature& f : features) {
    if (!has(f.property)) continue;
    if (f.property == kernarg_property) {
      s.has_kernarg = true;
      s.kernarg_sgpr = s.enabled_sgprs;
    }
    s.enabled_sgprs += f.sgprs;
  }
  s.enabled_sgprs += d.preload & 0x7F;
  s.user_sgprs = d.rsrc2 >> 1 & 0x1F;
  for (unsigned i = 0; i < 3; ++i) s.workgroup_id[i] = (d.rsrc2 >> (7 + i) & 1) != 0;
  s.workgroup_info = (d.rsrc2 >> 10 & 1) != 0;
  s.allocated = ((d.rsrc1 & 0x3F) + 1) * t.vgpr_encode_granule;
  s.vgprs = s.allocated;
  s.sgprs = t.addressable_sgprs;
  if (t.has_agprs) {
    const unsigned accum_offset = ((d.rsrc3 & 0x3F) + 1) * 4;
    s.vgprs = accum_offset;
    s.agprs = s.allocated > accum_offset ? s.allocated - accum_offset : 0;
  }
  s.vgprs = std::min<unsigned>(s.vgprs, t.addressable_vgprs);
  s.agprs = std::min<unsigned>(s.agprs, t.addressable_vgprs);
  return s;
}

void check_descriptor(const Program& program, Reporter& reporter) {
  Descriptor descriptor(program, reporter);
  descriptor.fields();
  descriptor.metadata();
}

}  // namespace wavejit::check
