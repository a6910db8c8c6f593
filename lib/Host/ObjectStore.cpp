#include "ObjectStore.h"

#include "BuildId.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace intent::host {

static constexpr size_t digestSize = 32;
static constexpr uint64_t mostBytes = 1 << 20;

static std::string digestOf(StringRef data) {
  SHA256 hash;
  hash.update(data);
  std::array<uint8_t, digestSize> digest = hash.final();
  return std::string(digest.begin(), digest.end());
}

ObjectStore::ObjectStore(StringRef folder, const Module &module, StringRef machine) : folder(folder) {
  if (folder.empty()) return;
  std::string text;
  raw_string_ostream os(text);
  os << INTENT_VERSION << ' ' << libraryBuildId() << '\n' << machine << '\n';
  module.print(os, nullptr);
  SmallString<256> name(folder);
  sys::path::append(name, toHex(digestOf(text), /*LowerCase=*/true) + ".o");
  path = name.str().str();
}

std::unique_ptr<MemoryBuffer> ObjectStore::load() const {
  if (path.empty()) return nullptr;
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file) return nullptr;
  StringRef data = (*file)->getBuffer();
  if (data.size() <= digestSize || digestOf(data.drop_front(digestSize)) != data.take_front(digestSize)) return nullptr;
  return MemoryBuffer::getMemBufferCopy(data.drop_front(digestSize));
}

void ObjectStore::save(const MemoryBuffer &object) const {
  if (path.empty() || sys::fs::create_directory(folder)) return;
  std::error_code error;
  uint64_t total = object.getBufferSize() + digestSize;
  for (sys::fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (auto status = at->status()) total += status->getSize();
  if (error || total > mostBytes) return;
  // Written aside and renamed: a reader sees a whole file or none.
  consumeError(writeToOutput(path, [&](raw_ostream &os) {
    os << digestOf(object.getBuffer()) << object.getBuffer();
    return Error::success();
  }));
}

} // namespace intent::host
