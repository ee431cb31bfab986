// SPDX-License-Identifier: MIT
// Code that is no compiler's: as objects, as the words of a kernel, as text.
#include <algorithm>
#include <cstddef>
#include <string>

#include "generator/lower/elf.hpp"
#include "generator/lower/lower.hpp"
#include "runtime/check/checker.hpp"
#include "runtime/device/sim/simulator.hpp"
#include "templates/kernel.hpp"
#include "tests/fuzz/targets.hpp"

namespace wavejit::test {
namespace {

/// One target of each family that differs in its instructions.
constexpr std::string_view families[] = {"gfx1100", "gfx1151", "gfx1201", "gfx942", "gfx950", "gfx90a"};

const target::Target& family(std::uint8_t byte) {
  const target::Target* found = target::find(families[byte % std::size(families)]);
  return found != nullptr ? *found : *target::find("gfx1151");
}

templates::GeneratedKernel small_kernel(const target::Target& target) {
  templates::Problem problem;
  problem.n = 16;
  problem.k = 64;
  problem.group = 32;
  return *templates::generate(
      problem, *templates::select_config(*templates::normalise(problem, target), target, 1), target);
}

Bytes with_target(std::size_t index, std::string_view text) {
  Bytes bytes{static_cast<std::uint8_t>(index)};
  bytes.insert(bytes.end(), text.begin(), text.end());
  return bytes;
}

/// Begin and length of .text in a code object.
std::pair<std::size_t, std::size_t> code_of(const Bytes& object) {
  const auto file = lower::elf::parse(object);
  const auto* text = file ? file->find(".text") : nullptr;
  if (text == nullptr) return {0, 0};
  return {static_cast<std::size_t>(text->contents.data() - object.data()), text->contents.size()};
}

/// A kernel of a few s_nop, whose descriptor and metadata are a real one's. No template serves gfx90a: its
/// words are judged in an object of gfx942.
const Bytes& object_of(std::uint8_t byte) {
  static const std::vector<Bytes> objects = [] {
    std::vector<Bytes> all;
    for (const std::string_view name : families) {
      const target::Target& target = *target::find(name == "gfx90a" ? "gfx942" : name);
      const auto kernel = small_kernel(target);
      const std::string label = "\n" + kernel.name + ":\n";
      std::string text = kernel.assembly;
      const std::size_t begin = text.find(label) + label.size();
      std::string body;
      for (int i = 0; i < 64; ++i) body += "\ts_nop 0\n";
      text.replace(begin, text.find(".Lfunc_end") - begin, body + "\ts_endpgm\n");
      all.push_back(*lower::link(*lower::assemble(text, target)));
    }
    return all;
  }();
  return objects[byte % objects.size()];
}

}  // namespace

bool take_object(std::span<const std::uint8_t> bytes) {
  const auto object = lower::decode(bytes);
  if (!object) return false;
  for (const check::Report& report : check::check(*object)) static_cast<void>(check::to_string(report));
  if (object->target == nullptr) return false;
  for (const lower::DecodedKernel& kernel : object->kernels) {
    const auto program = sim::Program::create(kernel, *object->target);
    if (!program) continue;
    sim::Memory memory;
    const std::vector<std::byte> kernarg(std::min<std::uint32_t>(kernel.kernarg_segment_size, 4096));
    sim::LaunchParams launch;
    launch.block = {object->target->wave_size * 2U, 1, 1};
    launch.kernarg = kernarg;
    launch.options.max_instructions_per_wave = 2000;
    launch.options.threads = 1;
    static_cast<void>(sim::run(*program, memory, launch));
  }
  return true;
}

std::vector<Bytes> object_seeds() {
  std::vector<Bytes> all;
  for (const std::string_view name : {"gfx1151", "gfx1201", "gfx942"})
    all.push_back(small_kernel(*target::find(name)).code_object);
  return all;
}

bool take_words(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return false;
  Bytes object = object_of(bytes[0]);
  const auto [begin, size] = code_of(object);
  const auto words = bytes.subspan(1).first(std::min(size, bytes.size() - 1) / 4 * 4);
  std::ranges::copy(words, object.begin() + static_cast<std::ptrdiff_t>(begin));
  return take_object(object);
}

std::vector<Bytes> word_seeds() {
  std::vector<Bytes> all;
  for (std::size_t i = 0; i < std::size(families); ++i) {
    const Bytes& object = object_of(static_cast<std::uint8_t>(i));
    const auto [begin, size] = code_of(object);
    all.push_back(with_target(i, {reinterpret_cast<const char*>(object.data()) + begin, size}));
  }
  return all;
}

bool take_text(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return false;
  const target::Target& target = family(bytes[0]);
  const std::string text(bytes.begin() + 1, bytes.end());
  const auto object = lower::assemble(text, target);
  if (!object) return false;
  const auto linked = lower::link(*object);
  if (!linked) return false;
  auto decoded = lower::decode(*linked);
  if (decoded) static_cast<void>(lower::note_source_lines(*decoded, text, "fuzz.s"));
  return take_object(*linked);
}

std::vector<Bytes> text_seeds() {
  std::vector<Bytes> all;
  for (const std::size_t i : {1U, 2U, 3U})
    all.push_back(with_target(i, small_kernel(family(static_cast<std::uint8_t>(i))).assembly));
  return all;
}

}  // namespace wavejit::test
