// SPDX-License-Identifier: MIT
#include "tests/fuzz/targets.hpp"

#include <algorithm>

namespace wavejit::test {
namespace {

constexpr FuzzTarget table[] = {{"object", take_object, object_seeds},
                                {"words", take_words, word_seeds},
                                {"text", take_text, text_seeds},
                                {"gguf", take_gguf, gguf_seeds},
                                {"checkpoint", take_checkpoint, checkpoint_seeds},
                                {"launch", take_launch, launch_seeds},
                                {"shapes", take_shapes, shapes_seeds},
                                {"config", take_config, config_seeds},
                                {"entry", take_entry, entry_seeds},
                                {"bundle", take_bundle, bundle_seeds},
                                {"override", take_override, override_seeds},
                                {"structs", take_structs, struct_seeds}};

}  // namespace

std::span<const FuzzTarget> fuzz_targets() { return table; }

const FuzzTarget* find_fuzz_target(std::string_view name) {
  const auto* found = std::ranges::find(table, name, &FuzzTarget::name);
  return found == std::end(table) ? nullptr : found;
}

}  // namespace wavejit::test
