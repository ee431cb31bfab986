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
#include <llvm/Support/YAMLTraits.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

#include "generator/lower/encodable.hpp"
#include "generator/lower/lower.hpp"
#include "generator/lower/text_rules.hpp"

namespace wavejit::lower {
namespace {

/// Errors as "line:column: message", one a line.
class Diagnostics {
 public:
  void attach(llvm::SourceMgr& sources) { sources.setDiagHandler(&Diagnostics::handle, this); }
  void add(const llvm::SMDiagnostic& diagnostic) {
    add(diagnostic, diagnostic.getLineNo(), diagnostic.getColumnNo());
  }
  void add(const llvm::SMDiagnostic& diagnostic, int line, int column) {
    if (diagnostic.getKind() != llvm::SourceMgr::DK_Error) return;
    constexpr std::size_t enough = 20;
    if (++count_ > enough) return;
    if (!text_.empty()) text_ += '\n';
    text_ += std::to_string(line) + ':' + std::to_string(column + 1) + ": " + diagnostic.getMessage().str();
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

/// Where the line begins that holds `directive` and nothing else; npos without one.
std::size_t line_of(std::string_view text, std::string_view directive) {
  for (std::size_t at = text.find(directive); at != std::string_view::npos;
       at = text.find(directive, at + 1)) {
    const std::size_t before = text.find_last_not_of(" \t", at == 0 ? std::string_view::npos : at - 1);
    if (at == 0 || before == std::string_view::npos || text[before] == '\n') return at;
  }
  return std::string_view::npos;
}

/// Reads the metadata's YAML as LLVM will once more, which writes its complaints to the process's stderr.
void check_metadata(std::string_view text, Diagnostics& diagnostics) {
  constexpr std::string_view begin = ".amdgpu_metadata", end = ".end_amdgpu_metadata";
  const std::size_t first = line_of(text, begin), last = line_of(text, end);
  if (first == std::string_view::npos || last == std::string_view::npos || last < first) return;
  const std::string_view metadata = text.substr(first + begin.size(), last - first - begin.size());
  struct Place {
    Diagnostics& diagnostics;
    int line;
  } place{diagnostics, static_cast<int>(std::ranges::count(text.substr(0, first), '\n'))};
  llvm::yaml::Input input(
      llvm::StringRef(metadata.data(), metadata.size()), nullptr,
      [](const llvm::SMDiagnostic& d, void* to) {
        auto& at = *static_cast<Place*>(to);
        at.diagnostics.add(llvm::SMDiagnostic(d.getFilename(), d.getKind(), d.getMessage()),
                           at.line + d.getLineNo(), d.getColumnNo());
      },
      &place);
  if (input.setCurrentDocument()) input.nextDocument();
}

/// LLVM's encoder for instructions that it can take; of others it says so.
class CheckedEncoder final : public llvm::MCCodeEmitter {
 public:
  CheckedEncoder(const Machine& m, llvm::MCContext& context)
      : m_(m), context_(context), encoder_(m.llvm_target->createMCCodeEmitter(*m.instructions, context)) {}
  void reset() override { encoder_->reset(); }
  void encodeInstruction(const llvm::MCInst& inst, llvm::SmallVectorImpl<char>& bytes,
                         llvm::SmallVectorImpl<llvm::MCFixup>& fixups,
                         const llvm::MCSubtargetInfo& subtarget) const override {
    if (symbols_only_branch(inst, m_)) return encoder_->encodeInstruction(inst, bytes, fixups, subtarget);
    context_.reportError(inst.getLoc(), "only a branch takes a label");
  }

 private:
  const Machine& m_;
  llvm::MCContext& context_;
  std::unique_ptr<llvm::MCCodeEmitter> encoder_;
};

/// Notes what the parser emits and makes nothing of it.
class Recorder final : public llvm::MCStreamer {
 public:
  Recorder(llvm::MCContext& context, const llvm::SourceMgr& sources)
      : llvm::MCStreamer(context), sources_(sources) {}
  std::vector<SourceEvent> events;

  void emitLabel(llvm::MCSymbol* symbol, llvm::SMLoc where) override {
    MCStreamer::emitLabel(symbol, where);
    add({.kind = SourceEvent::Kind::label, .label = symbol->getName().str()});
  }
  void emitInstruction(const llvm::MCInst& inst, const llvm::MCSubtargetInfo&) override {
    add({.kind = SourceEvent::Kind::instruction,
         .label = {},
         .line = sources_.FindLineNumber(inst.getLoc())});
  }
  void emitCodeAlignment(llvm::Align alignment, const llvm::MCSubtargetInfo*, unsigned) override {
    add({.kind = SourceEvent::Kind::alignment, .label = {}, .alignment = alignment.value()});
  }
  void emitValueToAlignment(llvm::Align alignment, std::int64_t, std::uint8_t, unsigned) override {
    add({.kind = SourceEvent::Kind::alignment, .label = {}, .alignment = alignment.value()});
  }
  void emitBytes(llvm::StringRef) override { add({}); }
  void emitValueImpl(const llvm::MCExpr*, unsigned, llvm::SMLoc) override { add({}); }
  void emitFill(const llvm::MCExpr&, std::uint64_t, llvm::SMLoc) override { add({}); }
  void emitFill(const llvm::MCExpr&, std::int64_t, std::int64_t, llvm::SMLoc) override { add({}); }
  bool emitSymbolAttribute(llvm::MCSymbol*, llvm::MCSymbolAttr) override { return true; }
  void emitCommonSymbol(llvm::MCSymbol*, std::uint64_t, llvm::Align) override {}

 private:
  void add(SourceEvent event) { events.push_back(std::move(event)); }
  const llvm::SourceMgr& sources_;
};

/// LLVM's assembler around one text. The streamer is whatever the caller makes of it.
class Assembler {
 public:
  Assembler(std::string_view text, const Machine& m)
      : m_(m),
        text_(text),
        context_(m.triple, m.asm_info.get(), m.registers.get(), m.subtarget.get(), &sources_, &m.options) {
    sources_.AddNewSourceBuffer(
        llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(text.data(), text.size()), "kernel.s"),
        llvm::SMLoc());
    diagnostics_.attach(sources_);
    context_.setDiagnosticHandler(
        [this](const llvm::SMDiagnostic& diagnostic, bool, const llvm::SourceMgr&,
               std::vector<const llvm::MDNode*>&) { diagnostics_.add(diagnostic); });
    object_info_.reset(m.llvm_target->createMCObjectFileInfo(context_, /*PIC=*/true));
    context_.setObjectFileInfo(object_info_.get());
  }

  llvm::MCContext& context() { return context_; }
  llvm::SourceMgr& sources() { return sources_; }

  Result<void> run(llvm::MCStreamer& streamer) {
    if (auto ok = check_text(text_); !ok) return ok;
    check_metadata(text_, diagnostics_);
    if (diagnostics_.any()) return fail(ErrorCode::assembler, diagnostics_.text());
    const std::unique_ptr<llvm::MCAsmParser> parser(
        llvm::createMCAsmParser(sources_, context_, streamer, *m_.asm_info));
    const std::unique_ptr<llvm::MCTargetAsmParser> target_parser(
        m_.llvm_target->createMCAsmParser(*m_.subtarget, *parser, *m_.instructions, m_.options));
    parser->setTargetParser(*target_parser);
    const bool failed = parser->Run(/*NoInitialTextSection=*/false);
    if (diagnostics_.any()) return fail(ErrorCode::assembler, diagnostics_.text());
    if (failed) return fail(ErrorCode::assembler, "1:1: the assembler gave up without saying why");
    return {};
  }

 private:
  const Machine& m_;
  std::string_view text_;
  llvm::SourceMgr sources_;
  Diagnostics diagnostics_;
  llvm::MCContext context_;
  std::unique_ptr<llvm::MCObjectFileInfo> object_info_;
};

}  // namespace

Result<std::vector<std::uint8_t>> assemble(std::string_view text, const target::Target& target) {
  const auto found = machine(target);
  if (!found) return std::unexpected(found.error());
  const Machine& m = **found;
  Assembler assembler(text, m);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  std::unique_ptr<llvm::MCAsmBackend> backend(
      m.llvm_target->createMCAsmBackend(*m.subtarget, *m.registers, m.options));
  auto writer = backend->createObjectWriter(stream);
  auto emitter = std::make_unique<CheckedEncoder>(m, assembler.context());
  const std::unique_ptr<llvm::MCStreamer> streamer(
      m.llvm_target->createMCObjectStreamer(m.triple, assembler.context(), std::move(backend),
                                            std::move(writer), std::move(emitter), *m.subtarget));
  if (auto done = assembler.run(*streamer); !done) return std::unexpected(std::move(done.error()));
  return std::vector<std::uint8_t>(bytes.begin(), bytes.end());
}

Result<std::vector<SourceEvent>> source_events(std::string_view text, const target::Target& target) {
  const auto found = machine(target);
  if (!found) return std::unexpected(found.error());
  Assembler assembler(text, **found);
  Recorder recorder(assembler.context(), assembler.sources());
  (*found)->llvm_target->createNullTargetStreamer(recorder);
  if (recorder.getTargetStreamer() == nullptr)
    return fail(ErrorCode::unsupported, "this LLVM cannot assemble without making an object");
  if (auto done = assembler.run(recorder); !done) return std::unexpected(std::move(done.error()));
  return std::move(recorder.events);
}

}  // namespace wavejit::lower
