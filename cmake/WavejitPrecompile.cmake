# SPDX-License-Identifier: MIT
# Precompiled headers: parsing the standard library, fmt and Catch2 anew is a third of what a build costs. They change
# no source: each file includes what it uses, and the preset `plain` (which tools/check --tidy reads) builds without them.
# The lists name no header of this repository, so that no edit invalidates them and ccache shares them among trees.
set(WAVEJIT_PRECOMPILED <algorithm> <array> <bit> <cmath> <cstdint> <cstring> <expected> <functional> <map> <memory>
                        <optional> <set> <span> <string> <string_view> <utility> <vector> <fmt/format.h>)

# The compiler takes a precompiled header only where options and the macros that it saw agree with those it was
# made with: fmt's definitions, and -fPIC also for programs. It takes one made with another -O too, but then switches
# between both levels from function to function, which costs more than is gained.
function(wavejit_precompile_options target)
  target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
endfunction()

file(WRITE ${CMAKE_BINARY_DIR}/precompiled.cpp "")
# wavejit_precompiled_headers(OWNER HEADER...): precompiles these after those of the list.
function(wavejit_precompiled_headers owner)
  add_library(${owner} OBJECT ${CMAKE_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(${owner} PRIVATE wavejit_options)
  wavejit_precompile_options(${owner})
  target_precompile_headers(${owner} PRIVATE ${WAVEJIT_PRECOMPILED} ${ARGN})
endfunction()
wavejit_precompiled_headers(wavejit_precompiled)

# wavejit_precompile(TARGET [OWNER]): lets TARGET use the headers that OWNER precompiles.
function(wavejit_precompile target)
  set(owner wavejit_precompiled)
  if(ARGC GREATER 1)
    set(owner ${ARGV1})
  endif()
  wavejit_precompile_options(${target})
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
