// Compiled objects in a folder of an artifact's entry.
#ifndef INTENT_HOST_OBJECTSTORE_H
#define INTENT_HOST_OBJECTSTORE_H

#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"

namespace intent::host {

/// The file of one module, named after its text, the machine and this library. Each file starts with the digest of the
/// rest: a damaged one counts as absent. A folder holds 1 MiB at most.
class ObjectStore {
public:
  /// No folder: nothing is found or kept.
  ObjectStore(llvm::StringRef folder, const llvm::Module &module, llvm::StringRef machine);
  std::unique_ptr<llvm::MemoryBuffer> load() const;
  void save(const llvm::MemoryBuffer &object) const;

private:
  std::string folder, path;
};

} // namespace intent::host

#endif
