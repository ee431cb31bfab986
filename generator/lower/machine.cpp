// SPDX-License-Identifier: MIT
#include "generator/lower/machine.hpp"

#include <llvm/Support/ErrorHandling.h>

#include <map>
#include <mutex>
#include <new>
#include <string>

// The registration functions of the AMDGPU parts that are linked; LLVM declares the whole list of
// targets in llvm-c/Target.h, of which only these exist here.
extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmParser();
void LLVMInitializeAMDGPUDisassembler();
}

namespace wavejit::lower {
namespace {

void register_amdgpu() {
  static std::once_flag once;
  std::call_once(once, [] {
    // LLVM's own way of running out of memory is to end the process. It has no handlers of its own to skip.
    llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { throw std::bad_alloc(); });
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser();
    LLVMInitializeAMDGPUDisassembler();
  });
}

Result<std::unique_ptr<const Machine>> make(const target::Target& target) {
  register_amdgpu();
  auto result = std::make_unique<Machine>();
  result->triple = llvm::Triple("amdgcn-amd-amdhsa");
  std::string why;
  result->llvm_target = llvm::TargetRegistry::lookupTarget(result->triple, why);
  if (result->llvm_target == nullptr)
    return fail(ErrorCode::unsupported, "LLVM has no AMDGPU target: " + why);
  const llvm::Target& t = *result->llvm_target;
  result->registers.reset(t.createMCRegInfo(result->triple));
  result->asm_info.reset(t.createMCAsmInfo(*result->registers, result->triple, result->options));
  result->instructions.reset(t.createMCInstrInfo());
  // Asked of a nameless subtarget first: an unknown name would make LLVM print a warning.
  const llvm::StringRef cpu(target.name.data(), target.name.size());
  result->subtarget.reset(t.createMCSubtargetInfo(result->triple, "", ""));
  const bool known = result->subtarget && result->subtarget->isCPUStringValid(cpu);
  if (known) result->subtarget.reset(t.createMCSubtargetInfo(result->triple, cpu, ""));
  if (!known || !result->registers || !result->asm_info || !result->instructions) {
    return fail_field(ErrorCode::unknown_target, "target", std::string(target.name), "a GPU that LLVM knows");
  }
  return std::unique_ptr<const Machine>(std::move(result));
}

}  // namespace

Result<const Machine*> machine(const target::Target& target) {
  // Never destroyed: a thread may still assemble while the process ends.
  static std::mutex mutex;
  static auto& machines = *new std::map<std::string_view, std::unique_ptr<const Machine>>;
  const std::lock_guard lock(mutex);
  auto& slot = machines[target.name];
  if (!slot) {
    auto made = make(target);
    if (!made) return std::unexpected(std::move(made.error()));
    slot = std::move(*made);
  }
  return slot.get();
}

}  // namespace wavejit::lower
