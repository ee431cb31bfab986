// SPDX-License-Identifier: MIT
#include "runtime/device/common/mapped_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <span>

namespace wavejit::device {
namespace {

bool is_named(std::string_view name, std::string_view stem) {
  name = name.substr(name.rfind('/') + 1);
  if (!name.starts_with(stem) || name.find(".so") == std::string_view::npos) return false;
  const char next = name[stem.size()];
  return next == '.' || next == '-' || next == '_';
}

/// Of a mapped object's dynamic section; "" when it has none.
std::string_view soname(const dl_phdr_info& object) {
  const auto headers = std::span(object.dlpi_phdr, object.dlpi_phnum);
  for (const ElfW(Phdr) & header : headers) {
    if (header.p_type != PT_DYNAMIC) continue;
    ElfW(Addr) strings = 0;
    ElfW(Xword) offset = 0;
    bool named = false;
    for (const auto* d = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + header.p_vaddr);
         d->d_tag != DT_NULL; ++d) {
      if (d->d_tag == DT_STRTAB) strings = d->d_un.d_ptr;
      if (d->d_tag == DT_SONAME) offset = d->d_un.d_val;
      named = named || d->d_tag == DT_SONAME;
    }
    if (!named || strings == 0) return {};
    // glibc puts the address there; where it cannot write (the vDSO) and in other loaders it stays an offset.
    if (strings < object.dlpi_addr) strings += object.dlpi_addr;
    return reinterpret_cast<const char*>(strings + offset);
  }
  return {};
}

struct Search {
  std::string_view stem;
  std::vector<std::string> found;
};

int visit(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const std::string_view path = object->dlpi_name == nullptr ? "" : object->dlpi_name;
  if (!path.empty() && (is_named(path, search.stem) || is_named(soname(*object), search.stem)))
    search.found.emplace_back(path);
  return 0;
}

}  // namespace

std::vector<std::string> mapped_libraries(std::string_view stem) {
  Search search{.stem = stem, .found = {}};
  ::dl_iterate_phdr(visit, &search);
  return search.found;
}

std::string library_file(void* handle) {
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr) return {};
  return map->l_name;
}

}  // namespace wavejit::device
