// Threads that run the instances of a launch.
#ifndef INTENT_HOST_THREADPOOL_H
#define INTENT_HOST_THREADPOOL_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstddef>
#include <cstdint>

namespace intent::host {

/// Work on the instances [begin, end) with scratch memory of the size that was asked for, 64-byte aligned.
using RangeWork = llvm::function_ref<void(int64_t begin, int64_t end, char *arena)>;

enum class Outcome { Done, NoMemory, Interrupted };

/// Runs `work` over [0, count) in contiguous ranges on all threads of the process's pool and returns when all is done.
/// Calls from inside `work`, and calls while another thread's launch has the pool, run on the caller alone. NoMemory:
/// scratch memory could not be allocated and nothing ran. Interrupted: Ctrl-C stopped the launch between steps of some milliseconds.
Outcome runInstances(int64_t count, size_t arenaBytes, bool parallel, RangeWork work);

/// Threads that a launch uses, the caller among them; 0 restores the affinity mask's size.
void setThreads(unsigned threads);

} // namespace intent::host

#endif
