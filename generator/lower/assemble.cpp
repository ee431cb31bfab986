// SPDX-License-Identifier: MIT
#include <llvm/ADT/SmallVector.h>
#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCObjectWriter.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>

#include <system_error>

#include "generator/lower/lower.hpp"
#include "generator/lower/machine.hpp"

namespace wavejit::lower {
namespace {

/// `.include` and `.incbin` find nothing: assembling touches no file.
class NoFiles final : public llvm::vfs::FileSystem {
 public:
  llvm::ErrorOr<llvm::vfs::Status> status(const llvm::Twine&) override { return absent(); }
  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(const llvm::Twine&) override {
    return absent();
  }
  llvm::vfs::directory_iterator dir_begin(const llvm::Twine&, std::error_code& error) override {
    error = absent();
    return {};
  }
  std::error_code setCurrentWorkingDirectory(const llvm::Twine&) override { return absent(); }
  llvm::ErrorOr<std::string> getCurrentWorkingDirectory() const override { return absent(); }

 private:
  static std::error_code absent() { return std::make_error_code(std::errc::no_such_file_or_directory); }
};

/// Errors as "line:column: message", one a line.
class Diagnostics {
 public:
  void attach(llvm::SourceMgr& sources) { sources.setDiagHandler(&Diagnostics::handle, this); }
  void add(const llvm::SMDiagnostic& diagnostic) {
    if (diagnostic.getKind() != llvm::SourceMgr::DK_Error) return;
    constexpr std::size_t enough = 20;
    if (++count_ > enough) return;
    if (!text_.empty()) text_ += '\n';
    text_ += std::to_string(diagnostic.getLineNo()) + ':' + std::to_string(diagnostic.getColumnNo() + 1) +
             ": " + diagnostic.getMessage().str();
  }
  [[nodiscard]] bool any() const { return count_ > 0; }
  [[nodiscard]] std::string text() const { return text_; }

 private:
  static void handle(const llvm::SMDiagnostic& diagnostic, void* self) {
    static_cast<Diagnostics*>(self)->add(diagnostic);
  }
  std::string text_;
  std::size_t count_ = 0;
};

}  // namespace

Result<std::vector<std::uint8_t>> assemble(std::string_view text, const target::Target& target) {
  const auto found = machine(target);
  if (!found) return std::unexpected(found.error());
  const Machine& m = **found;

  llvm::SourceMgr sources;
  sources.setVirtualFileSystem(llvm::makeIntrusiveRefCnt<NoFiles>());
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(text.data(), text.size()), "kernel.s"),
      llvm::SMLoc());
  Diagnostics diagnostics;
  diagnostics.attach(sources);

  llvm::MCContext context(m.triple, m.asm_info.get(), m.registers.get(), m.subtarget.get(), &sources,
                          &m.options);
  context.setDiagnosticHandler([&](const llvm::SMDiagnostic& diagnostic, bool, const llvm::SourceMgr&,
                                   std::vector<const llvm::MDNode*>&) { diagnostics.add(diagnostic); });
  const std::unique_ptr<llvm::MCObjectFileInfo> object_info(
      m.llvm_target->createMCObjectFileInfo(context, /*PIC=*/true));
  context.setObjectFileInfo(object_info.get());

  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  std::unique_ptr<llvm::MCAsmBackend> backend(
      m.llvm_target->createMCAsmBackend(*m.subtarget, *m.registers, m.options));
  auto writer = backend->createObjectWriter(stream);
  std::unique_ptr<llvm::MCCodeEmitter> emitter(m.llvm_target->createMCCodeEmitter(*m.instructions, context));
  const std::unique_ptr<llvm::MCStreamer> streamer(m.llvm_target->createMCObjectStreamer(
      m.triple, context, std::move(backend), std::move(writer), std::move(emitter), *m.subtarget));
  const std::unique_ptr<llvm::MCAsmParser> parser(
      llvm::createMCAsmParser(sources, context, *streamer, *m.asm_info));
  const std::unique_ptr<llvm::MCTargetAsmParser> target_parser(
      m.llvm_target->createMCAsmParser(*m.subtarget, *parser, *m.instructions, m.options));
  parser->setTargetParser(*target_parser);

  const bool failed = parser->Run(/*NoInitialTextSection=*/false);
  if (diagnostics.any()) return fail(ErrorCode::assembler, diagnostics.text());
  if (failed) return fail(ErrorCode::assembler, "1:1: the assembler gave up without saying why");
  return std::vector<std::uint8_t>(bytes.begin(), bytes.end());
}

}  // namespace wavejit::lower
