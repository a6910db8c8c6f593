#include "ThreadPool.h"

#include "Interrupt.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <sched.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace intent::host {

namespace {

struct Arena {
  char *memory = nullptr;
  size_t size = 0;
  ~Arena() { free(memory); }
  bool reserve(size_t bytes) {
    if (bytes <= size) return true;
    free(memory);
    size = 0;
    size_t rounded = (bytes + 4095) / 4096 * 4096;
    memory = static_cast<char *>(aligned_alloc(4096, rounded));
    if (memory) size = rounded;
    return memory != nullptr;
  }
};

// Ranges are handed out in order from a counter: each is contiguous, and a slow thread does not hold up the others.
// Within its range a thread goes in steps of about ten milliseconds, so that a long launch can be stopped.
struct Job {
  RangeWork work;
  int64_t count, range;
  std::atomic<int64_t> next{0};
  std::atomic<bool> stopped{false};

  /// False if the launch was stopped. `watch` belongs to the launching thread.
  bool run(char *arena, InterruptWatch *watch = nullptr) {
    int64_t step = std::max<int64_t>(1, range / 64);
    for (int64_t begin; !stopped.load(std::memory_order_relaxed) && (begin = next.fetch_add(range)) < count;)
      for (int64_t at = begin, end = std::min(count, begin + range); at < end && !stopped.load(std::memory_order_relaxed);) {
        auto start = std::chrono::steady_clock::now();
        int64_t until = at + std::min(step, end - at);
        work(at, until, arena);
        at = until;
        auto spent = std::chrono::steady_clock::now() - start;
        if (spent < std::chrono::milliseconds(5)) step = std::min(range, step * 2);
        else if (spent > std::chrono::milliseconds(20)) step = std::max<int64_t>(1, step / 2);
        if (watch && watch->shouldStop()) stopped = true;
      }
    return !stopped.load(std::memory_order_relaxed);
  }
};

class Pool {
public:
  explicit Pool(unsigned threads) : arenas(threads) {
    for (unsigned i = 1; i < threads; ++i)
      workers.emplace_back([this, i] { serve(i); });
  }
  ~Pool() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      stop = true;
    }
    wake.notify_all();
    for (std::thread &worker : workers)
      worker.join();
  }
  unsigned size() const { return arenas.size(); }

  Outcome run(Job &job, size_t arenaBytes) {
    for (Arena &arena : arenas)
      if (!arena.reserve(arenaBytes)) return Outcome::NoMemory;
    busy = size() - 1;
    {
      std::lock_guard<std::mutex> lock(mutex);
      current = &job;
      ++generation;
    }
    wake.notify_all();
    InterruptWatch watch;
    bool whole = job.run(arenas[0].memory, &watch);
    for (unsigned spin = 0; busy.load(std::memory_order_acquire) && spin < 4000; ++spin)
      __builtin_ia32_pause();
    std::unique_lock<std::mutex> lock(mutex);
    done.wait(lock, [&] { return busy.load(std::memory_order_acquire) == 0; });
    current = nullptr;
    return whole ? Outcome::Done : Outcome::Interrupted;
  }

private:
  void serve(unsigned number);

  std::vector<Arena> arenas;
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable wake, done;
  std::atomic<uint64_t> generation{0};
  std::atomic<unsigned> busy{0};
  Job *current = nullptr;
  bool stop = false;
};

thread_local bool insideWork = false;

void Pool::serve(unsigned number) {
  insideWork = true;
  uint64_t seen = 0;
  for (;;) {
    // A launch often follows the last one closely: look for a while before sleeping.
    for (unsigned spin = 0; generation.load(std::memory_order_acquire) == seen && spin < 2000; ++spin)
      __builtin_ia32_pause();
    Job *job;
    {
      std::unique_lock<std::mutex> lock(mutex);
      wake.wait(lock, [&] { return stop || generation.load(std::memory_order_relaxed) != seen; });
      if (stop) return;
      seen = generation.load(std::memory_order_relaxed);
      job = current;
    }
    job->run(arenas[number].memory);
    if (busy.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      std::lock_guard<std::mutex> lock(mutex);
      done.notify_one();
    }
  }
}

unsigned affinityThreads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

// What belongs to one process: a fork's child finds another process id and starts over, leaving the parent's memory
// (whose threads and locks it cannot use) alone.
struct Process {
  pid_t pid = getpid();
  std::mutex launching;
  std::unique_ptr<Pool> pool;
};
std::atomic<Process *> process{nullptr};
std::atomic<unsigned> wantedThreads{0};

Process &thisProcess() {
  Process *current = process.load(std::memory_order_acquire);
  if (current && current->pid == getpid()) return *current;
  auto *fresh = new Process;
  if (process.compare_exchange_strong(current, fresh)) return *fresh;
  delete fresh;
  return *current;
}

Outcome runHere(int64_t count, size_t arenaBytes, RangeWork work) {
  // Nested launches each need their own scratch; only the outermost keeps its memory.
  static thread_local Arena kept;
  Arena own;
  Arena &arena = insideWork ? own : kept;
  if (!arena.reserve(arenaBytes)) return Outcome::NoMemory;
  bool outer = insideWork;
  insideWork = true;
  InterruptWatch watch;
  Job job{work, count, std::max<int64_t>(1, count / 16)};
  bool whole = job.run(arena.memory, &watch);
  insideWork = outer;
  return whole ? Outcome::Done : Outcome::Interrupted;
}

} // namespace

void setThreads(unsigned threads) { wantedThreads = threads; }

Outcome runInstances(int64_t count, size_t arenaBytes, bool parallel, RangeWork work) {
  if (count <= 0) return Outcome::Done;
  if (!parallel || count == 1 || insideWork) return runHere(count, arenaBytes, work);
  unsigned threads = wantedThreads.load();
  if (!threads) threads = affinityThreads();
  if (threads == 1) return runHere(count, arenaBytes, work);
  Process &self = thisProcess();
  std::unique_lock<std::mutex> lock(self.launching, std::try_to_lock);
  if (!lock) return runHere(count, arenaBytes, work);
  if (!self.pool || self.pool->size() != threads) self.pool = std::make_unique<Pool>(threads);
  Job job{work, count, std::max<int64_t>(1, count / (int64_t(threads) * 4))};
  insideWork = true;
  Outcome outcome = self.pool->run(job, arenaBytes);
  insideWork = false;
  return outcome;
}

} // namespace intent::host
