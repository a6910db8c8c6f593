// What a checked launch finds out: accesses outside their view, reads of what nobody wrote, races, and missing fences.
#ifndef INTENT_HOST_CHECKER_H
#define INTENT_HOST_CHECKER_H

#include "Jit.h"
#include "llvm/ADT/DenseMap.h"
#include <csetjmp>
#include <random>
#include <string>
#include <vector>

namespace intent::host {

/// Follows the accesses of instances that run one after the other, in any order. Two instances may touch the same
/// element, one of them writing, only by atomic accesses, or if the second has acquired, by an atomic access, what the
/// first released after its own. Two accesses of one instance may only with a fence in between, or if the second needs
/// what the first gave (Derivation), or if both are the same lane of the same operation.
class Checker {
public:
  /// The memory of a view argument.
  struct Memory {
    std::string name;
    char *data = nullptr;
    llvm::SmallVector<int64_t, 4> extents, strides;
    int64_t elementBytes = 1;
    bool unwritten = false; ///< no element has a value at first
  };

  /// `seed` decides the order of lanes.
  Checker(llvm::ArrayRef<block::CheckedAccess> accesses, std::vector<Memory> memories, uint64_t seed)
      : accesses(accesses), memories(std::move(memories)), random(seed), executions(accesses.size()) {}

  /// Runs one instance, up to the first error: what follows it may be of any length. False if there is one.
  bool run(NativeFunction entry, const int64_t *frame, int64_t number, char *arena);
  /// The function that checked code calls.
  static int8_t check(void *checker, int64_t access, int8_t active, int64_t lane, int64_t *coordinates);
  /// `FILE:LINE:COLUMN: what`, then further lines; empty if nothing was found.
  const std::string &report() const { return found; }
  /// What was found is no error of the program but of the compiler.
  bool isInternal() const { return internal; }

private:
  /// One access in time: instance, its place in the order of all accesses, and where it stands in the program.
  struct Event {
    int64_t instance = -1;
    uint64_t time = 0;
    int64_t access = -1;
    bool atomic = false;
  };
  /// One of this instance since its last fence.
  struct Recent {
    int64_t access, lane;
    uint64_t execution; ///< of the access, counted from 1; the first of several by this lane
  };
  struct Element {
    Event write, read;      ///< the last ones
    Event otherRead;        ///< the last one by another instance than `read`
    uint64_t execution = 0; ///< of the last plain store
    bool written = false;
    uint64_t fence = 0; ///< the last one before `recent`
    llvm::SmallVector<Recent, 2> recent;
  };
  struct Release {
    int64_t instance;
    uint64_t time;
  };

  void begin(int64_t access, int64_t *order);
  bool mayAct(int64_t access, int64_t lane, const int64_t *coordinates);
  bool isFenced(Element &element, int64_t access, int64_t lane, const Memory &memory, const int64_t *coordinates);
  bool isNeeded(const Recent &earlier, int64_t access, int64_t lane) const;
  bool isOutside(const block::CheckedAccess &access, const Memory &memory, const int64_t *coordinates);
  bool isOrdered(const Event &earlier) const;
  bool sees(int64_t instance, int64_t earlier, uint64_t time, llvm::DenseMap<int64_t, char> &visited) const;
  void report(int64_t access, const std::string &message, int64_t other = -1);
  std::string describe(const Memory &memory, const int64_t *coordinates) const;

  llvm::ArrayRef<block::CheckedAccess> accesses;
  std::vector<Memory> memories;
  llvm::DenseMap<const char *, Element> elements;
  llvm::DenseMap<const char *, std::vector<Release>> releases;                    ///< by element of an atomic access, in order
  llvm::DenseMap<int64_t, std::vector<std::pair<const char *, size_t>>> acquired; ///< by instance: elements, and how many releases it saw
  int64_t instance = -1;
  uint64_t now = 0, execution = 0, fence = 1;
  std::mt19937_64 random;
  std::vector<uint64_t> executions; ///< how often each access has begun
  std::string found;
  bool internal = false;
  std::jmp_buf escape; ///< out of the running instance
};

} // namespace intent::host

#endif
