# SPDX-License-Identifier: MIT
# wavejit_floor(NAME [PLAIN] USES floor... LIBS lib... SUBFOLDERS folder...): a static library of every .cpp in `folder`
# (subfolders that have their own CMakeLists.txt excluded by not being globbed), with the house's
# warnings. PLAIN: without precompiled headers. A floor links only the floors that it may include; tools/check_floors.py checks the
# includes themselves.
add_library(wavejit_options INTERFACE)
target_include_directories(wavejit_options INTERFACE ${CMAKE_SOURCE_DIR})
# Two warnings of g++ 12 are wrong about std::string and std::expected (GCC PR 105651, PR 105562).
target_compile_options(wavejit_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Werror
                       -Wno-restrict -Wno-maybe-uninitialized)
if(WAVEJIT_SANITIZE)
  # Instrumented code makes g++ warn of paths that cannot be taken; the plain build has the warnings.
  target_compile_options(wavejit_options INTERFACE -fsanitize=${WAVEJIT_SANITIZE} -fno-omit-frame-pointer
                         -Wno-error)
  target_link_options(wavejit_options INTERFACE -fsanitize=${WAVEJIT_SANITIZE})
endif()

function(wavejit_floor name)
  cmake_parse_arguments(ARG "PLAIN" "" "USES;LIBS;SUBFOLDERS" ${ARGN})
  set(patterns ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(folder ${ARG_SUBFOLDERS})
    list(APPEND patterns ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(sources)
    # The floors that libwavejit is made of; those of tests/ and tools/ are not.
    if(NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "^${CMAKE_SOURCE_DIR}/(tests|tools)")
      set_property(GLOBAL APPEND PROPERTY WAVEJIT_FLOORS ${name})
    endif()
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC wavejit_options ${ARG_USES} PRIVATE ${ARG_LIBS})
    if(NOT ARG_PLAIN)
      wavejit_precompile(${name})
    endif()
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE wavejit_options ${ARG_USES})
  endif()
endfunction()
