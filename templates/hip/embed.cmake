# SPDX-License-Identifier: MIT
# wavejit_embed(OUTPUT FILES...): writes a .cpp with the files' text for templates/hip/sources.hpp. Run again
# by CMake itself when a file changes.
function(wavejit_embed output)
  set(entries "")
  foreach(path ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    get_filename_component(name ${path} NAME)
    file(READ ${path} text)
    string(APPEND entries "    {\"${name}\", R\"wavejit(${text})wavejit\"},\n")
  endforeach()
  list(LENGTH ARGN count)
  set(content "// SPDX-License-Identifier: MIT\n// Made by templates/hip/embed.cmake.\n")
  string(APPEND content "#include <array>\n\n#include \"templates/hip/sources.hpp\"\n\n")
  string(APPEND content "namespace wavejit::templates::hip {\n\nstd::span<const Source> sources() {\n")
  string(APPEND content "  static constexpr std::array<Source, ${count}> all{{\n${entries}  }};\n  return all;\n}\n\n")
  string(APPEND content "}  // namespace wavejit::templates::hip\n")
  # Only touched when it changes, so that a configure run compiles nothing.
  file(CONFIGURE OUTPUT ${output} CONTENT "@content@" @ONLY)
endfunction()
