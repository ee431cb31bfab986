// SPDX-License-Identifier: MIT
#include "tests/runtime/hiprtc/compiled.hpp"

#include <catch2/catch.hpp>

#include "templates/hip/sources.hpp"
#include "tests/skip.hpp"

namespace wavejit::test {

void need_hiprtc() {
  if (const auto known = hiprtc::known_targets(); !known) skip(known.error().message);
}

std::vector<std::byte> compile_source(const std::string& file, const std::string& target_id,
                                      std::vector<std::string> definitions) {
  const auto* source = templates::hip::find_source(file);
  REQUIRE(source != nullptr);
  std::vector<hiprtc::Header> headers;
  for (const auto& other : templates::hip::sources())
    if (other.name.ends_with(".h")) headers.push_back({std::string(other.name), std::string(other.text)});
  const hiprtc::Options options{.library = {}, .definitions = std::move(definitions), .flags = {"-O3"}};
  auto compiled = hiprtc::compile(source->text, file, target_id, headers, options);
  if (!compiled) FAIL(compiled.error().message);
  return compiled->bytes;
}

}  // namespace wavejit::test
