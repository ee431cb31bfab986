# SPDX-License-Identifier: MIT
# What `cmake --install` puts where: libwavejit.so, libwavejit.a (every floor in one archive), the headers of
# the C and C++ interfaces, a CMake package and a pkg-config file. HIP is needed by none of it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(floors GLOBAL PROPERTY WAVEJIT_FLOORS)
set(archive ${CMAKE_BINARY_DIR}/libwavejit.a)
set(script "CREATE ${archive}\n")
set(floor_files)
foreach(floor ${floors})
  string(APPEND script "ADDLIB $<TARGET_FILE:${floor}>\n")
  list(APPEND floor_files $<TARGET_FILE:${floor}>)
endforeach()
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/libwavejit.mri CONTENT "${script}SAVE\nEND\n")
add_custom_command(OUTPUT ${archive} COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
                   COMMAND sh -c "\"$0\" -M < \"$1\"" ${CMAKE_AR} ${CMAKE_BINARY_DIR}/libwavejit.mri
                   DEPENDS ${floors} ${floor_files} ${CMAKE_BINARY_DIR}/libwavejit.mri
                   COMMENT "Merging libwavejit.a" VERBATIM)
add_custom_target(wavejit_static ALL DEPENDS ${archive})

# All that the install rules take from the build tree; tools/demo builds this.
add_custom_target(wavejit_install_tree DEPENDS wavejit_static wavejit_shared)
if(TARGET wavejit)
  add_dependencies(wavejit_install_tree wavejit)
endif()

# The interface headers and what they include; a test compiles a program against the installed set.
set(headers
    generator/support/error.hpp
    generator/support/error_name.hpp
    generator/target/target.hpp
    runtime/cache/digest.hpp
    runtime/cache/key.hpp
    runtime/cache/lookup.hpp
    runtime/device/device.hpp
    runtime/engine/arguments.hpp
    runtime/engine/counters.hpp
    runtime/engine/engine.hpp
    runtime/repack/repack.hpp
    templates/problem.hpp)
foreach(header ${headers})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/wavejit/${folder})
endforeach()
install(FILES runtime/capi/wavejit.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS wavejit_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET wavejit)
  install(TARGETS wavejit RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY runtime/python/wavejit DESTINATION ${CMAKE_INSTALL_DATADIR}/wavejit/python
        FILES_MATCHING PATTERN "*.py" PATTERN "py.typed")

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/wavejit)
configure_package_config_file(cmake/wavejitConfig.cmake.in ${CMAKE_BINARY_DIR}/wavejitConfig.cmake
                              INSTALL_DESTINATION ${package}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/wavejitConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/wavejitConfig.cmake ${CMAKE_BINARY_DIR}/wavejitConfigVersion.cmake
        DESTINATION ${package})
# The tree may be moved: what pkg-config says begins at the file's own place. A folder that is given as an absolute
# path stays where it is.
foreach(part libdir includedir)
  string(TOUPPER CMAKE_INSTALL_${part} variable)
  if(IS_ABSOLUTE "${${variable}}")
    set(pc_${part} "${${variable}}")
  else()
    set(pc_${part} "\${prefix}/${${variable}}")
  endif()
endforeach()
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(pc_prefix "\${pcfiledir}/${up}")
endif()
configure_file(cmake/wavejit.pc.in ${CMAKE_BINARY_DIR}/wavejit.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/wavejit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
