// The private memory of launches in flight, kept for later launches of the same code.
#ifndef INTENT_HOST_WORKSPACE_H
#define INTENT_HOST_WORKSPACE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace intent::host {

/// The workspaces of one launch in one piece of memory, each 64-byte aligned.
class WorkspaceMemory {
public:
  struct Need {
    int64_t bytes;
    bool zeroed;
    bool operator==(const Need &other) const { return bytes == other.bytes && zeroed == other.zeroed; }
  };

  /// Null if there is not enough memory.
  static std::unique_ptr<WorkspaceMemory> allocate(llvm::ArrayRef<Need> needs);
  ~WorkspaceMemory();
  void *address(unsigned i) const { return memory + offsets[i]; }
  llvm::ArrayRef<Need> needs() const { return wanted; }
  int64_t bytes() const { return size; }

private:
  llvm::SmallVector<Need, 4> wanted;
  llvm::SmallVector<int64_t, 4> offsets;
  int64_t size = 0;
  char *memory = nullptr;
};

/// Memory between launches; all functions are thread-safe.
class WorkspacePool {
public:
  /// Memory that no other launch has; null if there is not enough.
  std::unique_ptr<WorkspaceMemory> acquire(llvm::ArrayRef<WorkspaceMemory::Need> needs);
  /// Takes the memory of a launch back that has run to its end.
  void release(std::unique_ptr<WorkspaceMemory> memory);

private:
  std::mutex mutex;
  std::vector<std::unique_ptr<WorkspaceMemory>> idle; ///< oldest first
};

} // namespace intent::host

#endif
