# SPDX-License-Identifier: MIT
# cmake -DROOT=tree -DOUTPUT=file.cpp -P BuildId.cmake: writes generator_build_id() for the sources of that tree.
# The ID is the first half of the SHA-256 over "PATH SHA256\n" of every file below, sorted by path, so that it
# depends on names and contents and on nothing else: not on time, folder, compiler or the file system's order.
set(files)
foreach(folder generator templates)
  foreach(kind *.cpp *.hpp *.def *.h *.inc *.hip CMakeLists.txt)
    file(GLOB_RECURSE found RELATIVE ${ROOT} ${ROOT}/${folder}/${kind})
    list(APPEND files ${found})
  endforeach()
endforeach()
list(SORT files COMPARE STRING)
set(all "")
foreach(path ${files})
  file(SHA256 ${ROOT}/${path} digest)
  string(APPEND all "${path} ${digest}\n")
endforeach()
string(SHA256 id "${all}")
string(SUBSTRING ${id} 0 32 id)
file(WRITE ${OUTPUT} "// SPDX-License-Identifier: MIT
// Made by cmake/BuildId.cmake.
#include \"runtime/cache/key.hpp\"

std::string_view wavejit::cache::generator_build_id() { return \"${id}\"; }
")
