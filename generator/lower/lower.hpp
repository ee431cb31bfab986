// SPDX-License-Identifier: MIT
// IR -> text -> object -> code object, and code object -> instructions. LLVM lives behind this
// header only. Everything here is in process, thread-safe and touches no file.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/ir/kernel.hpp"

namespace wavejit::lower {

/// The complete `.s`: target directive, code, kernel descriptor directives, metadata. A stock
/// llvm-mc assembles it to the same .text as assemble(). Needs assigned registers.
std::string print_assembly(const ir::Kernel& kernel);

/// Assembles text to a relocatable object. Text other than print_assembly() writes and a person edits is
/// refused before LLVM sees it (text_rules.hpp). Errors: assembler, "line:column: message", one a line.
Result<std::vector<std::uint8_t>> assemble(std::string_view text, const target::Target& target);

/// Relocatable object -> loadable shared object (ET_DYN, EM_AMDGPU, OSABI 64).
Result<std::vector<std::uint8_t>> link(std::span<const std::uint8_t> object);

/// An instruction of assembly text, or an alignment that may be filled with others.
struct SourceEvent {
  enum class Kind : std::uint8_t { label, instruction, alignment, data } kind = Kind::data;
  std::string label;
  std::uint32_t line = 0;       ///< 1-based
  std::uint64_t alignment = 1;  ///< bytes
};

/// What the assembler emits for `text`, in order. Errors as assemble().
Result<std::vector<SourceEvent>> source_events(std::string_view text, const target::Target& target);

struct ArgMetadata {
  std::string name;
  std::uint32_t offset = 0, size = 0;
  std::string value_kind;  ///< "global_buffer", "by_value", "hidden_…"
  std::string access;      ///< "read_only", "write_only", "read_write" or empty
};

/// The 64-byte kernel descriptor, decoded (hardware.md §9.1).
struct KernelDescriptor {
  std::uint32_t group_segment_fixed_size = 0;
  std::uint32_t private_segment_fixed_size = 0;
  std::uint32_t kernarg_size = 0;
  std::int64_t entry_byte_offset = 0;
  std::uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  std::uint16_t properties = 0, preload = 0;
};

struct DecodedInstruction {
  isa::Instruction inst;
  std::uint64_t address = 0;   ///< virtual address in the code object
  std::uint32_t size = 0;      ///< bytes
  std::string text;            ///< LLVM's disassembly
  std::uint32_t line = 0;      ///< in DecodedKernel::source, 1-based; 0 = not known
  bool reserved_bits = false;  ///< the encoding has bits set that LLVM's encoder leaves clear
};

/// One kernel of a code object. Branch label operands hold the index of the target instruction.
struct DecodedKernel {
  std::string name;
  KernelDescriptor descriptor;
  std::uint64_t descriptor_address = 0;
  std::vector<ArgMetadata> args;
  std::uint32_t max_flat_workgroup_size = 0;
  std::uint32_t vgpr_count = 0, sgpr_count = 0, agpr_count = 0, wavefront_size = 0;
  std::uint32_t group_segment_size = 0, private_segment_size = 0, kernarg_segment_size = 0;
  /// What the compiler was promised of the workgroup's size; zeros = nothing.
  std::array<std::uint32_t, 3> required_workgroup_size{};
  std::vector<DecodedInstruction> instructions;
  bool xnack_off = false;  ///< the code object says that it runs only where XNACK is off
  std::string source;      ///< name of the file that DecodedInstruction::line speaks of
};

struct CodeObject {
  const target::Target* target = nullptr;
  std::string isa_name;  ///< "amdgcn-amd-amdhsa--gfx1151" from metadata or e_flags
  std::vector<DecodedKernel> kernels;
};

/// Reads ELF, metadata note, descriptors and text. Never trusts a length; errors name the part.
Result<CodeObject> decode(std::span<const std::uint8_t> elf);

/// Gives the instructions of `object` the lines of the text that it was assembled from: those of each kernel
/// up to the first data in its code. Errors as assemble().
Result<void> note_source_lines(CodeObject& object, std::string_view text, std::string file);

/// "22.1.8": the LLVM that this build links.
std::string llvm_version();
/// The commit that LLVM was built from, where its build recorded it (Debian's does not: empty).
std::string llvm_commit();

}  // namespace wavejit::lower
