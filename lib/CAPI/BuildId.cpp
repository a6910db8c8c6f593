// The identity of this very library, read from its loaded image: it changes exactly when the code does.
#include "BuildId.h"

#include "llvm/ADT/StringExtras.h"
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

std::string intent::libraryPath() {
  Dl_info info;
  return dladdr(reinterpret_cast<void *>(&libraryPath), &info) && info.dli_fname ? info.dli_fname : "";
}

// Notes are (name size, description size, type, name, description), each part padded to four bytes.
static std::string findBuildId(const char *at, size_t size) {
  auto padded = [](size_t n) { return (n + 3) & ~size_t(3); };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    size_t whole = sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
    if (whole > size) break;
    const char *name = at + sizeof note, *description = name + padded(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
      return llvm::toHex(llvm::StringRef(description, note.n_descsz), /*LowerCase=*/true);
    at += whole, size -= whole;
  }
  return {};
}

std::string intent::libraryBuildId() {
  struct Search {
    uintptr_t self;
    std::string found;
  } search{reinterpret_cast<uintptr_t>(&libraryBuildId), {}};
  dl_iterate_phdr(
      [](dl_phdr_info *object, size_t, void *data) {
        auto &search = *static_cast<Search *>(data);
        bool mine = false;
        for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr) &segment = object->dlpi_phdr[i];
          uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
          mine |= segment.p_type == PT_LOAD && search.self >= begin && search.self < begin + segment.p_memsz;
        }
        for (unsigned i = 0; mine && search.found.empty() && i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr) &segment = object->dlpi_phdr[i];
          if (segment.p_type == PT_NOTE)
            search.found = findBuildId(reinterpret_cast<const char *>(object->dlpi_addr + segment.p_vaddr), segment.p_memsz);
        }
        return mine ? 1 : 0;
      },
      &search);
  return search.found.empty() ? "unknown" : search.found;
}
