#include "Workspace.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace intent::host {

static constexpr int64_t alignment = 64;

std::unique_ptr<WorkspaceMemory> WorkspaceMemory::allocate(llvm::ArrayRef<Need> needs) {
  std::unique_ptr<WorkspaceMemory> result(new WorkspaceMemory);
  result->wanted.assign(needs.begin(), needs.end());
  for (const Need &need : needs) {
    result->offsets.push_back(result->size);
    int64_t padded; // one line at least: an empty workspace has an address, too
    if (llvm::AddOverflow(std::max<int64_t>(need.bytes, 1), alignment - 1, padded) ||
        llvm::AddOverflow(result->size, padded / alignment * alignment, result->size))
      return nullptr;
  }
  // The system may promise more than there is, and end the process when it is touched.
  if (result->size / sysconf(_SC_PAGESIZE) > sysconf(_SC_PHYS_PAGES)) return nullptr;
  result->memory = static_cast<char *>(std::aligned_alloc(alignment, result->size));
  if (!result->memory) return nullptr;
  for (unsigned i = 0; i < needs.size(); ++i)
    if (needs[i].zeroed) std::memset(result->address(i), 0, needs[i].bytes);
  return result;
}

WorkspaceMemory::~WorkspaceMemory() { std::free(memory); }

std::unique_ptr<WorkspaceMemory> WorkspacePool::acquire(llvm::ArrayRef<WorkspaceMemory::Need> needs) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = std::find_if(idle.begin(), idle.end(), [&](const auto &memory) { return memory->needs() == needs; });
    if (found != idle.end()) {
      std::unique_ptr<WorkspaceMemory> memory = std::move(*found);
      idle.erase(found);
      return memory;
    }
  }
  return WorkspaceMemory::allocate(needs);
}

void WorkspacePool::release(std::unique_ptr<WorkspaceMemory> memory) {
  // A few launches at once and a few shapes in turn; more would hold on to memory that nobody uses.
  constexpr size_t most = 2;
  constexpr int64_t largest = int64_t(256) << 20;
  if (memory->bytes() > largest) return;
  std::unique_ptr<WorkspaceMemory> oldest; // freed outside the lock
  std::lock_guard<std::mutex> lock(mutex);
  idle.push_back(std::move(memory));
  if (idle.size() <= most) return;
  oldest = std::move(idle.front());
  idle.erase(idle.begin());
}

} // namespace intent::host
