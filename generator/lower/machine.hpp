// SPDX-License-Identifier: MIT
// LLVM's description of one GPU, made once per process and target and then only read: registers,
// assembler rules, instructions, subtarget. Private to this floor.
#pragma once

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Triple.h>

#include <memory>

#include "generator/support/error.hpp"
#include "generator/target/target.hpp"

namespace wavejit::lower {

struct Machine {
  const llvm::Target* llvm_target = nullptr;
  llvm::Triple triple;
  llvm::MCTargetOptions options;
  std::unique_ptr<const llvm::MCRegisterInfo> registers;
  std::unique_ptr<const llvm::MCAsmInfo> asm_info;
  std::unique_ptr<const llvm::MCInstrInfo> instructions;
  std::unique_ptr<const llvm::MCSubtargetInfo> subtarget;
};

/// Thread-safe; the result lives as long as the process.
Result<const Machine*> machine(const target::Target& target);

}  // namespace wavejit::lower
